// SPDX-License-Identifier: Apache-2.0
// The API server as its users here see it: a call and its reply. Tests answer in its place.
#pragma once

#include <functional>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

using ApiCall = std::function<Result<kube::Reply>(const kube::Call&)>;

inline constexpr const char* kJson = "application/json";
// Server-side apply. JSON is YAML.
inline constexpr const char* kApply = "application/apply-patch+yaml";

}  // namespace nccl_env::app
