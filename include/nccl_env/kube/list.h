// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

// Reads a collection once, page by page, giving each object away. After an error some may have been given.
// `path` may have a query: "/api/v1/pods?fieldSelector=spec.nodeName%3D".
Status list_all(Client& client, const std::string& path,
                const std::function<void(const nlohmann::json&)>& on_item);

}  // namespace nccl_env::kube
