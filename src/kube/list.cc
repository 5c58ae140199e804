// SPDX-License-Identifier: Apache-2.0
// Reads by simdjson on demand: a page of 500 tables is 4 MB of text and would be 40 as a tree. simdjson finds
// where an object begins and ends, and checks nothing else in the object.
#include "nccl_env/kube/list.h"

#include <simdjson.h>

#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/paths.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;
namespace ondemand = simdjson::ondemand;

// The same as for watches: a page of 500 tables is some 4 MiB.
constexpr int kPage = 500;

// False once simdjson has met text that is not JSON: its reader may not be used again then.
bool goes_on(simdjson::error_code error) {
  return error == simdjson::SUCCESS || error == simdjson::NO_SUCH_FIELD || error == simdjson::INCORRECT_TYPE;
}

// Reads a string among the fields; "" for anything else. Returns what goes_on() returns.
bool read_text(ondemand::object& object, const char* field, std::string_view& into) {
  const auto error = object.find_field_unordered(field).get_string().get(into);
  if (error != simdjson::SUCCESS) into = {};
  return goes_on(error);
}

// Returns false if `value` is not an object. Name and version are "" if the object has none.
bool read_object(simdjson::simdjson_result<ondemand::value> value, ApiObject& into) {
  ondemand::object object, metadata;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  const auto found = object.find_field_unordered("metadata").get_object().get(metadata);
  if (!goes_on(found)) return false;
  if (found == simdjson::SUCCESS && (!read_text(metadata, "name", into.name) ||
                                     !read_text(metadata, "resourceVersion", into.resource_version)))
    return false;
  return object.reset().error() == simdjson::SUCCESS && object.raw_json().get(into.text) == simdjson::SUCCESS;
}

bool read_items(simdjson::simdjson_result<ondemand::value> value,
                const std::function<void(const ApiObject&)>& on_item) {
  bool none = false;
  if (value.is_null().get(none) == simdjson::SUCCESS && none) return true;
  ondemand::array items;
  if (value.get_array().get(items) != simdjson::SUCCESS) return false;
  for (auto item : items) {
    ApiObject object;
    if (!read_object(item, object) || object.name.empty() || object.resource_version.empty()) return false;
    on_item(object);
  }
  return true;
}

bool read_page(simdjson::simdjson_result<ondemand::document> document, ListPage& page,
               const std::function<void(const ApiObject&)>& on_item) {
  ondemand::object list;
  if (document.get_object().get(list) != simdjson::SUCCESS) return false;
  bool has_items = false;
  for (auto field : list) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    ondemand::object metadata;
    if (key == "items") {
      has_items = true;
      if (!read_items(field.value(), on_item)) return false;
    } else if (key == "metadata") {
      if (field.value().get_object().get(metadata) != simdjson::SUCCESS) return false;
      std::string_view version, next;
      if (!read_text(metadata, "resourceVersion", version) || !read_text(metadata, "continue", next))
        return false;
      page = {std::string(version), std::string(next)};
    }
  }
  return has_items;
}

}  // namespace

std::string resource_version_of(const Json& object) {
  return text_at(member(object, "metadata"), "resourceVersion");
}

Result<ListPage> read_list_page(std::string text, const std::function<void(const ApiObject&)>& on_item) {
  const std::size_t size = text.size();
  text.append(simdjson::SIMDJSON_PADDING, ' ');
  ondemand::parser parser;
  ListPage page;
  if (!read_page(parser.iterate(std::string_view(text.data(), size), text.size()), page, on_item))
    return Error{"the answer is not a list of objects"};
  if (page.resource_version.empty()) return Error{"the list has no resourceVersion"};
  return page;
}

bool read_watch_event(std::string_view line, const std::function<void(const WatchEvent&)>& on_event) {
  const simdjson::padded_string text(line);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object top;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS) return false;
  if (document.get_object().get(top) != simdjson::SUCCESS) return false;
  WatchEvent event;
  if (!read_text(top, "type", event.type)) return false;
  if (!read_object(top.find_field_unordered("object"), event.object)) return false;
  on_event(event);
  return true;
}

std::string list_target(const std::string& path, int page, std::string_view next) {
  return with_query(path, "limit=" + std::to_string(page)) +
         (next.empty() ? "" : "&continue=" + escaped(next));
}

Status list_all(ApiServer& api, const std::string& path, const std::function<void(const Json&)>& on_item) {
  const auto failed = [&](const std::string& why) { return Error{api.server() + path + ": " + why}; };
  std::string next;
  for (int pages = 0; pages < kMostPages; ++pages) {
    Call call;
    call.target = list_target(path, kPage, next);
    call.deadline = std::chrono::seconds(30);  // a page, over a slow line
    auto reply = api.call(call);
    if (!reply) return reply.error();
    if (reply->status != kOk) return failed(status_message(*reply));
    bool good = true;
    const auto page = read_list_page(std::move(reply->body), [&](const ApiObject& object) {
      const Json tree = parse_json(object.text);
      good = good && !tree.is_discarded();
      if (good) on_item(tree);
    });
    if (!good)
      return failed("an object that is not JSON, or of more than " + std::to_string(kMaxJsonDepth) +
                    " levels");
    if (!page) return failed(page.error().message);
    // With a server that names the same page again this would never end.
    if (!page->next.empty() && page->next == next) return failed("a page without end");
    next = page->next;
    if (next.empty()) return done();
  }
  return failed("more than " + std::to_string(kMostPages) + " pages");
}

}  // namespace nccl_env::kube
