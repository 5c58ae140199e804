// SPDX-License-Identifier: Apache-2.0
#include "decision_log.h"

#include <algorithm>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env::webhook {
namespace {

// Returns each key of the JSON object once, with its first reason. A pod in review is not validated yet: two
// of its containers may have the same name, or a container may be called "host", like an exposure.
std::vector<LogName> omissions(const DecisionRecord& record) {
  std::vector<LogName> names;
  names.reserve(record.omitted.size());
  for (const auto& [variable, reason] : record.omitted)
    names.push_back({variable.scope, variable.name, to_string(reason)});
  const auto key = [](const LogName& name) { return std::pair(name.scope, name.name); };
  std::ranges::stable_sort(names, [&](const LogName& l, const LogName& r) { return key(l) < key(r); });
  names.erase(std::unique(names.begin(), names.end(),
                          [&](const LogName& l, const LogName& r) { return key(l) == key(r); }),
              names.end());
  return names;
}

std::string_view resource_name(Review::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"pod", "binding", "other"};
  return name_in(kNames, kind);
}

}  // namespace

void log_decision(Logger& log, const DecisionRecord& record, std::chrono::nanoseconds duration) {
  const LogLevel level = record.subject.dry_run ? LogLevel::Debug : LogLevel::Info;
  if (!log.enabled(level)) return;
  const std::vector<LogName> omitted = omissions(record);
  const Subject& subject = record.subject;
  log.log(level, "decision",
          {{"uid", subject.uid},
           {"resource", resource_name(subject.kind)},
           {"namespace", subject.name_space},
           {"pod", subject.pod},
           {"node", subject.node},
           {"decision", to_string(record.outcome)},
           {"reason", record.reason ? to_string(*record.reason) : std::string_view()},
           {"detail", record.detail},
           {"policy", subject.policy},
           {"generation", subject.generation},
           {"exposure", record.exposure ? to_string(*record.exposure) : std::string_view()},
           {"set", LogList{record.set}},
           {"omitted", LogObject{omitted}},
           {"warnings", record.warnings},
           {"dry_run", subject.dry_run},
           {"micros", std::chrono::duration_cast<std::chrono::microseconds>(duration).count()}});
}

}  // namespace nccl_env::webhook
