// SPDX-License-Identifier: Apache-2.0
// An API server in a map: objects by path, with resourceVersions, conflicts, and as much of server-side apply
// as its users here need: lists of named or typed items are merged by that key.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/kube/client.h"

namespace nccl_env::tests {

class ApiObjects {
 public:
  using Json = nlohmann::json;

  std::map<std::string, Json> objects;            // by path, without a query
  std::vector<kube::Call> calls;                  // all but GETs
  std::function<void(const kube::Call&)> before;  // each call: what others do meanwhile
  std::function<std::optional<Result<kube::Reply>>(const kube::Call&)> instead;

  void put(const std::string& path, Json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects[path] = std::move(object);
  }

  Result<kube::Reply> operator()(const kube::Call& call) {
    if (call.method != "GET") calls.push_back(call);
    if (before) before(call);
    if (instead) {
      if (auto reply = instead(call)) return *std::move(reply);
    }
    const std::string path = call.target.substr(0, call.target.find('?'));
    if (call.method == "GET") return found(path);
    const Json body = Json::parse(call.body);
    if (call.method == "POST") return create(path + "/" + body["metadata"]["name"].get<std::string>(), body);
    if (!objects.contains(path)) return problem(404, "not found");
    const Json wanted = body["metadata"].value("resourceVersion", Json());
    if (!wanted.is_null() && wanted != objects[path]["metadata"]["resourceVersion"])
      return problem(409, "the object has been modified");
    if (call.method == "PUT") {
      put(path, body);
    } else {
      Json merged = objects[path];
      merge(merged, body);
      put(path, std::move(merged));
    }
    return found(path);
  }

 private:
  static kube::Reply problem(int status, const std::string& message) {
    return {status, Json{{"kind", "Status"}, {"message", message}}.dump()};
  }
  kube::Reply found(const std::string& path) {
    const auto object = objects.find(path);
    return object == objects.end() ? problem(404, "not found") : kube::Reply{200, object->second.dump()};
  }
  kube::Reply create(const std::string& path, const Json& object) {
    if (objects.contains(path)) return problem(409, "already exists");
    put(path, object);
    return {201, objects[path].dump()};
  }
  static void merge(Json& into, const Json& applied) {
    for (const auto& [key, value] : applied.items()) {
      if (value.is_object() && into.contains(key)) {
        merge(into[key], value);
      } else if (value.is_array() && into.contains(key)) {
        merge_list(into[key], value);
      } else {
        into[key] = value;
      }
    }
  }
  static void merge_list(Json& into, const Json& applied) {
    for (const Json& item : applied) {
      const char* key = item.contains("name") ? "name" : "type";
      bool merged = false;
      for (Json& present : into) {
        if (present[key] == item[key]) {
          merge(present, item);
          merged = true;
        }
      }
      if (!merged) into.push_back(item);
    }
  }

  std::uint64_t version_ = 100;
};

}  // namespace nccl_env::tests
