// SPDX-License-Identifier: Apache-2.0
#include "fabric/fields.h"

#include <utility>

namespace nccl_env {
namespace {

constexpr std::size_t kNamed = 20;  // of the refusals; a message must fit a log line and an event

std::string range(const std::string& least, const std::string& most) {
  return "must be a number from " + least + " to " + most;
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

FabricFields::FabricFields(const nlohmann::json& value, std::string path, Refusals& refusals)
    : value_(&value), path_(std::move(path)), refusals_(&refusals) {
  if (!value.is_object()) refusals.add(path_.empty() ? "object" : path_, "must be an object");
}

std::string FabricFields::path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const nlohmann::json* FabricFields::find(std::string_view name) const {
  if (!value_->is_object()) return nullptr;
  const auto at = value_->find(std::string(name));
  return at == value_->end() || at->is_null() ? nullptr : &*at;
}

void FabricFields::refuse(std::string_view name, std::string_view message) const {
  refusals_->add(path(name), message);
}

void FabricFields::require(std::string_view name) const {
  if (value_->is_object() && find(name) == nullptr) refuse(name, "is missing");
}

std::optional<int> FabricFields::integer(std::string_view name, int least, int most) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto fits = [&](auto number) {
    return std::cmp_greater_equal(number, least) && std::cmp_less_equal(number, most);
  };
  const bool accepted = value->is_number_unsigned()  ? fits(value->get<std::uint64_t>())
                        : value->is_number_integer() ? fits(value->get<std::int64_t>())
                                                     : false;
  if (accepted) return value->get<int>();
  refuse(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<double> FabricFields::number(std::string_view name, double least, double most) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto given = value->get<double>();
    if (given >= least && given <= most) return given;
  }
  refuse(name, range(nlohmann::json(least).dump(), nlohmann::json(most).dump()));
  return std::nullopt;
}

std::optional<bool> FabricFields::boolean(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  refuse(name, "must be true or false");
  return std::nullopt;
}

std::optional<std::string> FabricFields::text(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get_ref<const std::string&>();
  refuse(name, "must be a string");
  return std::nullopt;
}

const nlohmann::json* FabricFields::array(std::string_view name, std::size_t most) const {
  const auto* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_array() && value->size() <= most) return value;
  refuse(name, "must be an array of at most " + std::to_string(most) +
                   (value->is_array() ? ", not " + std::to_string(value->size()) : ""));
  return nullptr;
}

}  // namespace nccl_env
