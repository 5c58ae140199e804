// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/value_verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_log/log_facts.h"

namespace nccl_env {
namespace {

// True if a list of ours was only spelt anew: in another order, or with or without '='. Ours is exact either
// way.
bool names_same_ports(const Value& given, std::string_view logged) {
  const auto names = [](std::string_view text) {
    const NcclNameList list = parse_nccl_name_list(text, kNewestNccl, kMostListed);
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

}  // namespace

std::string partly_used(const NcclLog& log, std::string_view list, bool exact,
                        const std::vector<std::string>& devices) {
  const NcclNameList names = parse_nccl_name_list(list, kNewestNccl, kMostListed);
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

std::vector<std::string> devices_of(const NcclLog& log, const std::set<std::uint32_t>& processes) {
  std::vector<std::string> devices;
  for (const auto& [device, fact] : log.devices) {
    if (processes.empty() || fact.processes.empty() ||
        std::ranges::any_of(fact.processes, [&](std::uint32_t each) { return processes.contains(each); }))
      devices.push_back(device);
  }
  return devices;
}

namespace {

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
    judged_.evidence = "no line of it; needs " +
                       (reader == "UCX" ? std::string("UCX_LOG_LEVEL=info") : "NVSHMEM_DEBUG=INFO");
    if (is("UCX_NET_DEVICES") || is("NVSHMEM_HCA_LIST")) judge_devices(log, reader);
    return std::move(judged_);
  }

  // The devices of another engine's list: those that it uses, and those that it lacks.
  void judge_devices(const EngineLog& log, const std::string& reader) {
    if (judged_.value->starts_with('^')) return;
    std::vector<std::string> entries;
    for (std::size_t begin = 0; begin < judged_.value->size() && entries.size() < kMostListed;) {
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
    return parse_nccl_name_list(*judged_.value, kNewestNccl, kMostListed);
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

VerifiedValue judge_value(const NcclLog& log, const Value& given) {
  return Judge(log, given).judge();
}

bool is_foreign(const VerifiedValue& value) {
  return value.state == State::Foreign;
}

bool is_bad(LogVerdict verdict) {
  return verdict != LogVerdict::Used && verdict != LogVerdict::NotSeen;
}

}  // namespace nccl_env
