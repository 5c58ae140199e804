// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/base/result.h"
#include "nccl_env/kube/client.h"

namespace nccl_env::kube {

// Reads a collection once, page by page, giving each object away. After an error some may have been given.
// `query`: further parameters, escaped: "labelSelector=app%3Dx".
Status list_all(Client& client, const std::string& path,
                const std::function<void(const nlohmann::json&)>& on_item, const std::string& query = "");

}  // namespace nccl_env::kube
