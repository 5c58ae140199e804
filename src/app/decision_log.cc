// SPDX-License-Identifier: Apache-2.0
#include "decision_log.h"

namespace nccl_env::app {
namespace {

// "c/NCCL_IB_GID_INDEX=UserSet, …": why what was left out, in one field.
std::string omissions(const DecisionRecord& record) {
  std::string text;
  for (const auto& [name, reason] : record.omitted) {
    text += (text.empty() ? "" : ", ") + name + "=" + std::string(to_string(reason));
  }
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string_view resource_name(Review::Kind kind) {
  switch (kind) {
    case Review::Kind::Pod:
      return "pod";
    case Review::Kind::Binding:
      return "binding";
    case Review::Kind::Other:
      break;
  }
  return "other";
}

}  // namespace

void log_decision(Logger& log, const DecisionRecord& record, std::chrono::nanoseconds duration) {
  if (!log.enabled(LogLevel::Info)) return;
  log.info("decision", {{"uid", record.uid},
                        {"resource", resource_name(record.kind)},
                        {"namespace", record.name_space},
                        {"pod", record.pod},
                        {"node", record.node},
                        {"decision", to_string(record.outcome)},
                        {"reason", record.reason ? to_string(*record.reason) : std::string_view()},
                        {"detail", record.detail},
                        {"policy", record.policy},
                        {"generation", record.generation},
                        {"exposure", record.exposure ? to_string(*record.exposure) : std::string_view()},
                        {"set", joined(record.set)},
                        {"omitted", omissions(record)},
                        {"warnings", record.warnings},
                        {"dry_run", record.dry_run},
                        {"micros", std::chrono::duration_cast<std::chrono::microseconds>(duration).count()}});
}

}  // namespace nccl_env::app
