// SPDX-License-Identifier: Apache-2.0
// Finds what the API server refuses, or drops, of a pod in a manifest, where an answer would be about another
// pod than the one that is meant.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nccl_env::cli {

// "spec.containers[0].resources.limit is no field: do you mean limits?": the first misspelt field, and the
// first quantity of a device that the API server refuses; "" for none. A field that is near to none is not
// judged: it may be of a newer Kubernetes.
std::string field_problem(const nlohmann::json& pod);

}  // namespace nccl_env::cli
