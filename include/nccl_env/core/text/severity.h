// SPDX-License-Identifier: Apache-2.0
// How urgent a finding is, of the doctor and of a job alike.
#pragma once

#include <string_view>

namespace nccl_env {

enum class Severity { Error, Warning, Info };   // most urgent first
std::string_view to_string(Severity severity);  // error, warning, info

}  // namespace nccl_env
