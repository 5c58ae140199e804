// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/answered_pod.h"

#include <utility>

#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {

std::vector<Value> omitted_values(const PodAnswer& answer, const PodRecord& record,
                                  const GivenContainer& container) {
  std::vector<Value> all;
  const auto add = [&](const std::string& name, const std::string& why, std::string detail = {}) {
    if (why.empty()) return;
    const bool by_command = find_named(container.command, name) != nullptr;
    const std::optional<Reason> reason = by_command ? Reason::UserSet : parse_reason(why);
    if (by_command) detail = "The container's command sets it.";
    if (!reason) detail = why;
    if (detail.empty() && record.file)
      detail = find_text(record.file->details, name);  // of the init container
    if (detail.empty()) detail = find_text(answer.details, name);
    if (detail.empty()) detail = find_text(answer.details, followed(name));
    all.push_back({.name = name, .state = State::LeftOut, .reason = reason, .detail = std::move(detail)});
  };
  const bool bound = !record.node.empty();
  for (const Value& given : container.values) {
    if (bound && given.state == State::LeftOut) add(given.name, record.reason_missing(given));
  }
  // A value in the env overrides the file's value, and is listed with the env.
  for (const std::vector<Value>* lines : {&container.file, &container.engine_lines}) {
    for (const Value& line : *lines) {
      if (bound && !container.find_in_env(line.name)) add(line.name, record.reason_missing(line));
    }
  }
  for (const auto& [name, reason] : container.omitted) {
    const Value* line = find_named(container.file, name);  // what the env leaves to the file is not left out
    if (!line || line->state == State::LeftOut || reason == to_string(Reason::UserSet))
      add(name, reason, find_text(container.decided, name));
  }
  return all;
}

bool is_unneeded(const Value& omitted, const GivenContainer& container) {
  const Value* index = container.find(variable::kIbGidIndex);
  const bool searches = !index || !index->value || nccl_integer(*index->value).value_or(-1) < 0;
  return omitted.reason == Reason::OmittedByPolicy ||
         (omitted.reason == Reason::UserSetGroup && !searches && in_gid_group(omitted.name));
}

}  // namespace nccl_env
