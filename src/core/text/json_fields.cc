// SPDX-License-Identifier: Apache-2.0
#include "text/json_fields.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace nccl_env::json {
namespace {

constexpr std::size_t kNamed = 20;  // refusals in one message, which must fit a log line and an event

std::string range(const std::string& least, const std::string& most) {
  return "must be a number from " + least + " to " + most;
}

std::optional<std::string_view> repeated_key(simdjson::dom::object object) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (auto field = object.begin(); field != object.end(); ++field) keys.push_back(field.key());
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  return twice == keys.end() ? std::nullopt : std::optional(*twice);
}

}  // namespace

void Refusals::add(std::string_view path, std::string_view message) {
  if (++count_ > kNamed) return;
  if (!text_.empty()) text_ += "; ";
  text_.append(path).append(": ").append(message);
}

std::string Refusals::sentence() const {
  return count_ <= kNamed ? text_ : text_ + "; and " + std::to_string(count_ - kNamed) + " more";
}

Fields::Fields(Element value, Path at, Refusals& refusals) : path_(at), refusals_(&refusals) {
  simdjson::dom::object object;
  if (value.get(object) == simdjson::SUCCESS) {
    object_ = object;
    next_ = object.begin();
    if (const auto key = repeated_key(object)) refuse(*key, "stands twice");
  } else {
    const std::string where = path_.text();
    refusals.add(where.empty() ? "object" : where, "must be an object");
  }
}

std::optional<Fields::Element> Fields::find(std::string_view name) const {
  if (!object_) return std::nullopt;
  auto at = *next_;
  if (at == object_->end() || !at.key_equals(name)) {
    at = object_->begin();
    while (at != object_->end() && !at.key_equals(name)) ++at;
    if (at == object_->end()) return std::nullopt;
  }
  const Element found = at.value();
  next_ = ++at;
  return found.is_null() ? std::nullopt : std::optional(found);
}

void Fields::refuse(std::string_view name, std::string_view message) const {
  refusals_->add(path(name).text(), message);
}

void Fields::require(std::string_view name) const {
  if (object_ && !find(name)) refuse(name, "is missing");
}

std::optional<int> Fields::integer(std::string_view name, int least, int most) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  std::int64_t number = 0;
  if (value->get(number) == simdjson::SUCCESS && number >= least && number <= most)
    return static_cast<int>(number);
  refuse(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name, double least, double most) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  double number = 0;
  if (value->get(number) == simdjson::SUCCESS && number >= least && number <= most) return number;
  refuse(name, range(nlohmann::json(least).dump(), nlohmann::json(most).dump()));
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view name) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  bool given = false;
  if (value->get(given) == simdjson::SUCCESS) return given;
  refuse(name, "must be true or false");
  return std::nullopt;
}

std::optional<std::string_view> Fields::text(std::string_view name) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  std::string_view given;
  if (value->get(given) == simdjson::SUCCESS) return given;
  refuse(name, "must be a string");
  return std::nullopt;
}

std::optional<simdjson::dom::array> Fields::array(std::string_view name, std::size_t most) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  simdjson::dom::array given;
  const bool is_array = value->get(given) == simdjson::SUCCESS;
  if (is_array && given.size() <= most) return given;
  refuse(name, "must be an array of at most " + std::to_string(most) +
                   (is_array ? ", not " + std::to_string(given.size()) : ""));
  return std::nullopt;
}

}  // namespace nccl_env::json
