// SPDX-License-Identifier: Apache-2.0
// A diagnosis as JSON and as text for people; names, meanings and remedies of the checks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env {

std::string_view to_string(DoctorCheck check);
// Purpose of the check, and the remedy; for people.
std::string_view meaning(DoctorCheck check);
std::string_view remedy(DoctorCheck check);

// docs/use/doctor.md names the keys; they do not change.
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
nlohmann::ordered_json to_json(const Finding& finding);
// For people, in 80 columns: findings by check, then the pools.
std::string render_text(const Diagnosis& diagnosis);

}  // namespace nccl_env
