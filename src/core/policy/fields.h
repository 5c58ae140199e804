// SPDX-License-Identifier: Apache-2.0
// Strict reading of a JSON object's fields: what is absent stays as it was, what is wrong becomes a
// finding with the field's path, and reading goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// "a string", "the number 22", "a list", …
std::string describe(const nlohmann::json& value);
// spec + env -> spec.env; a name that is not a plain word goes in brackets and quotes.
std::string path_of(std::string_view parent, std::string_view field);
std::string path_of(std::string_view parent, std::size_t index);
// "one of A, B"
std::string one_of(std::span<const std::string_view> words);

class Fields {
 public:
  // `object` and `findings` outlive this. Reports every field of the object that is not in `accepted`.
  Fields(const nlohmann::json& object, std::string path, std::span<const std::string_view> accepted,
         Findings& findings);

  // The field if it is there; whatever its type.
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;
  [[nodiscard]] std::string path(std::string_view name) const { return path_of(path_, name); }
  [[nodiscard]] const std::string& where() const { return path_; }
  [[nodiscard]] bool empty() const { return object_.empty(); }

  void boolean(std::string_view name, bool& out) const;
  void integer(std::string_view name, std::int64_t min, std::int64_t max,
               std::optional<std::int64_t>& out) const;
  void positive(std::string_view name, std::optional<double>& out) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // One of the words; nullopt if absent or refused.
  [[nodiscard]] std::optional<std::size_t> word(std::string_view name,
                                                std::span<const std::string_view> words) const;
  // Calls `each` for the items of a list of at most `most`.
  void items(std::string_view name, int most,
             const std::function<void(const nlohmann::json& item, const std::string& item_path)>& each) const;
  // An object's field that is itself an object.
  [[nodiscard]] const nlohmann::json* object(std::string_view name) const;

 private:
  const nlohmann::json& object_;
  std::string path_;
  Findings& findings_;
};

// Fields of one object while they are read.
struct PolicyInput {
  const Fields fields;
  const PolicyOptions& options;
  Findings& findings;
};

// Why a text is not a glob over names; nothing if it is one.
std::optional<std::string> name_glob_problem(std::string_view glob);

}  // namespace nccl_env
