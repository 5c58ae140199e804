// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/nccl_log/log_verify.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/cohort/cohort.h"
#include "nccl_log/log_diagnosis.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/log_line.h"
#include "nccl_log/value_verdict.h"
#include "nccl_log/verified_failure.h"

namespace nccl_env {
namespace {

bool is_list_overridden(const std::vector<VerifiedValue>& values) {
  const auto list = std::ranges::find(values, variable::kIbHca, &VerifiedValue::name);
  return list != values.end() && list->verdict == LogVerdict::Overridden;
}

// Tells why sockets are no fault, or that NCCL fell back to them.
void note_sockets(const NcclLog& log, LogVerification& into) {
  const auto note = [&](std::string text) { into.notes.push_back(std::move(text)); };
  if (turned_off(log))
    return note("NCCL uses sockets, as " + value_read(log, variable_of_sockets(log)) + " says.");
  if (log.is_of_one_node() || log.is_inside_node())
    return note("NCCL has sockets as its network, and " +
                std::string(log.is_of_one_node() ? "all ranks are on one node"
                                                 : "each channel of the log is inside a node") +
                ": nothing goes over it.");
  into.one_host = may_be_one_host(log) && into.values.empty();
  into.fell_back = !into.one_host;
  if (into.one_host) return;
  const bool found = log.no_device.empty();
  const NcclLog::Facts& shown = log.networks.contains("Socket") ? log.networks : log.transports;
  note("NCCL fell back to sockets (line " + std::to_string(first_line(found ? shown : log.no_device)) +
       "): " +
       (found                             ? "its log says network Socket, not IB."
        : is_list_overridden(into.values) ? "it found no device of " + value_read(log, variable::kIbHca) +
                                                ", which was set in place of the pod's list."
                                          : "it found no device."));
}

// Failures as the rest of the log shows them, and those that only the whole of it tells.
std::vector<NcclFailure> failures_seen(const NcclLog& log) {
  std::vector<NcclFailure> all;
  for (const NcclFailure& failure : log.failures) all.push_back(seen_in(log, failure));
  if (auto mixed = mixed_networks(log)) all.push_back(*std::move(mixed));
  if (auto missing = missing_plugin(log)) all.push_back(*std::move(missing));
  return all;
}

// Tells of each value that is not used, and of each that is not the pod's own.
void add_values(const std::vector<VerifiedValue>& values, std::vector<Finding>& into) {
  const auto code_of = [](LogVerdict verdict) -> std::optional<Code> {
    if (verdict == LogVerdict::Overridden) return Code::ValueOverridden;
    if (verdict == LogVerdict::Contradicted) return Code::ValueContradicted;
    return verdict == LogVerdict::PartlyUsed ? std::optional(Code::PartlyUsed) : std::nullopt;
  };
  for (const VerifiedValue& value : values) {
    const Subject subject{.kind = "Container", .name = value.container, .path = value.name};
    if (value.state == State::Foreign)
      into.push_back({Code::Foreign, Severity::Error, subject, "is not the pod's own"});
    if (const auto code = code_of(value.verdict))
      into.push_back({*code, Severity::Error, subject, line_text(value.line) + value.evidence});
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
    const NcclLog::Facts& read = log.read(name);
    if (read.empty() || find_named(spec, name)) continue;
    const auto& [value, fact] = *read.begin();
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

// A policy that pins no index counts on NCCL's own search. Comes first: what fails then fails by it.
void add_row_zero(const NcclLog& log, const std::vector<Value>& spec, std::vector<Finding>& into) {
  const Value* list = find_named(spec, variable::kIbHca);
  if (!list || list->state == State::Users || find_named(spec, variable::kIbGidIndex) || !takes_row_zero(log))
    return;
  into.insert(into.begin(), of_log(Code::NcclTooOld, Severity::Error,
                                   "NCCL " + names_in(log.versions) +
                                       " takes GID index 0 on RoCE, and the pod was given none",
                                   variable::kIbGidIndex));
}

// Says what to do where NCCL fell back and reads a list of which it found no device; "" where it found one.
std::string remedy_of_list(const NcclLog& log, const std::vector<VerifiedValue>& values) {
  const std::string list = value_read(log, variable::kIbHca);
  if (list.empty() || !log.devices.empty()) return {};
  return (is_list_overridden(values)
              ? "Look first at what sets the list anew (the image's entrypoint, mpirun -x, a launcher), then"
              : "NCCL reads " + list + ": look first") +
         " whether the pod has those devices (ls /sys/class/infiniband), then for /dev/infiniband, the "
         "memory lock limit and the ports' state.";
}

// The list that NCCL reads, where none was given to the pod.
void add_list(const NcclLog& log, const std::vector<VerifiedValue>& values, std::vector<Finding>& into) {
  if (std::ranges::find(values, variable::kIbHca, &VerifiedValue::name) != values.end()) return;
  for (const auto& [list, fact] : log.read(variable::kIbHca)) {
    const std::string part = partly_used(log, list, false, devices_of(log, fact.processes));
    if (!part.empty())
      into.push_back(of_log(Code::PartlyUsed, Severity::Error,
                            line_text(fact.line) + "NCCL_IB_HCA=\"" + list + "\": NCCL uses " + part,
                            variable::kIbHca));
  }
}

// Processes with unequal numbers of HCAs wait for each other for ever.
void add_unequal(const NcclLog& log, std::vector<Finding>& into) {
  Shares<std::size_t> shares;
  std::map<std::uint32_t, std::size_t> hcas;  // of each process
  for (const auto& [device, fact] : log.devices) {
    for (const std::uint32_t process : fact.processes) ++hcas[process];
  }
  for (const auto& [process, number] : hcas) shares.add(process, number);
  if (log.device_line_cut || shares.members_with.size() < 2) return;
  const std::string numbers = join(shares.members_with, "; ", [&](const auto& each) {
    return count_of(each.first, "HCA") + ": " +
           join_some(each.second, 3, [&](std::size_t process) { return log.process_names[process]; });
  });
  into.push_back(
      of_log(Code::MissingRail, Severity::Error, "processes use unequal numbers of HCAs: " + numbers));
}

// Values that NCCL reads otherwise than they are written.
void add_misread(const NcclLog& log, std::vector<Finding>& into) {
  for (const auto& [name, values] : log.values) {
    for (const auto& [value, fact] : values) {
      if (!find_nccl_variable(name) || value.ends_with("...")) continue;
      const auto problem = setting_problem(name, value);
      if (!problem) continue;
      into.push_back(of_log(Code::ValueMisread, problem->as_meant ? Severity::Info : Severity::Warning,
                            line_text(fact.line) + problem->sentence, name));
      into.back().remedy = problem->remedy;
    }
  }
}

void add_initialising(const NcclLog& log, std::vector<Finding>& into) {
  if (log.initialising.empty()) return;
  const std::string bridges = bridges_text(log);
  const std::string missing = log.hosts > 1 ? missing_ranks(log.own_ranks, log.ranks) : "";
  into.push_back(of_log(Code::InitNotEnded, Severity::Warning,
                        line_text(first_line(log.initialising)) + "Init START without Init COMPLETE" +
                            by_processes({0, processes_in(log.initialising)}, log) +
                            (log.no_device.empty() ? "" : ", and NET/IB found no device") +
                            (missing.empty() ? "" : "; no line is of " + missing) +
                            (bridges.empty() ? "" : ". ") + bridges));
}

// The cause first. A value that failed stands with its failure. Failures that do not count are only to know.
// Notes what else is worth knowing in the verification.
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
  if (verification.cause) {
    const auto cause = findings.begin() + static_cast<std::ptrdiff_t>(*verification.cause);
    std::rotate(findings.begin(), cause, cause + 1);
  }
  if (verification.fell_back) {
    findings.push_back(of_log(Code::FellBack, Severity::Error, verification.notes.front()));
    findings.back().remedy = remedy_of_list(log, verification.values);
  }
  const std::size_t noted = findings.size();
  add_list(log, verification.values, findings);
  add_of_image(log, spec, verification, findings);
  add_unequal(log, findings);
  if (log.versions.size() > 1 &&
      std::ranges::find(findings, Code::NcclVersionsDiffer, &Finding::code) == findings.end())
    findings.push_back(of_log(Code::NcclVersionsDiffer, Severity::Warning, names_in(log.versions)));
  if (!verification.cause) add_initialising(log, findings);
  add_misread(log, findings);
  for (Finding& unlike : compare_hosts(log)) {  // nothing that the log itself tells
    if (std::ranges::find(findings, unlike.code, &Finding::code) == findings.end())
      findings.push_back(std::move(unlike));
  }
  for (std::size_t i = noted; i < findings.size(); ++i) {
    if (findings[i].severity != Severity::Info) verification.notes.push_back(findings[i].sentence + ".");
  }
  add_row_zero(log, spec, findings);
  add_values(verification.values, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

}  // namespace

LogVerification verify_log(const NcclLog& log, const std::vector<Value>& spec) {
  LogVerification verification;
  for (const Value& value : spec) {
    if (value.state != State::Users) verification.values.push_back(judge_value(log, value));
  }
  const bool follows = follows_gids(log, verification.values);
  const std::vector<NcclFailure> failures = failures_seen(log);
  for (const NcclFailure& failure : failures)
    verification.failures.push_back(verify_failure(failure, log, failures, follows, verification.values));
  if (uses_sockets(log) && !mixed_networks(log)) note_sockets(log, verification);
  for (const auto& [version, fact] : log.versions) {
    const auto number = logged_version(version);
    if (number && !is_newer_than_known(*number)) continue;
    verification.notes.push_back("NCCL " + version + " is " + (number ? "newer" : "older") +
                                 " than what is known here (" + known_versions() +
                                 "): its lines are read as those of known versions.");
  }
  if (log.processes >= kMaxProcesses)
    verification.notes.push_back("More than " + std::to_string(kMaxProcesses) +
                                 " processes: counts hold for the first.");
  verification.cause = find_cause(verification.failures, log);
  verification.findings = findings_of(spec, log, verification);
  verification.sentence = diagnosis_of(verification, log);
  return verification;
}

}  // namespace nccl_env
