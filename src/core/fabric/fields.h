// SPDX-License-Identifier: Apache-2.0
// Reads the fields of one JSON object strictly and notes every refusal under the field's path, so that
// whoever wrote the object hears of all mistakes at once. Null counts as absent, as it does in Kubernetes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env {

class Refusals {
 public:
  void add(std::string_view path, std::string_view message);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string sentence() const;

 private:
  std::string text_;
  std::size_t count_ = 0;
};

class FabricFields {
 public:
  // Keeps references: `value` and `refusals` outlive it. A value that is not an object is refused here.
  FabricFields(const nlohmann::json& value, std::string path, Refusals& refusals);

  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;  // nullptr if absent
  void refuse(std::string_view name, std::string_view message) const;
  void require(std::string_view name) const;

  // An absent or refused field is empty.
  [[nodiscard]] std::optional<int> integer(std::string_view name, int least, int most) const;
  [[nodiscard]] std::optional<double> number(std::string_view name, double least, double most) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  [[nodiscard]] const nlohmann::json* array(std::string_view name, std::size_t most) const;

  // A text that `parse` (std::string_view -> Result<T>) accepts.
  template <class Parse>
  auto parsed(std::string_view name, const Parse& parse) const
      -> std::optional<std::decay_t<decltype(*parse(std::string_view()))>> {
    const auto given = text(name);
    if (!given) return std::nullopt;
    auto result = parse(std::string_view(*given));
    if (result.ok()) return std::move(result).value();
    refuse(name, result.error().message);
    return std::nullopt;
  }

  // Every element of an array of objects: `read(FabricFields) -> T`.
  template <class Read>
  auto objects(std::string_view name, std::size_t most, const Read& read) const
      -> std::optional<std::vector<decltype(read(std::declval<FabricFields>()))>> {
    const auto* elements = array(name, most);
    if (elements == nullptr) return std::nullopt;
    std::vector<decltype(read(std::declval<FabricFields>()))> result;
    for (const auto& element : *elements) {
      const std::string at = path(name) + "[" + std::to_string(result.size()) + "]";
      result.push_back(read(FabricFields(element, at, *refusals_)));
    }
    return result;
  }

 private:
  const nlohmann::json* value_;
  std::string path_;
  Refusals* refusals_;
};

}  // namespace nccl_env
