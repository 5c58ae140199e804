// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/list.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_member.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;

// As the watches: a page of 500 tables is about 20 MiB.
constexpr int kPage = 500;

// A million objects: clusters have up to 150 000 pods.
constexpr int kMostPages = 2000;

// Kubernetes objects stay below twenty levels. A page of "[" would take a hundred times its size.
constexpr int kMostDepth = 64;

struct TooDeep {};

// Depths of nlohmann's parser: the list is 0, its items' array and metadata 1, an item 2.
constexpr int kFieldDepth = 1;
constexpr int kItemDepth = 2;

std::string metadata_text(const Json& object, const char* field) {
  if (!object.is_object()) return {};
  const auto metadata = object.find("metadata");
  return metadata != object.end() && metadata->is_object() ? text_at(*metadata, field) : std::string();
}

}  // namespace

bool is_api_object(const Json& object) {
  return !metadata_text(object, "name").empty() && !metadata_text(object, "resourceVersion").empty();
}

std::string resource_version_of(const Json& object) {
  return metadata_text(object, "resourceVersion");
}

Result<ListPage> read_list_page(std::string_view text, const std::function<void(const Json&)>& on_item) {
  bool in_items = false, has_items = false, good = true;
  const auto take = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kMostDepth) throw TooDeep{};
    if (depth == kFieldDepth && event == Event::key) {
      in_items = parsed == "items";
      has_items = has_items || in_items;
    }
    if (!in_items || depth != kItemDepth) return true;
    if (event == Event::object_end) {
      good = good && is_api_object(parsed);
      if (good) on_item(parsed);
      return false;
    }
    if (event == Event::value || event == Event::array_end) good = false;
    return true;
  };
  Json rest;
  try {
    rest = Json::parse(text, take, false);
  } catch (const TooDeep&) {
    return Error{"the answer is nested deeper than " + std::to_string(kMostDepth) + " levels"};
  }
  if (!good || !has_items || !rest.is_object()) return Error{"the answer is not a list of objects"};
  ListPage page{metadata_text(rest, "resourceVersion"), metadata_text(rest, "continue")};
  if (page.resource_version.empty()) return Error{"the list has no resourceVersion"};
  return page;
}

Status list_all(ApiServer& api, const std::string& path, const std::function<void(const Json&)>& on_item) {
  const auto failed = [&](const std::string& why) { return Error{api.server() + path + ": " + why}; };
  std::string next;
  for (int pages = 0; pages < kMostPages; ++pages) {
    Call call;
    call.target = path + (path.find('?') == path.npos ? "?" : "&") + "limit=" + std::to_string(kPage) +
                  (next.empty() ? "" : "&continue=" + escaped(next));
    call.deadline = std::chrono::seconds(30);  // a page, over a slow line
    const auto reply = api.call(call);
    if (!reply) return reply.error();
    if (reply->status != kOk) return failed(status_message(*reply));
    const auto page = read_list_page(reply->body, on_item);
    if (!page) return failed(page.error().message);
    // A server that names the same page again would never end.
    if (!page->next.empty() && page->next == next) return failed("a page without end");
    next = page->next;
    if (next.empty()) return done();
  }
  return failed("more than " + std::to_string(kMostPages) + " pages");
}

}  // namespace nccl_env::kube
