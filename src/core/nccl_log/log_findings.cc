// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/log_findings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/text/join.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/value_verdict.h"

namespace nccl_env {
namespace {

void add_values(const std::vector<VerifiedValue>& values, std::vector<Finding>& into) {
  for (const VerifiedValue& value : values) {
    const auto add = [&](Code code, std::string sentence) {
      into.push_back({code,
                      Severity::Error,
                      {.kind = "Container", .name = value.container, .path = value.name},
                      std::move(sentence)});
    };
    if (is_foreign(value)) add(Code::Foreign, "is not the pod's own");
    if (value.verdict == LogVerdict::Overridden)
      add(Code::ValueOverridden, line_text(value.line) + value.evidence);
    if (value.verdict == LogVerdict::Contradicted)
      add(Code::ValueContradicted, line_text(value.line) + value.evidence);
    if (value.verdict == LogVerdict::PartlyUsed)
      add(Code::PartlyUsed, line_text(value.line) + value.evidence);
  }
}

Finding of_log(Code code, Severity severity, std::string sentence, std::string_view path = {}) {
  return {code, severity, {.kind = "Log", .path = std::string(path)}, std::move(sentence)};
}

// Variables of a node that NCCL reads, though the pod has a list of ours and its spec does not set them. An
// index of the image's holds on every node; where queue pairs came to be with it, it is right on this one.
void add_of_image(const NcclLog& log, const std::vector<Value>& spec, LogVerification& into,
                  std::vector<Finding>& findings) {
  const Value* list = find_named(spec, variable::kIbHca);
  if (!list || list->state == State::Users) return;
  for (const std::string_view name : node_variables()) {
    const auto read = log.values.find(name);
    if (read == log.values.end() || find_named(spec, name)) continue;
    const auto& [value, fact] = *read->second.begin();
    const bool index = name == variable::kIbGidIndex && is_index(value);
    const std::string text = std::string(name) + "=\"" + value + "\"" + by_processes(fact, log);
    if (!index) {
      into.notes.push_back(
          "NCCL also reads " + text + " (line " + std::to_string(fact.line) +
          "), which the pod's spec does not set: it is the image's, an entrypoint's or envFrom's.");
      continue;
    }
    const bool proven = !into.cause && log.gid_indexes.contains(value);
    findings.push_back(of_log(Code::ImageIndex, proven ? Severity::Info : Severity::Warning,
                              line_text(fact.line) + "NCCL reads " + text + " beside the pod's list", name));
    if (proven)
      into.notes.push_back("ImageIndex: " + findings.back().sentence +
                           ". Queue pairs have it, and none failed on this node. " +
                           std::string(words_of(Code::ImageIndex).meaning));
  }
}

// Says what to do where NCCL fell back and reads a list of which it found no device; "" where it found one.
std::string remedy_of_list(const NcclLog& log) {
  const std::string list = value_read(log, variable::kIbHca);
  if (list.empty() || !log.devices.empty()) return {};
  return "NCCL reads " + list +
         ": look first whether the pod has those devices (ls /sys/class/infiniband), then for "
         "/dev/infiniband, the memory lock limit and the ports' state.";
}

// The list that NCCL reads, where none was given to the pod.
void add_list(const NcclLog& log, const std::vector<VerifiedValue>& values, std::vector<Finding>& into) {
  if (std::ranges::find(values, variable::kIbHca, &VerifiedValue::name) != values.end()) return;
  const auto read = log.values.find(variable::kIbHca);
  if (read == log.values.end()) return;
  for (const auto& [list, fact] : read->second) {
    const std::string part = partly_used(log, list, false, devices_of(log, fact.processes));
    if (!part.empty())
      into.push_back(of_log(Code::PartlyUsed, Severity::Error,
                            line_text(fact.line) + "NCCL_IB_HCA=\"" + list + "\": NCCL uses " + part,
                            variable::kIbHca));
  }
}

// Processes with unequal numbers of HCAs wait for each other for ever.
void add_unequal(const NcclLog& log, std::vector<Finding>& into) {
  std::map<std::uint32_t, std::size_t> hcas;  // of each process
  for (const auto& [device, fact] : log.devices) {
    for (const std::uint32_t process : fact.processes) ++hcas[process];
  }
  std::map<std::size_t, std::vector<std::string>> by_number;
  for (const auto& [process, number] : hcas) by_number[number].push_back(log.process_names[process]);
  if (log.device_line_cut) by_number.clear();
  if (by_number.size() < 2) return;
  const std::string numbers = join(by_number, "; ", [](const auto& each) {
    return count_of(each.first, "HCA") + ": " + join_some(each.second, 3);
  });
  into.push_back(
      of_log(Code::MissingRail, Severity::Error, "processes use unequal numbers of HCAs: " + numbers));
}

void add_versions(const NcclLog& log, std::vector<Finding>& into) {
  const bool told =
      std::ranges::any_of(into, [](const Finding& each) { return each.code == Code::NcclVersionsDiffer; });
  if (log.versions.size() > 1 && !told)
    into.push_back(of_log(Code::NcclVersionsDiffer, Severity::Warning, names_in(log.versions)));
}

void add_initialising(const NcclLog& log, std::vector<Finding>& into) {
  if (log.initialising.empty()) return;
  const std::string bridges = bridges_text(log);
  const std::string missing = log.hosts > 1 ? missing_ranks(log.own_ranks, log.ranks) : "";
  std::set<std::uint32_t> processes;
  for (const auto& [of, fact] : log.initialising)
    processes.insert(fact.processes.begin(), fact.processes.end());
  into.push_back(of_log(
      Code::InitNotEnded, Severity::Warning,
      line_text(first_line(log.initialising)) + "Init START without Init COMPLETE" +
          by_processes({0, processes}, log) + (log.no_device.empty() ? "" : ", and NET/IB found no device") +
          (missing.empty() ? "" : "; no line is of " + missing) + (bridges.empty() ? "" : ". ") + bridges));
}

}  // namespace

std::vector<Finding> findings_of(const std::vector<Value>& spec, const NcclLog& log,
                                 LogVerification& verification) {
  std::vector<Finding> findings;
  for (const VerifiedFailure& verified : verification.failures) {
    const NcclFailure& failure = verified.failure;
    findings.push_back(of_log(failure.code, verified.counts ? Severity::Error : Severity::Info,
                              line_text(failure.line) + describe(failure), verified.variable));
    if (const auto remedy = words_of(failure).remedy; remedy != words_of(failure.code).remedy)
      findings.back().remedy = remedy;
  }
  if (verification.cause)
    std::rotate(findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(*verification.cause),
                findings.begin() + static_cast<std::ptrdiff_t>(*verification.cause) + 1);
  if (verification.fell_back) {
    findings.push_back(of_log(Code::FellBack, Severity::Error, verification.notes.front()));
    findings.back().remedy = remedy_of_list(log);
  }
  add_list(log, verification.values, findings);
  add_of_image(log, spec, verification, findings);
  add_unequal(log, findings);
  add_versions(log, findings);
  if (!verification.cause) add_initialising(log, findings);
  add_values(verification.values, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

}  // namespace nccl_env
