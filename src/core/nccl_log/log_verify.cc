// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/log_verify.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_log/log_diagnosis.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/log_findings.h"
#include "nccl_log/value_verdict.h"
#include "nccl_log/verified_failure.h"

namespace nccl_env {
namespace {

void note_sockets(const NcclLog& log, LogVerification& into) {
  if (turned_off(log)) {
    into.notes.emplace_back(
        "NCCL uses sockets: the container turns InfiniBand and RoCE off, or names another network.");
  } else if (log.is_of_one_node()) {
    into.notes.emplace_back(
        "NCCL has sockets as its network, and all ranks are on one node: nothing goes over it.");
  } else if (log.is_inside_node()) {
    into.notes.emplace_back(
        "NCCL has sockets as its network, and each channel of the log is inside a node: nothing goes over "
        "it.");
  } else if (may_be_one_host(log) && into.values.empty()) {
    into.one_host = true;
  } else {
    const std::uint64_t line =
        first_line(log.no_device.empty() ? (log.networks.contains("Socket") ? log.networks : log.transports)
                                         : log.no_device);
    into.fell_back = true;
    into.notes.push_back(
        "NCCL fell back to sockets (line " + std::to_string(line) +
        "): " + (log.no_device.empty() ? "its log says network Socket, not IB." : "it found no device."));
  }
}

// Failures as the rest of the log shows them, and those that only the whole of it tells.
std::vector<NcclFailure> failures_seen(const NcclLog& log) {
  std::vector<NcclFailure> all;
  all.reserve(log.failures.size() + 2);
  for (const NcclFailure& failure : log.failures) all.push_back(seen_in(log, failure));
  if (auto mixed = mixed_networks(log)) all.push_back(*std::move(mixed));
  if (auto missing = missing_plugin(log)) all.push_back(*std::move(missing));
  return all;
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
