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

// Ends a list that has more. A million objects: clusters have up to 150 000 pods.
inline constexpr int kMostPages = 2000;

struct ListPage {
  std::string resource_version;
  std::string next;  // metadata.continue; "": this is the last page
};

// An object of the API as its text, with the fields that every object has. Nothing in the text is checked
// except that its brackets match; the rest may be invalid JSON. The views live until the callback returns.
struct ApiObject {
  std::string_view name;              // metadata.name, not empty
  std::string_view resource_version;  // metadata.resourceVersion, not empty
  std::string_view text;
};

// metadata.resourceVersion; "" if there is none.
std::string resource_version_of(const nlohmann::json& object);

// Reads a page and passes each object on as soon as it is read: the page is never parsed as a whole. Before
// an error some objects may have been passed on.
Result<ListPage> read_list_page(std::string text, const std::function<void(const ApiObject&)>& on_item);

// An event of a watch, as a line.
struct WatchEvent {
  std::string_view type;  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  ApiObject object;       // a BOOKMARK has no name, an ERROR has only the text
};
// Reads an event and passes it on; returns false without a call if `line` is not one.
bool read_watch_event(std::string_view line, const std::function<void(const WatchEvent&)>& on_event);

// The target of one page of a list: `next` is the page's metadata.continue, "" for the first one. `path` may
// have a query.
std::string list_target(const std::string& path, int page, std::string_view next);

// Reads a collection once, page by page, and passes each object on. Before an error some objects may have
// been passed on. At most 2000 pages. `path` may have a query.
Status list_all(ApiServer& api, const std::string& path,
                const std::function<void(const nlohmann::json&)>& on_item);

}  // namespace nccl_env::kube
