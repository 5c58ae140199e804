// SPDX-License-Identifier: Apache-2.0
#include "decision_log.h"
#include "nccl_env/core/text/enum_names.h"

namespace nccl_env::app {
namespace {

constexpr std::size_t kUsualText = 512;  // two containers of ten variables

void append_name(std::string& text, const ScopedVariable& variable) {
  if (!text.empty()) text += ", ";
  text.append(variable.scope).append("/").append(variable.name);
}

// "c/NCCL_IB_HCA, …"
std::string names(const std::vector<ScopedVariable>& variables) {
  std::string text;
  if (!variables.empty()) text.reserve(kUsualText);
  for (const ScopedVariable& variable : variables) append_name(text, variable);
  return text;
}

// "c/NCCL_IB_GID_INDEX=UserSet, …": why what was left out, in one field.
std::string omissions(const DecisionRecord& record) {
  std::string text;
  if (!record.omitted.empty()) text.reserve(kUsualText);
  for (const auto& [variable, reason] : record.omitted) {
    append_name(text, variable);
    text.append("=").append(to_string(reason));
  }
  return text;
}

std::string_view resource_name(Review::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"pod", "binding", "other"};
  return name_in(kNames, kind);
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
                        {"set", names(record.set)},
                        {"omitted", omissions(record)},
                        {"warnings", record.warnings},
                        {"dry_run", record.dry_run},
                        {"micros", std::chrono::duration_cast<std::chrono::microseconds>(duration).count()}});
}

}  // namespace nccl_env::app
