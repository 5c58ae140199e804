// SPDX-License-Identifier: Apache-2.0
// A log's verification in each form: JSON, text for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/judge/nccl_log/log_verification.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env {

nlohmann::ordered_json to_json(const LogVerification& verification, const NcclLog& log);
std::string render_text(const LogVerification& verification, const NcclLog& log);

}  // namespace nccl_env
