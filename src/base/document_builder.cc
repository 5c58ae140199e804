// SPDX-License-Identifier: Apache-2.0
#include "document_builder.h"

namespace nccl_env {

using nlohmann::json;

json* DocumentBuilder::place(json value) {
  if (open_.empty()) return &(root_ = std::move(value));
  json& parent = *open_.back();
  if (parent.is_array()) return &parent.emplace_back(std::move(value));
  has_key_ = false;
  return &(parent[std::move(key_)] = std::move(value));
}

bool DocumentBuilder::add(json value) {
  place(std::move(value));
  return true;
}

bool DocumentBuilder::key(std::string name) {
  if (open_.back()->contains(name)) {
    problem_ = "the key " + json(name.substr(0, 64)).dump(-1, ' ', true, json::error_handler_t::replace) +
               " stands twice in one object";
    return false;
  }
  key_ = std::move(name);
  has_key_ = true;
  return true;
}

bool DocumentBuilder::open(json empty_container) {
  if (open_.size() >= kMaxDepth) {
    problem_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
    return false;
  }
  open_.push_back(place(std::move(empty_container)));
  return true;
}

json* DocumentBuilder::close() {
  json* const complete = open_.back();
  open_.pop_back();
  return complete;
}

}  // namespace nccl_env
