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
#include "nccl_env/core/nccl_log/failure_words.h"
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
  for (const auto& [number, fact] : log.efa_nics) {
    for (const std::uint32_t process : fact.processes)
      by_number[static_cast<std::size_t>(nccl_integer(number).value_or(0))].push_back(
          log.process_names[process]);
  }
  if (by_number.size() < 2) return;
  const std::string numbers = join(by_number, "; ", [](const auto& each) {
    return count_of(each.first, "HCA") + ": " + join_some(each.second, 3);
  });
  into.push_back(
      of_log(Code::MissingRail, Severity::Error, "processes use unequal numbers of HCAs: " + numbers));
}

// UCX that has lanes over TCP alone, where a list names HCAs.
void add_ucx_over_tcp(const NcclLog& log, const std::vector<VerifiedValue>& values,
                      std::vector<Finding>& into) {
  if (log.ucx.interfaces.empty() || !log.ucx.devices.empty()) return;
  constexpr std::string_view kList = "UCX_NET_DEVICES";
  const auto names_hca = [](std::string_view list) { return list.find(':') != list.npos; };
  const auto read = log.ucx.values.find(kList);
  const bool wanted =
      (read != log.ucx.values.end() &&
       std::ranges::any_of(read->second, [&](const auto& each) { return names_hca(each.first); })) ||
      std::ranges::any_of(
          values, [&](const VerifiedValue& value) { return value.name == kList && names_hca(*value.value); });
  if (!wanted) return;
  const auto& [interface, line] = *log.ucx.interfaces.begin();
  into.push_back(of_log(Code::FellBack, Severity::Error,
                        line_text(line) + "UCX reaches other processes over TCP alone (" + interface +
                            "), though UCX_NET_DEVICES names HCAs",
                        kList));
}

void add_versions(const NcclLog& log, std::vector<Finding>& into) {
  const bool told =
      std::ranges::any_of(into, [](const Finding& each) { return each.code == Code::NcclVersionsDiffer; });
  if (log.versions.size() > 1 && !told)
    into.push_back(of_log(Code::NcclVersionsDiffer, Severity::Warning, names_in(log.versions)));
}

// Hosts with GPUDirect RDMA on a channel at least, beside hosts without.
void add_one_sided(const NcclLog& log, std::vector<Finding>& into) {
  const auto with = log.gdr_channels.find("with"), without = log.gdr_channels.find("without");
  if (with == log.gdr_channels.end() || without == log.gdr_channels.end()) return;
  const std::set<std::string> direct = log.hosts_of(with->second.processes);
  std::set<std::string> others = log.hosts_of(without->second.processes);
  std::erase_if(others, [&](const std::string& host) { return direct.contains(host); });
  if (direct.empty() || others.empty()) return;
  into.push_back(of_log(Code::NoGpuDirect, Severity::Warning,
                        line_text(without->second.line) + "channels of " + join_some(others, 3) +
                            " are without GPU Direct RDMA, those of " + join_some(direct, 3) + " have it"));
}

// Sums up the lines on GPUDirect: it is off on every adapter.
void add_no_gpu_direct(const NcclLog& log, std::vector<Finding>& into) {
  if (log.gdr_off.empty() || !log.gdr_on.empty()) return;
  into.push_back(
      of_log(Code::NoGpuDirect, Severity::Info,
             line_text(first_line(log.gdr_off)) + "GPU Direct RDMA is off on " + names_in(log.gdr_off)));
}

// nccl-tests that printed the head of its table, and no row below it.
void add_table(const NcclLog& log, std::vector<Finding>& into) {
  if (log.table_line == 0 || log.initialised == 0 || log.came_to_results()) return;
  const bool p2p = log.local_transports.contains("P2P") && log.transports.empty();
  const std::string limit = limit_text(log).empty() ? "" : "; " + limit_text(log);
  into.push_back(of_log(Code::TimedOut, Severity::Warning,
                        line_text(log.table_line) +
                            "nccl-tests printed its table's head and no row: its first collective has not "
                            "ended, or the log was cut" +
                            limit +
                            (p2p ? ". It goes over P2P: try NCCL_P2P_DISABLE=1 once; if it runs then, PCIe "
                                   "ACS or the IOMMU breaks P2P between the GPUs"
                                 : "")));
}

void add_tests_apart(const NcclLog& log, std::vector<Finding>& into) {
  if (log.tests_apart == 0) return;
  into.push_back(
      of_log(Code::LaunchFailed, Severity::Warning,
             line_text(log.tests_apart) +
                 "processes of nccl-tests print a head and a summary each, so each ran for itself, "
                 "and nothing went between them"));
  into.back().remedy =
      "Build nccl-tests with MPI=1 and start it with the mpirun of that MPI, or name the MPI in srun --mpi.";
}

void add_initialising(const NcclLog& log, std::vector<Finding>& into) {
  if (log.initialising.empty()) return;
  std::string bridges = bridges_text(log);
  if (!bridges.empty()) bridges.pop_back();  // the sentence's end comes with the finding
  const std::string missing = log.hosts > 1 ? missing_ranks(log.own_ranks, log.ranks) : "";
  const std::string limit = limit_text(log);
  std::set<std::uint32_t> processes;
  for (const auto& [of, fact] : log.initialising)
    processes.insert(fact.processes.begin(), fact.processes.end());
  into.push_back(of_log(Code::InitNotEnded, Severity::Warning,
                        line_text(first_line(log.initialising)) + "Init START without Init COMPLETE" +
                            by_processes({0, processes}, log) +
                            (log.no_device.empty() ? "" : ", and NET/IB found no device") +
                            (missing.empty() ? "" : "; no line is of " + missing) +
                            (limit.empty() ? "" : "; " + limit) + (bridges.empty() ? "" : ". ") + bridges));
}

}  // namespace

std::vector<Finding> findings_of(const std::vector<Value>& spec, const NcclLog& log,
                                 LogVerification& verification) {
  std::vector<Finding> findings;
  for (const VerifiedFailure& verified : verification.failures) {
    const NcclFailure& failure = verified.failure;
    findings.push_back(of_log(failure.code, verified.counts ? Severity::Error : Severity::Info,
                              line_text(failure.line) + describe(failure), verified.variable));
    std::string remedy = words_of(failure, log, verified.variable).remedy;
    if (remedy != words_of(failure.code).remedy) findings.back().remedy = std::move(remedy);
  }
  if (verification.cause)
    std::rotate(findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(*verification.cause),
                findings.begin() + static_cast<std::ptrdiff_t>(*verification.cause) + 1);
  if (verification.fell_back) {
    findings.push_back(of_log(Code::FellBack, Severity::Error, verification.notes.front()));
    findings.back().remedy = remedy_of_list(log);
  }
  add_ucx_over_tcp(log, verification.values, findings);
  add_list(log, verification.values, findings);
  add_of_image(log, spec, verification, findings);
  add_unequal(log, findings);
  add_versions(log, findings);
  add_no_gpu_direct(log, findings);
  add_one_sided(log, findings);
  add_tests_apart(log, findings);
  if (!verification.cause) {
    add_initialising(log, findings);
    add_table(log, findings);
  }
  add_values(verification.values, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

}  // namespace nccl_env
