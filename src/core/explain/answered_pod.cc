// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/answered_pod.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nccl_env {

std::vector<Value> omitted_values(const PodAnswer& answer, const PodRecord& record,
                                  const GivenContainer& container) {
  std::vector<Value> all;
  const auto add = [&](const std::string& name, const std::string& why, std::string detail = {}) {
    if (why.empty()) return;
    const bool by_command = find_named(container.command, name) != nullptr;
    const std::optional<Reason> reason = by_command ? Reason::UserSet : parse_reason(why);
    if (by_command) detail = "The container's command sets it.";
    auto today = answer.details.find(name);
    if (today == answer.details.end()) today = answer.details.find(followed(name));
    if (!reason) detail = why;
    if (detail.empty() && today != answer.details.end()) detail = today->second;
    all.push_back({.name = name, .state = State::LeftOut, .reason = reason, .detail = std::move(detail)});
  };
  // The sentence with which the init container left the value out.
  const auto told = [&](const Value& value, bool at_start) {
    return at_start && record.file ? find_text(record.file->details, value.name) : std::string();
  };
  const bool bound = !record.node.empty();
  for (const Value& given : container.values) {
    if (given.state != State::LeftOut || !bound) continue;
    add(given.name,
        given.by_file_key              ? record.reason_missing(given)
        : !record.bound                ? "its annotation is not there"
        : record.bound->reason.empty() ? record.reason_at_binding(given.name)
                                       : record.bound->reason,
        told(given, given.by_file_key));
  }
  // A value in the env overrides the file's value, and is listed with the env.
  for (const Value& line : container.file) {
    if (bound && !container.find_in_env(line.name))
      add(line.name, record.reason_missing(line), told(line, line.source == Source::Pod));
  }
  for (const Value& line : container.engine_lines) {
    if (bound && !container.find_in_env(line.name)) add(line.name, record.reason_missing(line));
  }
  for (const auto& [name, reason] : container.omitted) {
    const Value* line = find_named(container.file, name);  // what the env leaves to the file is not left out
    if (!line || line->state == State::LeftOut || reason == to_string(Reason::UserSet))
      add(name, reason, find_text(container.decided, name));
  }
  return all;
}

}  // namespace nccl_env
