// SPDX-License-Identifier: Apache-2.0
// A strict look-up, unlike json_member.h: another type than a string is an error that names the field.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/result.h"

namespace nccl_env::kube {

// The string `field` of an object; "" where it is absent or null.
Result<std::string> text_of(const nlohmann::json& object, const char* field);

}  // namespace nccl_env::kube
