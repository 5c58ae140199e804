// SPDX-License-Identifier: Apache-2.0
// Lists of the API: one page, or all of them.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

struct ListPage {
  std::string resource_version;
  std::string next;  // metadata.continue; "": this is the last page
};

// Returns true if `object` has a name and a resource version: what every object of the API has.
bool is_api_object(const nlohmann::json& object);
// metadata.resourceVersion; "" if there is none.
std::string resource_version_of(const nlohmann::json& object);

// Reads a page, giving each object away as soon as it is read: the page is never a document as a whole.
// After an error some may have been given. At most 64 levels deep.
Result<ListPage> read_list_page(std::string_view text,
                                const std::function<void(const nlohmann::json&)>& on_item);

// Reads a collection once, page by page, giving each object away. After an error some may have been given. At
// most 2000 pages. `path` may have a query: "/api/v1/pods?fieldSelector=spec.nodeName%3D".
Status list_all(ApiServer& api, const std::string& path,
                const std::function<void(const nlohmann::json&)>& on_item);

}  // namespace nccl_env::kube
