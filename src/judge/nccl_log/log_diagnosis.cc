// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/log_diagnosis.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "nccl_env/core/text/join.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/value_verdict.h"
#include "nccl_log/verified_failure.h"

namespace nccl_env {
namespace {

// "NoAnswer in line 80".
std::string code_in_line(const NcclFailure& failure) {
  return std::string(to_string(failure.code)) + " in line " + std::to_string(failure.line);
}

// "It led to NoAnswer in line 80, on the same device.": the errors that belong to the event.
std::string bonds_text(const NcclFailure& event, const LogVerification& verification, const NcclLog& log) {
  std::string text;
  for (const VerifiedFailure& other : verification.failures) {
    const NcclFailure& error = other.failure;
    const Bond bond = bond_of(event, error, log);
    if (bond != Bond::None) {
      text += " It led to " + code_in_line(error) +
              (bond == Bond::Port      ? ", on the same device."
               : bond == Bond::Process ? ", in the same process."
                                       : ", whose peer " + error.peer + " had it.");
    } else if (is_of_another_port(event, error)) {
      text += " " + code_in_line(error) + " is of another device, " + error.device + ".";
    }
  }
  return text;
}

// ", on gpu-1": where a port failed, or which of several hosts tells the failure.
std::string host_text(const NcclFailure& failure, const NcclLog& log) {
  const std::string hosts = hosts_of(failure, log);
  const bool told = !hosts.empty() && (failure.is_port_event() || log.hosts > 1);
  return told ? ", on " + hosts : std::string();
}

// The diagnosis: what failed, what it means, what the log shows beside it, by which value, what to do, and
// what followed.
std::string failure_sentence(const LogVerification& verification, const NcclLog& log, std::string_view beside,
                             std::string_view remedy) {
  const VerifiedFailure& cause = verification.failures[*verification.cause];
  const NcclFailure& failure = cause.failure;
  const std::string context = context_of(failure, log);
  const FailureWords words = words_of(failure);
  std::string text = std::string(to_string(failure.code)) + ": " + std::string(beside) +
                     (beside.empty() ? "" : " ") + std::string(words.meaning) + (context.empty() ? "" : " ") +
                     context + (failure.line > 0 ? " Line " + std::to_string(failure.line) : "") +
                     host_text(failure, log) + ": " + describe(failure) + how_often(failure);
  if (!text.ends_with('.')) text += ".";
  if (const std::string value = cause_of(cause); !value.empty()) text += " " + value;
  text += " " + std::string(remedy.empty() ? words.remedy : remedy);
  text += bonds_text(failure, verification, log);
  std::vector<std::string> others;
  for (const VerifiedFailure& other : verification.failures) {
    const bool later = other.failure.line > failure.line;
    // A process writes its transfers' errors in their order; elsewhere lines may stand in any.
    const bool may_follow = failure.is_of_transfer() ? later
                            : failure.is_port_event()
                                ? later || other.failure.is_of_transfer()
                                : later || other.failure.nearness() >= Nearness::Consequence;
    if (may_follow && other.failure.may_follow_end() && other.failure.code != failure.code &&
        !other.failure.retried && bond_of(failure, other.failure, log) == Bond::None &&
        !is_of_another_port(failure, other.failure))
      others.push_back(code_in_line(other.failure));
  }
  return others.empty() ? text : text + " It may have led to " + join_some(others, 3) + ".";
}

// "UCX uses mlx5_0:1": a log of other engines alone.
std::string engines_sentence(const NcclLog& log) {
  std::vector<std::string> uses;
  for (const EngineLog* engine : log.engines()) {
    if (!engine->devices.empty())
      uses.push_back(std::string(engine->name) + " uses " + names_in(engine->devices));
  }
  return (uses.empty() ? "The log does not tell which devices are used" : join(uses, "; ")) +
         ". No line here speaks of a failure of the network.";
}

// "IB", else what channels or devices tell.
std::string networks_text(const NcclLog& log) {
  for (const NcclLog::Facts* facts : {&log.networks, &log.transports, &log.devices}) {
    if (!facts->empty()) return names_in(*facts);
  }
  return names_in(log.local_transports);
}

// "tells no failure", or which ones ended nothing.
std::string no_failure_text(const LogVerification& verification) {
  if (verification.failures.empty()) return "tells no failure";
  return "tells no failure that ended it (" +
         join_some(verification.failures, 3, [](const auto& each) { return code_in_line(each.failure); }) +
         ")";
}

std::string values_sentence(const LogVerification& verification, const NcclLog& log) {
  const std::string no_failure = no_failure_text(verification);
  std::size_t used = 0;
  std::vector<std::string> bad, foreign;
  for (const VerifiedValue& value : verification.values) {
    if (value.state == State::Foreign) foreign.push_back(value.name);
    used += value.verdict == LogVerdict::Used ? 1 : 0;
    if (is_bad(value.verdict)) bad.push_back(value.name);
  }
  const std::size_t all = verification.values.size();
  if (!foreign.empty())
    return "Values of the pod are not its own: " + join(foreign) +
           ". `nccl-env explain pod/NAME` says whose they are, and what to do.";
  if (!bad.empty())
    return "Of " + count_of(all, "value") + " NCCL does not use: " + join(bad) +
           ". Look at what sets the environment anew (the image's entrypoint, mpirun -x, a launcher), and at "
           "the devices that the pod has.";
  if (all > 0 && used == all) return "NCCL uses every value that the pod was given. Nothing to do.";
  if (used > 0)
    return "NCCL uses " + std::to_string(used) + " of " + count_of(all, "value") +
           ", and tells nothing of the others yet, which is not a fault. Nothing to do.";
  const bool silent =
      log.networks.empty() && log.transports.empty() && log.devices.empty() && log.local_transports.empty();
  if (verification.one_host)
    return "NCCL has sockets as its network, and its log " + no_failure +
           ". It shows one host: inside it nothing goes over sockets, to other hosts all would, many times "
           "slower.";
  if (silent && all == 0 && log.ucx.lines + log.nvshmem.lines == 0 && (!log.warnings.empty() || log.ended))
    return "The log " + no_failure + (log.ended ? ", and its run came to results" : "") +
           (log.warnings.empty() ? ". " : ": its warnings are harmless. ") +
           "It does not tell which network NCCL uses: for that, run the job with NCCL_DEBUG=INFO.";
  if (silent && all == 0 && !verification.failures.empty()) return "The log " + no_failure + ".";
  if (log.nccl_lines == 0) return engines_sentence(log);
  const bool off = turned_off(log) && uses_sockets(log) && !verification.notes.empty();
  if ((silent || all > 0) && !off)
    return std::string(all > 0 ? "The log proves nothing of the values"
                               : "The log does not tell which network NCCL uses") +
           ". Run the job with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,ENV,BOOTSTRAP,NET.";
  const bool begins = !log.bootstrap.empty() && !log.is_initialised();
  return (off      ? verification.notes.front() + " The log "
          : begins ? "NCCL found " + networks_text(log) + ", and its log "
                   : "NCCL runs over " + networks_text(log) + ", and its log ") +
         no_failure + (begins ? ", nor that the initialisation ended." : ".") +
         (log.warnings.empty() ? "" : " Its warnings are harmless.") +
         (log.ended ? verification.failures.empty() ? " Nothing to do." : ""
                    : " It does not tell that the job went on: if the job hangs, or the log was cut, the "
                      "other ranks' logs may tell more (`nccl-env verify job/NAME`).");
}

std::string elsewhere_text(const NcclLog& log) {
  return "No line here speaks of a failure of the network; the last error is \"" + log.last_error->text +
         "\" (line " + std::to_string(log.last_error->line) + ").";
}

}  // namespace

std::string diagnosis_of(const LogVerification& verification, const NcclLog& log, std::string beside) {
  const std::vector<Finding>& findings = verification.findings;
  const bool too_old = !findings.empty() && findings.front().code == Code::NcclTooOld;
  // With these read otherwise a transfer fails for that alone.
  constexpr std::array<std::string_view, 4> kOfPackets{"NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_TC",
                                                       "NCCL_IB_SL"};
  std::string remedy;
  const std::vector<Difference> behind = compare_calls({&log});
  if (verification.cause && !behind.empty() &&
      verification.failures[*verification.cause].failure.code == Code::TimedOut) {
    beside += (beside.empty() ? "" : " ") + behind.front().finding.sentence + ".";
    remedy = behind.front().finding.remedy;
  }
  if (verification.cause && verification.failures[*verification.cause].failure.is_of_transfer()) {
    for (const Finding& finding : findings) {
      if (finding.code != Code::ValueMisread) continue;
      beside += (beside.empty() ? "" : " ") + finding.sentence + ".";
      if (std::ranges::find(kOfPackets, finding.subject.path) != kOfPackets.end())
        remedy += (remedy.empty() ? "" : " ") + finding.remedy;
    }
  }
  if (verification.cause && !too_old) return failure_sentence(verification, log, beside, remedy);
  if (const auto fell = std::ranges::find(findings, Code::FellBack, &Finding::code); fell != findings.end())
    return "FellBack: " + fell->sentence +
           " The job runs over TCP, many times slower than over the fabric. " + std::string(remedy_of(*fell));
  const auto first = std::ranges::find_if(findings, [](const Finding& each) {
    return each.severity != Severity::Info && (each.subject.kind == "Log" || each.code == Code::PartlyUsed);
  });
  if (first == findings.end())
    return (log.ends_elsewhere() ? elsewhere_text(log) + " " : "") + values_sentence(verification, log);
  return told_as(*first);
}

std::string told_as(const Finding& told) {
  return std::string(to_string(told.code)) + ", " + told.sentence + ". " +
         (told.remedy.empty() ? std::string(words_of(told.code).meaning) + " " : std::string()) +
         std::string(remedy_of(told));
}

}  // namespace nccl_env
