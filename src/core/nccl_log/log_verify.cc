// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: values, failures, findings and the text of one log share their small helpers; printing
// alone would be half of a file of its own.
#include "nccl_env/core/nccl_log/log_verify.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/failure_words.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

constexpr int kMostEntries = 32;

std::string names_in(const NcclLog::Facts& facts) {
  return join(facts, ", ", [](const auto& fact) -> const std::string& { return fact.first; });
}

std::string by_processes(const LogFact& fact, const NcclLog& log) {
  if (fact.processes.empty() || log.processes == 1) return {};
  return " (" + std::to_string(fact.processes.size()) + " of " + std::to_string(log.processes) +
         " processes)";
}

bool says(const NcclLog& log, std::string_view name, bool (*matches)(std::string_view)) {
  const auto found = log.values.find(name);
  return found != log.values.end() &&
         std::ranges::any_of(found->second, [&](const auto& each) { return matches(each.first); });
}

bool is_not_zero(std::string_view value) {
  return nccl_integer(value).value_or(0) != 0;
}

bool is_no_ib(std::string_view value) {
  return value.size() < 2 || (value[0] != 'I' && value[0] != 'i') || (value[1] != 'B' && value[1] != 'b');
}

bool turned_off(const NcclLog& log) {
  return says(log, variable::kIbDisable, is_not_zero) || says(log, variable::kNet, is_no_ib);
}

// True if the log names a plugin's network, such as "AWS Libfabric". RCCL has two of its own whose lines and
// variables are NET/IB's (ROCm 7.14, net_ib_cast/init.cc).
bool uses_other_network(const NcclLog& log) {
  constexpr std::array<std::string_view, 4> kOwn{"Socket", "IB", "IB-CAST", "IB-ROCM"};
  return std::ranges::any_of(
      log.networks, [&](const auto& each) { return std::ranges::find(kOwn, each.first) == kOwn.end(); });
}

bool uses_sockets(const NcclLog& log) {
  return log.networks.contains("Socket") || log.transports.contains("NET/Socket") ||
         (!log.no_device.empty() && !uses_other_network(log));
}

std::uint64_t first_line(const NcclLog::Facts& facts) {
  std::uint64_t first = 0;
  for (const auto& [what, fact] : facts) first = first == 0 ? fact.line : std::min(first, fact.line);
  return first;
}

// True if a list of ours was only spelt anew: in another order, or with or without '='. Ours is exact either
// way.
bool names_same_ports(const Value& given, std::string_view logged) {
  const auto names = [](std::string_view text) {
    const NcclNameList list = parse_nccl_name_list(text, kNewestNccl, kMostEntries);
    std::vector<std::string> sorted = list.exclude ? std::vector<std::string>() : list.names();
    std::ranges::sort(sorted);
    return sorted;
  };
  const bool as_strict = logged.starts_with('=') || !given.value->starts_with('=');
  return given.source != Source::Policy && as_strict && !names(logged).empty() &&
         names(*given.value) == names(logged);
}

// Compares as NCCL prints: integers by value, texts as they are, a text that the log cuts up to the cut.
bool is_same(const Value& given, std::string_view logged) {
  const Variable* known = find_nccl_variable(given.name);
  if (known && known->kind == ValueKind::Integer) return nccl_integer(*given.value) == nccl_integer(logged);
  if (known && is_nccl_level(*known) && !nccl_level_name(*given.value).empty())
    return nccl_level_name(*given.value) == logged;
  if (logged.ends_with("...") && given.value->starts_with(logged.substr(0, logged.size() - 3))) return true;
  return *given.value == logged || (given.name == variable::kIbHca && names_same_ports(given, logged));
}

// Returns "2 of 4: not mlx5_8, mlx5_9" if no device of `devices` is an entry's. `exact`: of a list without
// "=", too. "" where all entries are found, or nothing can be told.
std::string partly_used(const NcclLog& log, std::string_view list, bool exact,
                        const std::vector<std::string>& devices) {
  const NcclNameList names = parse_nccl_name_list(list, kNewestNccl, kMostEntries);
  if (names.exclude || devices.empty() || log.device_line_cut || list.ends_with("...")) return {};
  std::vector<std::string> missing;
  for (const auto& entry : names.entries) {
    const auto is_it = [&](const std::string& device) {
      const std::string name = device.substr(0, device.find(':'));
      return names.exact || exact ? name == entry.name || name == entry.name + "_dma"
                                  : name.starts_with(entry.name);
    };
    if (std::ranges::none_of(devices, is_it)) missing.push_back(entry.name);
  }
  if (missing.empty()) return {};
  return std::to_string(names.entries.size() - missing.size()) + " of " +
         std::to_string(names.entries.size()) + ": not " + join(missing) + " (down, or not in the pod)";
}

// The devices of the processes; of all, where none is named.
std::vector<std::string> devices_of(const NcclLog& log, const std::set<std::uint32_t>& processes) {
  std::vector<std::string> devices;
  for (const auto& [device, fact] : log.devices) {
    if (processes.empty() || fact.processes.empty() ||
        std::ranges::any_of(fact.processes, [&](std::uint32_t each) { return processes.contains(each); }))
      devices.push_back(device);
  }
  return devices;
}

class Judge {
 public:
  Judge(const NcclLog& log, const Value& given) : log_(log), judged_{given, LogVerdict::NotSeen, {}, 0} {}

  VerifiedValue judge() && {
    if (engine()) return std::move(*this).judge_of_engine();
    if (!refused() && !read_otherwise() && !contradicted()) {
      seen();
      if (judged_.verdict == LogVerdict::NotSeen) judged_.evidence = why_not_seen();
    }
    return std::move(judged_);
  }

 private:
  // The log of the other engine whose variable this is; null: NCCL's, or nobody's.
  [[nodiscard]] const EngineLog* engine() const {
    if (judged_.name.starts_with("UCX_")) return &log_.ucx;
    return judged_.name.starts_with("NVSHMEM_") ? &log_.nvshmem : nullptr;
  }

  VerifiedValue judge_of_engine() && {
    const EngineLog& log = *engine();
    const std::string reader = &log == &log_.ucx ? "UCX" : "NVSHMEM";
    judged_.evidence = log.lines == 0      ? "the log has no line of " + reader + "'s"
                       : &log == &log_.ucx ? "no line of it; needs UCX_LOG_LEVEL=info"
                                           : "no line of it; needs NVSHMEM_DEBUG=INFO";
    if (const auto read = log.values.find(judged_.name); read != log.values.end()) {
      const bool same = read->second == *judged_.value;
      end(same ? LogVerdict::Used : LogVerdict::Overridden, first_line(log_.values.at(judged_.name)),
          reader + " reads " + read->second + (same ? "" : ": an entrypoint, launcher or shell set it anew"));
    }
    if (is("UCX_NET_DEVICES") || is("NVSHMEM_HCA_LIST")) judge_devices(log, reader);
    return std::move(judged_);
  }

  // The devices of another engine's list: those that it uses, and those that it lacks.
  void judge_devices(const EngineLog& log, const std::string& reader) {
    if (judged_.verdict == LogVerdict::Overridden || judged_.value->starts_with('^')) return;
    std::vector<std::string> entries;
    for (std::size_t begin = 0; begin < judged_.value->size() && entries.size() < kMostEntries;) {
      const std::size_t comma = std::min(judged_.value->find(',', begin), judged_.value->size());
      entries.push_back(judged_.value->substr(begin, comma - begin));
      begin = comma + 1;
    }
    const auto listed = [&](std::string_view device) {
      return std::ranges::any_of(entries, [&](const std::string& each) {
        return each == "all" || names_device(each, device) || names_device(device, each);
      });
    };
    std::vector<std::string> lacking;
    for (const auto& [name, line] : log.lacking) {
      if (listed(name)) lacking.push_back(name);
    }
    if (!lacking.empty()) {
      end(LogVerdict::PartlyUsed, log.lacking.at(lacking.front()),
          reader + " does not have " + join(lacking));
      return;
    }
    for (const auto& [device, line] : log.devices) {
      if (listed(device)) continue;
      end(LogVerdict::Contradicted, line, reader + " uses " + device + ", which the list does not name");
      return;
    }
    const auto name = [](const auto& each) -> const std::string& { return each.first; };
    if (!log.devices.empty())
      end(LogVerdict::Used, log.devices.begin()->second, reader + " uses " + join(log.devices, ", ", name));
  }

  bool end(LogVerdict verdict, std::uint64_t line, std::string evidence) {
    judged_.verdict = verdict;
    judged_.line = line;
    judged_.evidence = std::move(evidence);
    return true;
  }
  [[nodiscard]] bool is(std::string_view name) const { return judged_.name == name; }
  [[nodiscard]] NcclNameList list() const {
    return parse_nccl_name_list(*judged_.value, kNewestNccl, kMostEntries);
  }

  bool refused() {
    const auto found = log_.refused.find(judged_.name);
    if (found == log_.refused.end()) return false;
    return end(LogVerdict::Contradicted, first_line(found->second),
               "NCCL refuses " + names_in(found->second) + " and takes its default");
  }

  bool read_otherwise() {
    const auto found = log_.values.find(judged_.name);
    if (found == log_.values.end()) return false;
    for (const auto& [value, fact] : found->second) {
      if (is_same(judged_, value)) continue;
      return end(LogVerdict::Overridden, fact.line,
                 "NCCL reads " + value + by_processes(fact, log_) +
                     ": an entrypoint, launcher or shell set it anew");
    }
    return false;
  }

  // Looks for an action of NCCL that contradicts the value.
  bool contradicted() {
    if (is(variable::kIbHca)) return hca_contradicted();
    // A negative index leaves the choice to NCCL.
    if (is(variable::kIbGidIndex) && nccl_integer(*judged_.value).value_or(-1) >= 0) {
      for (const auto& [index, fact] : log_.gid_indexes) {
        if (nccl_integer(index) == nccl_integer(*judged_.value)) continue;
        return end(LogVerdict::Contradicted, fact.line,
                   "a queue pair has GID index " + index + by_processes(fact, log_));
      }
    }
    if (is(variable::kSocketIfname)) {
      for (const auto& [interface, fact] : log_.bootstrap) {
        if (list().selects(interface, -1)) continue;
        return end(LogVerdict::Contradicted, fact.line,
                   "NCCL bootstraps over " + interface + by_processes(fact, log_));
      }
    }
    return false;
  }

  bool hca_contradicted() {
    if (!log_.no_device.empty() && !turned_off(log_))
      return end(LogVerdict::Contradicted, first_line(log_.no_device),
                 "NCCL finds none of these devices: NET/IB : No device found");
    for (const auto& [device, fact] : log_.devices) {
      if (selected(device)) continue;
      return end(LogVerdict::Contradicted, fact.line,
                 "NCCL uses " + device + by_processes(fact, log_) + ", which the list does not name");
    }
    return false;
  }

  [[nodiscard]] bool selected(const std::string& device) const {
    const std::size_t colon = device.find(':');
    std::string name = device.substr(0, colon);
    const int port = static_cast<int>(nccl_integer(device.substr(colon + 1)).value_or(-1));
    // Data direct's twin of a device (2.27 and later).
    constexpr std::string_view kDirect = "_dma";
    const bool twin = name.ends_with(kDirect);
    return list().selects(name, port) ||
           (twin && list().selects(name.substr(0, name.size() - kDirect.size()), port));
  }

  void seen() {
    if (const auto found = log_.values.find(judged_.name); found != log_.values.end()) {
      const auto& [value, fact] = *found->second.begin();
      end(LogVerdict::Used, first_line(found->second), "NCCL reads " + value + by_processes(fact, log_));
      if (is(variable::kIbHca) && !log_.devices.empty()) uses_devices(judged_.evidence + "; ");
    } else if (is(variable::kIbHca) && !log_.devices.empty()) {
      uses_devices("NCCL ");
    } else if (is(variable::kIbGidIndex) && !log_.gid_indexes.empty()) {
      end(LogVerdict::Used, first_line(log_.gid_indexes),
          "queue pairs have GID index " + names_in(log_.gid_indexes));
    } else if (is(variable::kSocketIfname) && !log_.bootstrap.empty()) {
      end(LogVerdict::Used, first_line(log_.bootstrap), "NCCL bootstraps over " + names_in(log_.bootstrap));
    }
  }

  void uses_devices(const std::string& before) {
    const bool ours = judged_.is_from(Source::Node);  // then a plain list is exact, too
    const std::string part = partly_used(log_, *judged_.value, ours, devices_of(log_, {}));
    end(part.empty() ? LogVerdict::Used : LogVerdict::PartlyUsed,
        judged_.line > 0 ? judged_.line : first_line(log_.devices),
        before + "uses " + names_in(log_.devices) + (part.empty() ? "" : ", " + part));
  }

  [[nodiscard]] std::string why_not_seen() const {
    const Variable* known = find_nccl_variable(judged_.name);
    const bool of_fabric = judged_.name.starts_with("NCCL_IB_");
    if (!judged_.name.starts_with("NCCL_")) return "NCCL logs only variables of its own";
    if (of_fabric && uses_sockets(log_))
      return "NCCL uses sockets, and so reads nothing of InfiniBand or RoCE";
    if (known && known->kind == ValueKind::Integer)
      return std::string("logged when first used") +
             (of_fabric ? ": once two nodes connect, at the first collective" : "") +
             (of_fabric && !log_.transports.contains("NET/IB") ? ", which this log has not reached" : "");
    return "no line of it; needs NCCL_DEBUG=INFO, and ENV and NET in NCCL_DEBUG_SUBSYS";
  }

  const NcclLog& log_;
  VerifiedValue judged_;
};

}  // namespace

std::string_view to_string(LogVerdict verdict) {
  constexpr std::array<std::string_view, 6> kNames{"used",         "overridden", "not seen",
                                                   "contradicted", "failed",     "partly used"};
  return name_in(kNames, verdict);
}

namespace {

bool is_foreign(const VerifiedValue& value) {
  return value.state == State::Foreign;
}

bool is_bad(LogVerdict verdict) {
  return verdict != LogVerdict::Used && verdict != LogVerdict::NotSeen;
}

bool is_index(std::string_view value) {
  return !value.empty() && nccl_integer(value).value_or(-1) >= 0;
}

// From 2.31 on NCCL reads its rows again when a port's GID table changes, unless an index is forced upon it.
bool follows_gids(const NcclLog& log, const std::vector<VerifiedValue>& values) {
  const auto forces = [](const VerifiedValue& value) {
    return value.name == variable::kIbGidIndex && value.verdict != LogVerdict::Overridden &&
           is_index(*value.value);
  };
  return !log.versions.empty() &&
         std::ranges::all_of(log.versions,
                             [](const auto& each) {
                               const auto version = logged_version(each.first);
                               return version && *version >= NcclVersion{2, 31, 0};
                             }) &&
         !says(log, variable::kIbGidIndex, is_index) && std::ranges::none_of(values, forces);
}

// True if NCCL ends, hangs or is slow because of the failure. `follows`: follows_gids().
bool counts(const NcclFailure& failure, const NcclLog& log, bool follows) {
  // UCX names variables that it does not know, such as those of another of its releases.
  if (failure.retried || failure.code == Code::UnknownVariable) return false;
  if (failure.code == Code::GidTableChanged) return !follows;
  if (failure.code == Code::NoVerbsLibrary)
    return !turned_off(log) && !uses_other_network(log) && !log.is_of_one_node();
  // Ranks that met over an interface reach each other by it.
  if (failure.code == Code::UnreachableInterface)
    return !failure.peer.empty() || (log.initialised == 0 && !log.is_of_one_node());
  if (failure.nearness() < Nearness::Consequence) return true;
  // A failure that names the cause says more.
  return std::ranges::none_of(log.failures, [&](const NcclFailure& other) {
    return other.nearness() < Nearness::Slows && counts(other, log, follows);
  });
}

// True if this value may have caused the failure: its index is the one that failed, or its list has the
// device.
bool may_cause(const NcclFailure& failure, std::string_view value) {
  if (value.empty()) return false;
  if (blamed_variable(failure.code) == variable::kIbGidIndex)
    return is_index(value) && (!failure.gid_index || nccl_integer(value) == *failure.gid_index);
  if (failure.code == Code::DeviceNotOpened && !failure.device.empty())
    return parse_nccl_name_list(value, kNewestNccl, kMostEntries).selects(failure.device, -1);
  return true;
}

VerifiedFailure verify_failure(const NcclFailure& failure, const NcclLog& log, bool follows,
                               std::vector<VerifiedValue>& values) {
  VerifiedFailure verified{failure, counts(failure, log, follows), {}, {}, false};
  const std::string_view blamed = blamed_variable(failure.code);
  if (blamed.empty()) return verified;
  for (VerifiedValue& value : values) {
    if (value.name != blamed) continue;
    if (value.verdict == LogVerdict::Overridden || !may_cause(failure, *value.value)) continue;
    verified.variable = value.name;
    verified.value = *value.value;
    verified.of_pod = true;
    // A connection fails for many reasons.
    if (!verified.counts || is_bad(value.verdict) || failure.code == Code::NoConnection) continue;
    value.verdict = LogVerdict::Failed;
    value.line = failure.line;
    value.evidence = describe(failure) + ": " + words_of(failure, log, verified.variable).meaning;
  }
  if (verified.of_pod) return verified;
  const auto read = log.values.find(blamed);
  if (read == log.values.end()) return verified;
  for (const auto& [value, fact] : read->second) {
    if (!may_cause(failure, value)) continue;
    verified.variable = blamed;
    verified.value = value;
    break;
  }
  return verified;
}

// "NCCL_IB_GID_INDEX="3" is given to the pod"; "" where no value is known to be the cause.
std::string cause_of(const VerifiedFailure& failure) {
  if (failure.variable.empty()) return {};
  return failure.variable + "=\"" + failure.value + "\" " +
         (failure.of_pod ? "is what the pod was given."
                         : "is what NCCL reads, and nothing shows that it is nccl-env's.");
}

std::string line_text(std::uint64_t line) {
  return line > 0 ? "line " + std::to_string(line) + ": " : std::string();
}

// "(2 times, 15:16:23 to 15:23:34)".
std::string how_often(const NcclFailure& failure) {
  const std::string until = failure.last_time.empty() || failure.last_time == failure.first_time
                                ? std::string()
                                : " to " + failure.last_time;
  std::string text = failure.times > 1 ? std::to_string(failure.times) + " times" : std::string();
  if (!failure.first_time.empty()) text += (text.empty() ? "at " : ", ") + failure.first_time + until;
  return text.empty() ? "" : " (" + text + ")";
}

bool meet(const std::set<std::uint32_t>& left, const std::set<std::uint32_t>& right) {
  return std::ranges::any_of(left, [&](std::uint32_t process) { return right.contains(process); });
}

// How a transfer's error belongs to a port's event that came before it.
enum class Bond { None, Port, Process, Peer };
Bond bond_of(const NcclFailure& event, const NcclFailure& error, const NcclLog& log) {
  if (!event.is_port_event() || !error.is_of_transfer() || event.line > error.line) return Bond::None;
  const bool known = !event.device.empty() && !error.device.empty();
  if ((!known || event.device == error.device) && meet(event.processes, error.processes))
    return known ? Bond::Port : Bond::Process;
  return meet(event.processes, log.processes_of(error.peer)) ? Bond::Peer : Bond::None;
}

bool is_of_another_port(const NcclFailure& event, const NcclFailure& error) {
  return event.is_port_event() && error.is_of_transfer() && !event.device.empty() && !error.device.empty() &&
         event.device != error.device;
}

// "It led to NoAnswer in line 80, on the same device.": the errors that belong to the event.
std::string bonds_text(const NcclFailure& event, const LogVerification& verification, const NcclLog& log) {
  std::string text;
  for (const VerifiedFailure& other : verification.failures) {
    const NcclFailure& error = other.failure;
    const std::string of = std::string(to_string(error.code)) + " in line " + std::to_string(error.line);
    switch (bond_of(event, error, log)) {
      case Bond::Port:
        text += " It led to " + of + ", on the same device.";
        break;
      case Bond::Process:
        text += " It led to " + of + ", in the same process.";
        break;
      case Bond::Peer:
        text += " It led to " + of + ", whose peer " + error.peer + " had it.";
        break;
      case Bond::None:
        if (is_of_another_port(event, error))
          text += " " + of + " is of another device, " + error.device + ".";
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
std::string failure_sentence(const LogVerification& verification, const NcclLog& log) {
  const VerifiedFailure& cause = verification.failures[*verification.cause];
  const NcclFailure& failure = cause.failure;
  const std::string context = context_of(failure, log);
  const FailureWords words = words_of(failure, log, cause.variable);
  std::string text = std::string(to_string(failure.code)) + ": " + words.meaning +
                     (context.empty() ? "" : " ") + context +
                     (failure.line > 0 ? " Line " + std::to_string(failure.line) : "") +
                     host_text(failure, log) + ": " + describe(failure) + how_often(failure);
  if (!text.ends_with('.')) text += ".";
  if (const std::string value = cause_of(cause); !value.empty()) text += " " + value;
  text += " " + words.remedy;
  text += bonds_text(failure, verification, log);
  std::vector<std::string> others;
  for (const VerifiedFailure& other : verification.failures) {
    if (other.failure.code == failure.code || other.failure.retried) continue;
    if (bond_of(failure, other.failure, log) != Bond::None || is_of_another_port(failure, other.failure))
      continue;
    if (other.counts || other.failure.nearness() >= Nearness::Consequence)
      others.push_back(std::string(to_string(other.failure.code)) + " in line " +
                       std::to_string(other.failure.line));
  }
  return others.empty() ? text : text + " It may have led to " + join_some(others, 3) + ".";
}

// The failure that is nearest to the cause, of these the first; of several ports' events the first that a
// transfer's error belongs to.
std::optional<std::size_t> find_cause(const std::vector<VerifiedFailure>& failures, const NcclLog& log) {
  std::optional<std::size_t> cause;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!failures[i].counts) continue;
    if (!cause || failures[i].failure.nearness() < failures[*cause].failure.nearness()) cause = i;
  }
  if (!cause || !failures[*cause].failure.is_port_event()) return cause;
  for (std::size_t i = *cause; i < failures.size(); ++i) {
    const auto belongs = [&](const VerifiedFailure& error) {
      return bond_of(failures[i].failure, error.failure, log) != Bond::None;
    };
    if (failures[i].counts && std::ranges::any_of(failures, belongs)) return i;
  }
  return cause;
}

// "UCX uses mlx5_0:1": a log of other engines alone.
std::string engines_sentence(const NcclLog& log) {
  std::vector<std::string> uses;
  const auto add = [&](std::string_view reader, const EngineLog& engine) {
    if (engine.devices.empty()) return;
    uses.push_back(
        std::string(reader) + " uses " +
        join(engine.devices, ", ", [](const auto& each) -> const std::string& { return each.first; }));
  };
  add("UCX", log.ucx);
  add("NVSHMEM", log.nvshmem);
  const bool told = !log.nvshmem.versions.empty() || !log.ucx.versions.empty();
  if (uses.empty() && !told)
    return "The log does not tell which devices are used. Run the job with UCX_LOG_LEVEL=info or "
           "NVSHMEM_DEBUG=INFO.";
  return (uses.empty() ? "The log does not tell which devices are used" : join(uses, "; ")) +
         ". The log tells no failure.";
}

// "IB", else what channels or devices tell.
std::string networks_text(const NcclLog& log) {
  for (const NcclLog::Facts* facts : {&log.networks, &log.transports, &log.devices}) {
    if (!facts->empty()) return names_in(*facts);
  }
  return names_in(log.local_transports);
}

std::string values_sentence(const LogVerification& verification, const NcclLog& log) {
  std::size_t used = 0;
  std::vector<std::string> bad, foreign;
  for (const VerifiedValue& value : verification.values) {
    if (is_foreign(value)) foreign.push_back(value.name);
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
  if (log.nccl_lines == 0) return engines_sentence(log);
  const bool silent =
      log.networks.empty() && log.transports.empty() && log.devices.empty() && log.local_transports.empty();
  if (silent || all > 0)
    return std::string(all > 0 ? "The log proves nothing of the values"
                               : "The log does not tell which network NCCL uses") +
           ". Run the job with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,ENV,BOOTSTRAP,NET.";
  return "NCCL runs over " + networks_text(log) + ", and its log tells no failure." +
         (log.warnings.empty() ? "" : " Its warnings are harmless.") +
         (log.ended || !log.completed.empty() || log.table_rows > 0
              ? " Nothing to do."
              : " It does not tell that the job went on: if the job hangs, or the log was cut, the other "
                "ranks' logs may tell more (`nccl-env verify job/NAME`).");
}

std::string sentence_of(const LogVerification& verification, const NcclLog& log) {
  if (verification.cause) return failure_sentence(verification, log);
  if (verification.fell_back)
    return "FellBack: " + verification.notes.front() +
           " The job runs over TCP, many times slower than over the fabric. " +
           std::string(words_of(Code::FellBack).remedy);
  const std::vector<Finding>& findings = verification.findings;
  const auto first = std::ranges::find_if(findings, [](const Finding& each) {
    return each.severity != Severity::Info && (each.subject.kind == "Log" || each.code == Code::PartlyUsed);
  });
  if (first == findings.end()) return values_sentence(verification, log);
  return std::string(to_string(first->code)) + ", " + first->sentence + ". " +
         std::string(words_of(first->code).meaning) + " " + std::string(remedy_of(*first));
}

// True if the log has channels, all by P2P or SHM, and tells of no second node.
bool is_inside_node(const NcclLog& log) {
  return !log.local_transports.empty() && log.transports.empty() && log.nodes < 2 && log.hosts < 2;
}

void note_sockets(const NcclLog& log, LogVerification& into) {
  if (turned_off(log)) {
    into.notes.emplace_back(
        "NCCL uses sockets: the container turns InfiniBand and RoCE off, or names another network.");
  } else if (log.is_of_one_node()) {
    into.notes.emplace_back(
        "NCCL has sockets as its network, and all ranks are on one node: nothing goes over it.");
  } else if (is_inside_node(log)) {
    into.notes.emplace_back(
        "NCCL has sockets as its network, and each channel of the log is inside a node: nothing goes over "
        "it.");
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
  if (by_number.size() < 2 || log.device_line_cut) return;
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
  const bool wanted = (read != log.ucx.values.end() && names_hca(read->second)) ||
                      std::ranges::any_of(values, [&](const VerifiedValue& value) {
                        return value.name == kList && names_hca(*value.value);
                      });
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

// nccl-tests that printed the head of its table, and no row below it.
void add_table(const NcclLog& log, std::vector<Finding>& into) {
  if (log.table_line == 0 || log.table_rows > 0 || log.initialised == 0 || log.ended) return;
  const bool p2p = log.local_transports.contains("P2P") && log.transports.empty();
  into.push_back(of_log(Code::TimedOut, Severity::Warning,
                        line_text(log.table_line) +
                            "nccl-tests printed its table's head and no row: its first collective has not "
                            "ended, or the log was cut" +
                            (p2p ? ". It goes over P2P: try NCCL_P2P_DISABLE=1 once; if it runs then, PCIe "
                                   "ACS or the IOMMU breaks P2P between the GPUs"
                                 : "")));
}

void add_initialising(const NcclLog& log, std::vector<Finding>& into) {
  if (log.initialising.empty()) return;
  std::string bridges = bridges_text(log);
  if (!bridges.empty()) bridges.pop_back();  // the sentence's end comes with the finding
  std::set<std::uint32_t> processes;
  for (const auto& [of, fact] : log.initialising)
    processes.insert(fact.processes.begin(), fact.processes.end());
  into.push_back(of_log(Code::InitNotEnded, Severity::Warning,
                        line_text(first_line(log.initialising)) + "Init START without Init COMPLETE" +
                            by_processes({0, processes}, log) + (bridges.empty() ? "" : ". ") + bridges));
}

// The cause first. A value that failed stands with its failure. Failures that do not count are only to know.
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
  if (verification.fell_back)
    findings.push_back(of_log(Code::FellBack, Severity::Error, verification.notes.front()));
  add_ucx_over_tcp(log, verification.values, findings);
  add_list(log, verification.values, findings);
  add_of_image(log, spec, verification, findings);
  add_unequal(log, findings);
  add_versions(log, findings);
  if (!verification.cause) {
    add_initialising(log, findings);
    add_table(log, findings);
  }
  add_values(verification.values, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

}  // namespace

LogVerification verify_log(const NcclLog& log, const std::vector<Value>& spec) {
  LogVerification verification;
  for (const Value& value : spec) {
    if (value.state != State::Users) verification.values.push_back(Judge(log, value).judge());
  }
  const bool follows = follows_gids(log, verification.values);
  for (const NcclFailure& failure : log.failures)
    verification.failures.push_back(verify_failure(seen_in(log, failure), log, follows, verification.values));
  if (uses_sockets(log)) note_sockets(log, verification);
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
  verification.sentence = sentence_of(verification, log);
  return verification;
}

namespace {

using OrderedJson = nlohmann::ordered_json;

// Limits the text that is printed from a long log; the log file has all lines.
constexpr std::size_t kMostWarnings = 5;
constexpr std::size_t kMostFailures = 8;

OrderedJson names_of(const NcclLog::Facts& facts) {
  OrderedJson names = OrderedJson::array();
  for (const auto& [what, fact] : facts) names.push_back(what);
  return names;
}

// "; 9 are UCX's, 4 NVSHMEM's"; "" where there are none.
std::string engine_lines(const NcclLog& log) {
  std::string text;
  for (const auto& [reader, engine] :
       {std::pair<std::string_view, const EngineLog*>{"UCX", &log.ucx}, {"NVSHMEM", &log.nvshmem}}) {
    if (engine->lines > 0)
      text += (text.empty() ? "; " : ", ") + count_of(engine->lines, "line") + " of " + std::string(reader) +
              "'s";
  }
  return text;
}

std::string facts_text(const NcclLog& log) {
  TextColumns columns(2);
  const auto add = [&](const std::string& name, const NcclLog::Facts& facts) {
    if (!facts.empty()) columns.add({name, names_in(facts)});
  };
  add("version", log.versions);
  add("network", log.networks);
  add("devices", log.devices);
  add("GID index", log.gid_indexes);
  add("transport", log.transports);
  add("bootstrap", log.bootstrap);
  const auto add_engine = [&](std::string_view reader, const EngineLog& engine) {
    const auto add_lines = [&](std::string_view what, const EngineLog::Lines& lines) {
      if (lines.empty()) return;
      columns.add({std::string(reader) + std::string(what),
                   join_some(lines, kMostWarnings, [](const auto& each) { return each.first; })});
    };
    add_lines(" version", engine.versions);
    add_lines(" devices", engine.devices);
    add_lines(" over TCP", engine.interfaces);
    add_lines(" lacks", engine.lacking);
    add_lines(" warns", engine.unjudged);
  };
  add_engine("UCX", log.ucx);
  add_engine("NVSHMEM", log.nvshmem);
  std::map<std::uint64_t, std::string_view> warnings;
  for (const auto& [warning, fact] : log.warnings) warnings.emplace(fact.line, warning);
  std::size_t count = 0;
  for (const auto& [line, warning] : warnings) {
    if (++count > kMostWarnings) break;
    columns.add({"harmless", line_text(line) + std::string(warning)});
  }
  return columns.render();
}

// Lists failures in the order of their lines; the cause has its words above.
std::string failures_text(const LogVerification& verification, const NcclLog& log) {
  TextColumns columns(2);
  std::size_t count = 0;
  for (const VerifiedFailure& verified : verification.failures) {
    if (++count > kMostFailures) {
      columns.add(
          {"", "and " + std::to_string(verification.failures.size() - kMostFailures) + " more: -o json"});
      break;
    }
    const NcclFailure& failure = verified.failure;
    const bool cause = verification.cause == count - 1;
    const std::string quoted = "\"" + failure.text + "\"", described = describe(failure);
    columns.add({std::string(to_string(failure.code)),
                 line_text(failure.line) + (cause || described == failure.text ? quoted : described) +
                     (cause ? "" : how_often(failure)) + (failure.retried ? "; NCCL tries again" : "")});
    if (cause) continue;
    const FailureWords words = words_of(failure, log, verified.variable);
    columns.add({"", words.meaning});
    if (const std::string value = cause_of(verified); !value.empty()) columns.add({"", value});
    if (verified.counts) columns.add({"", words.remedy});
  }
  return columns.render();
}

std::string values_text(const LogVerification& verification) {
  std::set<std::string> containers;
  for (const VerifiedValue& value : verification.values) containers.insert(value.container);
  TextColumns columns(2);
  for (const VerifiedValue& value : verification.values) {
    const std::string name = containers.size() > 1 ? value.container + "/" + value.name : value.name;
    const std::string where = value.line > 0 ? "line " + std::to_string(value.line) + ": " : "";
    columns.add({std::string(to_string(value.verdict)), name + "=\"" + *value.value + "\""});
    columns.add({"", where + value.evidence});
  }
  return columns.render();
}

}  // namespace

std::string render_text(const LogVerification& verification, const NcclLog& log) {
  std::string text = paragraph(verification.sentence);
  if (!verification.failures.empty()) text += "\n" + failures_text(verification, log);
  if (!verification.values.empty()) text += "\n" + values_text(verification);
  for (const std::string& note : verification.notes) {
    if (verification.sentence.find(note) == std::string::npos) text += "\n" + paragraph(note);
  }
  return text + "\n" + std::to_string(log.nccl_lines) + " of " + std::to_string(log.lines) +
         (log.lines == 1 ? " line is" : " lines are") + " NCCL's, of " + std::to_string(log.processes) +
         (log.processes == 1 ? " process" : " processes") + engine_lines(log) + "\n" + facts_text(log);
}

OrderedJson to_json(const LogVerification& verification, const NcclLog& log) {
  OrderedJson json = OrderedJson::object();
  json["good"] = is_good(verification.findings);
  json["findings"] = to_json(verification.findings);
  json["fellBackToSockets"] = verification.fell_back;
  json["values"] = OrderedJson::array();
  for (const VerifiedValue& value : verification.values) {
    json["values"].push_back({{"container", value.container},
                              {"name", value.name},
                              {"value", *value.value},
                              {"source", source_word(value)},
                              {"verdict", to_string(value.verdict)},
                              {"evidence", value.evidence},
                              {"line", value.line > 0 ? OrderedJson(value.line) : OrderedJson()}});
  }
  json["failures"] = OrderedJson::array();
  for (const VerifiedFailure& verified : verification.failures) {
    OrderedJson failure = to_json(verified.failure);
    failure["counts"] = verified.counts;
    failure["cause"] =
        verified.variable.empty()
            ? OrderedJson()
            : OrderedJson{{"name", verified.variable}, {"value", verified.value}, {"ofPod", verified.of_pod}};
    json["failures"].push_back(std::move(failure));
  }
  json["notes"] = verification.notes;
  json["sentence"] = verification.sentence;
  json["log"] = {{"lines", log.lines},
                 {"ncclLines", log.nccl_lines},
                 {"processes", log.processes},
                 {"versions", names_of(log.versions)},
                 {"nodes", log.nodes > 0 ? OrderedJson(log.nodes) : OrderedJson()},
                 {"ranks", log.ranks > 0 ? OrderedJson(log.ranks) : OrderedJson()},
                 {"networks", names_of(log.networks)},
                 {"devices", names_of(log.devices)},
                 {"links", names_of(log.links)},
                 {"gidIndexes", names_of(log.gid_indexes)},
                 {"transports", names_of(log.transports)},
                 {"bootstrap", names_of(log.bootstrap)},
                 {"ucx", to_json(log.ucx)},
                 {"nvshmem", to_json(log.nvshmem)}};
  return json;
}

}  // namespace nccl_env
