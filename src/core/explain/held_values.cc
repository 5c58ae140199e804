// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/held_values.h"

#include <nlohmann/json.hpp>

#include "engines/nccl/ports.h"
#include "explain/judgement.h"
#include "explain/value_print.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxValue = 60;  // of a value in a sentence

std::optional<std::vector<std::string>> names_of(const std::optional<std::string>& list) {
  if (!list) return std::nullopt;
  return parse_nccl_name_list(*list, kNewestNccl, nccl_max_hcas(kNewestNccl)).names();
}

std::string value_words(const std::optional<std::string>& value) {
  return value ? cut(*value, kMaxValue) : "none";
}

}  // namespace

std::string change_text(const Change& change) {
  const auto& [name, now] = std::pair(change.now.name, change.now.value);
  if (name == variable::kIbHca && change.then && now)
    return name + " (" + list_difference(*names_of(change.then), *names_of(now)) + ")";
  const std::string reason =
      change.now.reason && !now ? ": " + std::string(to_string(*change.now.reason)) : std::string();
  return name + " (" + value_words(change.then) + " then, " + value_words(now) + " today" + reason + ")";
}

std::string remedy_of_changes(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const auto& reason = change.now.reason;
    if (change.then && !change.now.value && reason && *reason != Reason::OmittedByPolicy)
      return std::string(remedy(*reason));
  }
  return {};
}

Value held_value(const Value& wish, const NodeValues& values) {
  Value held{.name = wish.name};
  if (wish.state == State::LeftOut) {
    held.reason = wish.reason;
  } else if (wish.source == Source::Policy) {
    held.value = wish.value;
  } else {
    if (const std::string* value = values.find(wish.name)) held.value = *value;
    const Value* omission = values.omission(wish.name);
    if (omission && !held.value) held.reason = omission->reason;
  }
  return held;
}

OrderedJson to_json(const Change& change) {
  const OrderedJson reason = change.now.reason ? OrderedJson(to_string(*change.now.reason)) : OrderedJson();
  return {{"name", change.now.name},
          {"then", value_or_null(change.then)},
          {"now", value_or_null(change.now.value)},
          {"reason", reason}};
}

}  // namespace nccl_env
