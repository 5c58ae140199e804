// SPDX-License-Identifier: Apache-2.0
// A diagnosis as JSON and as text for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env {

// docs/use/doctor.md names the keys; they do not change.
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
// For people, in 80 columns: its findings, then the pools.
std::string render_text(const Diagnosis& diagnosis);

}  // namespace nccl_env
