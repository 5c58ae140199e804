// SPDX-License-Identifier: Apache-2.0
// Typed access to simdjson documents: one pass over an object picks the wanted fields, refuses one that
// stands twice (readers disagree on which of the two counts), and errors name the path.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/result.h"
#include "text/json_path.h"

namespace nccl_env::json {

using Element = simdjson::dom::element;

// The first failure of one reading; every step after it does nothing.
class Failure {
 public:
  void set(const Path& path, std::string_view what) {
    if (!stopped_) error_ = path.error(what);
    stopped_ = true;
  }
  // Ends the reading without an error.
  void stop() { stopped_ = true; }
  // Nothing more is to be read.
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  bool stopped_ = false;
  std::optional<Error> error_;
};

// Fields of one object, in the order of `keys`. A null counts as absent, as it does in Kubernetes.
template <std::size_t N>
std::array<std::optional<Element>, N> pick(Element value, const Path& path,
                                           const std::array<std::string_view, N>& keys, Failure& failure) {
  std::array<std::optional<Element>, N> found{};
  std::array<bool, N> seen{};
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    failure.set(path, "must be an object");
    return found;
  }
  // With the iterator itself: a pair of its key and value would be written to memory and read back at once in
  // wider words, which stalls the processor.
  for (auto field = object.begin(); field != object.end(); ++field) {
    const std::string_view key = field.key();
    for (std::size_t i = 0; i < N; ++i) {
      if (key != keys[i]) continue;
      if (seen[i]) failure.set(path.field(keys[i]), "stands twice");
      seen[i] = true;
      if (const Element child = field.value(); !child.is_null()) found[i] = child;
      break;
    }
  }
  return found;
}

inline std::string_view text(std::optional<Element> value, const Path& path, Failure& failure) {
  std::string_view result;
  if (value && value->get(result) != simdjson::SUCCESS) failure.set(path, "must be a string");
  return result;
}

inline bool boolean(std::optional<Element> value, const Path& path, Failure& failure) {
  bool result = false;
  if (value && value->get(result) != simdjson::SUCCESS) failure.set(path, "must be true or false");
  return result;
}

// Returns how many items or fields to reserve: enough for any honest pod, and no more than that whatever a
// hostile one holds.
template <class List>
std::size_t count_to_reserve(std::optional<Element> value) {
  constexpr std::size_t kEnough = 64;
  List list;
  return value && value->get(list) == simdjson::SUCCESS ? std::min(list.size(), kEnough) : 0;
}
inline std::size_t items_to_reserve(std::optional<Element> value) {
  return count_to_reserve<simdjson::dom::array>(value);
}
inline std::size_t fields_to_reserve(std::optional<Element> value) {
  return count_to_reserve<simdjson::dom::object>(value);
}

// Calls visit(element, path) for each item; absent is an empty list.
template <class Visit>
void each_item(std::optional<Element> value, const Path& path, Failure& failure, Visit&& visit) {
  if (!value) return;
  simdjson::dom::array array;
  if (value->get(array) != simdjson::SUCCESS) return failure.set(path, "must be a list");
  int position = 0;
  for (const Element item : array) {
    if (failure.stopped()) return;
    const Path here = path.item(position++);
    visit(item, here);
  }
}

// Calls visit(key, element, path) for each field; absent is an empty object.
template <class Visit>
void each_field(std::optional<Element> value, const Path& path, Failure& failure, Visit&& visit) {
  if (!value) return;
  simdjson::dom::object object;
  if (value->get(object) != simdjson::SUCCESS) return failure.set(path, "must be an object");
  for (auto field = object.begin(); field != object.end(); ++field) {
    if (failure.stopped()) return;
    const Path here = path.field(field.key());
    visit(here.key, field.value(), here);
  }
}

}  // namespace nccl_env::json
