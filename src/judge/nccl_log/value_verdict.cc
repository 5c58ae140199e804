// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/value_verdict.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/nccl_log/log_text.h"
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

bool selects_device(const NcclNameList& list, std::string_view device) {
  const std::string_view name = device.substr(0, device.find(':'));
  const int port = int_behind(device, ":").value_or(-1);
  // Data direct's twin of a device (2.27 and later).
  constexpr std::string_view kDirect = "_dma";
  return list.selects(name, port) ||
         (name.ends_with(kDirect) && list.selects(name.substr(0, name.size() - kDirect.size()), port));
}

// An action of NCCL by a value, and the words for it.
struct Deed {
  std::string_view variable;
  NcclLog::Facts NcclLog::*shown;
  std::string_view otherwise,
      used;                      // before what is shown: where the value does not fit it, and where it does
  std::string_view behind = {};  // what is shown and does not fit
};
constexpr Deed kDeeds[] = {
    {variable::kIbHca, &NcclLog::devices, "NCCL uses ", "NCCL uses ", ", which the list does not name"},
    {variable::kIbGidIndex, &NcclLog::gid_indexes, "a queue pair has GID index ",
     "queue pairs have GID index "},
    {variable::kSocketIfname, &NcclLog::bootstrap, "NCCL bootstraps over ", "NCCL bootstraps over "},
};

// True if the value allows what the log shows. A negative GID index leaves the choice to NCCL.
bool allows(const Value& given, std::string_view shown) {
  if (given.name == variable::kIbGidIndex)
    return !is_index(*given.value) || nccl_integer(shown) == nccl_integer(*given.value);
  const NcclNameList list = parse_nccl_name_list(*given.value, kNewestNccl, kMostListed);
  return given.name == variable::kIbHca ? selects_device(list, shown) : list.selects(shown, -1);
}

class ValueJudge {
 public:
  ValueJudge(const NcclLog& log, const Value& given) : log_(log), judged_{given, LogVerdict::NotSeen, {}, 0} {
    const auto deed = std::ranges::find(kDeeds, given.name, &Deed::variable);
    if (deed != std::end(kDeeds)) deed_ = &*deed;
  }

  VerifiedValue judge() && {
    for (const EngineLog* engine : log_.engines()) {
      if (judged_.name.starts_with(std::string(engine->name) + "_")) {
        judge_of_engine(*engine);
        return std::move(judged_);
      }
    }
    if (!refused() && !read_otherwise() && !contradicted() && !seen()) judged_.evidence = why_not_seen();
    return std::move(judged_);
  }

 private:
  // The devices of another engine's list: those that it uses, and those that it lacks.
  bool judge_of_engine(const EngineLog& log) {
    const std::string reader(log.name);
    judged_.evidence =
        "no line of it; needs " + reader + (&log == &log_.ucx ? "_LOG_LEVEL=info" : "_DEBUG=INFO");
    std::string_view left = *judged_.value;
    if (!(is("UCX_NET_DEVICES") || is("NVSHMEM_HCA_LIST")) || left.starts_with('^')) return false;
    std::vector<std::string_view> entries;
    while (!left.empty() && entries.size() < kMostListed) entries.push_back(take_word(left, ","));
    const auto listed = [&](std::string_view device) {
      return std::ranges::any_of(entries, [&](std::string_view each) {
        return each == "all" || names_device(each, device) || names_device(device, each);
      });
    };
    std::vector<std::string> lacking;
    std::ranges::copy_if(keys_of(log.lacking), std::back_inserter(lacking), listed);
    if (!lacking.empty())
      return end(LogVerdict::PartlyUsed, log.lacking.at(lacking.front()),
                 reader + " does not have " + join(lacking));
    for (const auto& [device, line] : log.devices) {
      if (!listed(device))
        return end(LogVerdict::Contradicted, line,
                   reader + " uses " + device + ", which the list does not name");
    }
    return !log.devices.empty() &&
           end(LogVerdict::Used, log.devices.begin()->second, reader + " uses " + names_in(log.devices));
  }

  bool end(LogVerdict verdict, std::uint64_t line, std::string evidence) {
    judged_.verdict = verdict;
    judged_.line = line;
    judged_.evidence = std::move(evidence);
    return true;
  }
  [[nodiscard]] bool is(std::string_view name) const { return judged_.name == name; }

  bool refused() {
    const auto found = log_.refused.find(judged_.name);
    return found != log_.refused.end() &&
           end(LogVerdict::Contradicted, first_line(found->second),
               "NCCL refuses " + names_in(found->second) + " and takes its default");
  }

  bool read_otherwise() {
    for (const auto& [value, fact] : log_.read(judged_.name)) {
      if (!is_same(judged_, value))
        return end(LogVerdict::Overridden, fact.line,
                   "NCCL reads " + value + by_processes(fact, log_) +
                       ": an entrypoint, launcher or shell set it anew");
    }
    return false;
  }

  // Looks for an action of NCCL that contradicts the value.
  bool contradicted() {
    if (!deed_) return false;
    if (is(variable::kIbHca) && !log_.no_device.empty() && !turned_off(log_))
      return end(LogVerdict::Contradicted, first_line(log_.no_device),
                 "NCCL finds none of these devices: NET/IB : No device found");
    for (const auto& [shown, fact] : log_.*deed_->shown) {
      if (!allows(judged_, shown))
        return end(
            LogVerdict::Contradicted, fact.line,
            std::string(deed_->otherwise) + shown + by_processes(fact, log_) + std::string(deed_->behind));
    }
    return false;
  }

  bool seen() {
    const NcclLog::Facts& read = log_.read(judged_.name);
    const bool shown = deed_ && !(log_.*deed_->shown).empty();
    if (read.empty() && !shown) return false;
    const std::string reads =
        read.empty() ? "" : "NCCL reads " + read.begin()->first + by_processes(read.begin()->second, log_);
    const std::uint64_t line = first_line(read.empty() ? log_.*deed_->shown : read);
    if (!is(variable::kIbHca) || !shown)
      return end(LogVerdict::Used, line,
                 read.empty() ? std::string(deed_->used) + names_in(log_.*deed_->shown) : reads);
    const bool ours = judged_.is_from(Source::Node);  // then a plain list is exact, too
    const std::string part = partly_used(log_, *judged_.value, ours, devices_of(log_, {}));
    return end(part.empty() ? LogVerdict::Used : LogVerdict::PartlyUsed, line,
               (read.empty() ? "NCCL" : reads + ";") + " uses " + names_in(log_.devices) +
                   (part.empty() ? "" : ", " + part));
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
  const Deed* deed_ = nullptr;  // null: no line tells what NCCL does by it
};

}  // namespace

std::string partly_used(const NcclLog& log, std::string_view list, bool exact,
                        const std::vector<std::string>& devices) {
  const NcclNameList names = parse_nccl_name_list(list, kNewestNccl, kMostListed);
  if (names.exclude || devices.empty() || log.device_line_cut || list.ends_with("...")) return {};
  std::vector<std::string> missing;
  for (const NcclNameList::Entry& entry : names.entries) {
    NcclNameList one;
    one.exact = names.exact || exact;
    one.entries = {{.name = entry.name}};
    const auto is_it = [&](const std::string& device) { return selects_device(one, device); };
    if (std::ranges::none_of(devices, is_it)) missing.push_back(entry.name);
  }
  if (missing.empty()) return {};
  return std::to_string(names.entries.size() - missing.size()) + " of " +
         std::to_string(names.entries.size()) + ": not " + join(missing) + " (down, or not in the pod)";
}

std::vector<std::string> devices_of(const NcclLog& log, const std::set<std::uint32_t>& processes) {
  std::vector<std::string> devices;
  for (const auto& [device, fact] : log.devices) {
    if (processes.empty() || fact.processes.empty() || meet(fact.processes, processes))
      devices.push_back(device);
  }
  return devices;
}

std::string_view to_string(LogVerdict verdict) {
  constexpr std::array<std::string_view, 6> kNames{"used",         "overridden", "not seen",
                                                   "contradicted", "failed",     "partly used"};
  return name_in(kNames, verdict);
}

VerifiedValue judge_value(const NcclLog& log, const Value& given) {
  return ValueJudge(log, given).judge();
}

bool is_bad(LogVerdict verdict) {
  return verdict != LogVerdict::Used && verdict != LogVerdict::NotSeen;
}

}  // namespace nccl_env
