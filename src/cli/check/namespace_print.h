// SPDX-License-Identifier: Apache-2.0
// Prints the answer of nccl-env check --namespace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "check/namespace_check.h"

namespace nccl_env::cli {

std::string render_text(const NamespaceCheck& check);
nlohmann::ordered_json to_json(const NamespaceCheck& check);

}  // namespace nccl_env::cli
