// SPDX-License-Identifier: Apache-2.0
// Urgency of a finding, both of the doctor and of a job.
#pragma once

#include <array>
#include <string_view>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {

enum class Severity { Error, Warning, Info };  // most urgent first
inline std::string_view to_string(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"error", "warning", "info"};
  return name_in(kNames, severity);
}

}  // namespace nccl_env
