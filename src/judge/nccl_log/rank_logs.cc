// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: what sets ranks apart, and which of them is told first, are two halves of one answer.
#include "nccl_env/judge/nccl_log/rank_logs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/judge/cohort/cohort.h"
#include "nccl_env/judge/nccl_log/log_print.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_log/log_diagnosis.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/log_line.h"
#include "nccl_log/verified_failure.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostNames = 4;
constexpr std::size_t kMostRows = 64;  // of the table; the JSON has all

using Logs = std::vector<const NcclLog*>;

constexpr std::string_view kSockets = "Socket";

// True if a rank came through its initialisation, for which all had to take part.
bool have_met(const Logs& logs) {
  return std::ranges::any_of(logs, [](const NcclLog* log) { return log->initialised > 0; });
}

// "2.21.5": PyTorch tells it without the build, which NCCL's own line has.
std::string version_numbers(const NcclLog& log) {
  std::set<std::string_view> numbers;
  for (const auto& [version, fact] : log.versions)
    numbers.insert(std::string_view(version).substr(0, version.find_first_of("+-")));
  return join(numbers, ",");
}

using Text = std::optional<std::string>;
using Names = std::set<std::string>;

// The most frequent; of equally frequent ones a fabric, and the longest: a rank lacks rather than has too
// much.
Text usual_of(const Shares<std::string>& shares) {
  return shares.most([](const std::string& value) {
    return std::pair(value != kSockets && !is_inside_host(value), value.size());
  });
}

std::string instead(const Odd<std::string>& odd) {
  return odd.value + " instead of " + *odd.usual;
}

std::string in_brackets(const std::string& addresses) {
  return addresses.size() < 2 ? "" : " (" + addresses + ")";
}

// The part of an address that one network has: of 192.168.x.y mostly three numbers, else two.
std::string_view network_of(std::string_view address) {
  const char between = address.find(':') == address.npos ? '.' : ':';
  const int parts = between == ':' ? 4 : address.starts_with("192.168.") ? 3 : 2;
  std::size_t end = 0;
  for (int i = 0; i < parts && end != address.npos; ++i) end = address.find(between, end + 1);
  return address.substr(0, end);
}

// Finds the differences among the ranks, in the order of their subjects: network, links, HCAs, version, GID
// index, values, bootstrap interfaces, addresses. Sentences follow on the ranks' names.
class Comparison {
  [[nodiscard]] const NcclLog& log(std::size_t rank) const { return *logs_[rank]; }
  [[nodiscard]] auto facts(NcclLog::Facts NcclLog::*of) const {
    return [this, of](std::size_t rank) { return (log(rank).*of).empty() ? Text() : listed(log(rank).*of); };
  }

 public:
  explicit Comparison(const Logs& logs)
      : logs_(logs),
        met_(have_met(logs)),
        speaking_(members_where(logs.size(), [&](std::size_t rank) { return log(rank).speaks(); })) {}

  std::vector<Difference> compare() && {
    compare(Code::MixedNetworks, Severity::Error, facts(&NcclLog::networks),
            [this](const auto& odd) { return "network " + instead(odd) + why_sockets(odd); });
    // Ranks that use one kind of link alone; one that uses both tells so itself. On one node nothing goes
    // over them.
    const bool one_node = std::ranges::any_of(logs_, [](const NcclLog* each) { return each->nodes == 1; });
    const auto link_of = [&](std::size_t rank) {
      return one_node || log(rank).links.size() != 1 ? Text() : listed(log(rank).links);
    };
    compare(Code::MixedLinks, Severity::Error, link_of, [this](const auto& odd) {
      const std::size_t line = first_line(log(odd.members.front()).links);
      return "HCAs of " + instead(odd) +
             (odd.members.size() > 1 ? "" : " (line " + std::to_string(line) + ")");
    });
    compare_devices();
    const auto version_of = [this](std::size_t rank) {
      return log(rank).versions.empty() ? Text() : version_numbers(log(rank));
    };
    compare(Code::NcclVersionsDiffer, Severity::Warning, version_of,
            [](const auto& odd) { return "NCCL " + instead(odd); });
    // Only shown: each node has its own.
    compare(Code::RankRowDiffers, Severity::Info, facts(&NcclLog::gid_indexes),
            [](const auto& odd) { return "GID index " + instead(odd); });
    compare_values();
    compare_bootstraps();
    return std::move(into_);
  }

 private:
  template <class Of, class Words>
  void compare(Code code, Severity severity, const Of& of, const Words& words, std::string_view remedy = {}) {
    std::ranges::move(differences<std::string>(speaking_, {code, severity, "", of, words, remedy, usual_of}),
                      std::back_inserter(into_));
  }

  // ": NET/IB found no device there, and reads NCCL_IB_HCA="mlx5_9" (line 4)"; of several ranks what all
  // have.
  [[nodiscard]] std::string why_sockets(const Odd<std::string>& odd) const {
    const NcclLog& of = log(odd.members.front());
    const bool one = odd.members.size() == 1;
    const std::string_view name = one && odd.value == kSockets ? variable_of_sockets(of) : std::string_view();
    const bool found =
        std::ranges::any_of(odd.members, [this](std::size_t rank) { return log(rank).no_device.empty(); });
    const std::string none = found ? "" : ": NET/IB found no device there";
    return none + (name.empty() ? "" : (none.empty() ? ": " : ", and reads ") + value_read(of, name));
  }

  void compare_devices() {
    if (std::ranges::any_of(logs_, &NcclLog::device_line_cut)) return;
    const auto devices_of = [this](std::size_t rank) {
      const auto names = keys_of(log(rank).devices);
      return names.empty() ? std::nullopt : std::optional(Names(names.begin(), names.end()));
    };
    const Shares<Names> shares = shares_of(speaking_, devices_of);
    for (Odd<Names>& odd : odd_ones(shares, shares.most(&Names::size))) {
      const std::size_t usual = odd.usual->size(), own = odd.value.size();
      // Where each rank has a device of its own, none is the odd one.
      const bool majority = odd.others.count * 2 > logs_.size();
      if (!majority && own >= usual) continue;
      // As many, most of other names, may be another machine's.
      const auto shared = std::ranges::count_if(
          *odd.usual, [&](const std::string& name) { return odd.value.contains(name); });
      const bool hurts = own != usual || 2 * static_cast<std::size_t>(shared) > usual;
      into_.push_back({{own != usual ? Code::MissingRail : Code::OddNode,
                        hurts ? Severity::Warning : Severity::Info,
                        {},
                        "HCAs " + std::to_string(own) + (majority ? ", most ranks " : ", others ") +
                            std::to_string(usual) + ": " + list_difference(*odd.usual, odd.value)},
                       std::move(odd.members),
                       odd.others});
    }
  }

  // Variables that have to be equal on all ranks, or should be on one fabric, as NCCL read them. Where a log
  // does not tell one, its rank may have the default, or prints less.
  void compare_values() {
    std::set<std::string_view> names;
    for (const NcclLog* each : logs_) {
      for (const auto& [name, values] : each->values) names.insert(name);
    }
    for (const std::string_view name : names) {
      const Variable* known = find_nccl_variable(name);
      if (!known || (known->ranks != Ranks::Equal && known->ranks != Ranks::Fabric)) continue;
      std::map<std::string, std::string> spellings;  // the first one of each meaning
      const auto value_of = [&](std::size_t rank) {
        const NcclLog::Facts& read = log(rank).read(name);
        if (read.empty()) return Text();
        const std::string value = listed(read);
        return Text(spellings.emplace(nccl_meaning(*known, value), value).first->second);
      };
      compare(Code::ValuesDiffer, known->ranks == Ranks::Equal ? Severity::Error : Severity::Warning,
              value_of, [&](const auto& odd) {
                return std::string(name) + "=" + instead(odd) + ", which " +
                       std::string(agreement_text(known->ranks));
              });
    }
  }

  // The addresses of those that bootstrap over the interface.
  [[nodiscard]] std::set<std::string_view> addresses_over(const std::string& interface) const {
    std::set<std::string_view> addresses;
    for (const std::size_t rank : speaking_) {
      if (listed(log(rank).bootstrap) != interface) continue;
      for (const auto& [address, fact] : log(rank).addresses) addresses.insert(address);
    }
    return addresses;
  }

  // Interfaces of unlike names on unlike networks may not reach each other, nor one inside a host another
  // one. Pods' networks are unlike by node, and routed: their names are alike.
  void compare_bootstraps() {
    const auto words = [this](const Odd<std::string>& odd) -> std::string {
      const auto own = addresses_over(odd.value), usual = addresses_over(*odd.usual);
      const bool inside = is_inside_host(odd.value) && !is_inside_host(*odd.usual);
      const auto is_usual = [&](std::string_view address) {
        return std::ranges::count(usual, network_of(address), network_of) > 0;
      };
      if (!inside && (own.empty() || usual.empty() || std::ranges::any_of(own, is_usual))) return {};
      return "bootstrap over " + odd.value + in_brackets(odd.members.size() > 1 ? "" : join(own, ",")) +
             ", others over " + *odd.usual + in_brackets(usual.empty() ? "" : std::string(*usual.rbegin())) +
             (inside ? ": " + odd.value + " is inside its host" : ", another network");
    };
    compare(Code::UnreachableInterface, met_ ? Severity::Info : Severity::Warning, facts(&NcclLog::bootstrap),
            words,
            "If the two do not reach each other, name an interface of one network on all ranks: "
            "NCCL_SOCKET_IFNAME, or spec.socketInterface of the policy.");
  }

  const Logs& logs_;
  const bool met_;
  const Members speaking_;
  std::vector<Difference> into_;
};

// Parts a log by the hosts of its processes, whose numbers are left behind: 4096 of them for each host and
// fact would take gigabytes.
std::map<std::string, NcclLog> parts_of(const NcclLog& log) {
  std::map<std::string, NcclLog> parts;
  const auto share = [&](const NcclLog::Facts& facts, const auto& of) {
    for (const auto& [what, fact] : facts) {
      for (const std::string& host : log.hosts_of(fact.processes))
        of(parts[host]).emplace(what, LogFact{fact.line, {}});
    }
  };
  for (NcclLog::Facts NcclLog::*facts : {&NcclLog::networks, &NcclLog::links, &NcclLog::gid_indexes,
                                         &NcclLog::bootstrap, &NcclLog::addresses, &NcclLog::no_device})
    share(log.*facts, [facts](NcclLog& part) -> NcclLog::Facts& { return part.*facts; });
  for (const auto& read : log.values)
    share(read.second, [&](NcclLog& part) -> NcclLog::Facts& { return part.values[read.first]; });
  for (auto& [host, part] : parts) {
    part.nccl_lines = 1;  // it speaks
    part.initialised = log.initialised;
    part.nodes = log.nodes;
  }
  return parts;
}

// Compares times of a day, "23:59:58" and "00:00:10", of which logs tell no date: the way round that is
// shorter counts.
bool is_later(std::string_view left, std::string_view right) {
  constexpr int kDay = 24 * 3600;
  const auto seconds = [](std::string_view clock) {
    int total = 0;
    for (std::size_t at = 0; at + 2 <= clock.size(); at += 3)
      total = total * 60 + (clock[at] - '0') * 10 + (clock[at + 1] - '0');
    return total;
  };
  const int after = (seconds(left) - seconds(right) + kDay) % kDay;
  return after > 0 && after < kDay / 2;
}

// The finding that a rank's log begins with, unless it is in order.
const Finding* first_of(const RankLog& rank) {
  const std::vector<Finding>& findings = rank.verification.findings;
  return findings.empty() || is_good(findings) ? nullptr : &findings.front();
}

// A file that was named and has no line of NCCL's; elsewhere workers may print by their launcher.
bool is_silent(const RankLog& rank) {
  return rank.by_hand && rank.problem.empty() && !rank.speaks();
}

// How near a rank is to the cause: what its log tells by itself, then what sets it apart from others.
enum class Place { Cause, Symptom, Unknown, Slows, Odd, Silent, Consequence, Waits, Fine };

// A rank among the others.
struct Rank {
  const RankLog& of;
  const Finding* first;                // of its log; null where that is in order, or told as a difference
  const NcclFailure* cause = nullptr;  // the failure that is nearest to it
  const NcclFailure* end = nullptr;    // the error that ended it, where no failure of the network did
  bool odd = false;                    // differs from most
  std::optional<std::size_t> peer;     // that its error names
  Members led_to;                      // those whose errors followed from its event or end

  explicit Rank(const RankLog& rank) : of(rank), first(first_of(rank)) {
    const LogVerification& verification = rank.verification;
    if (verification.cause) cause = &verification.failures[*verification.cause].failure;
    if (cause && cause->code == Code::EndedElsewhere) end = cause;
    if (!cause && rank.log.ends_elsewhere()) end = &*rank.log.last_error;
  }

  [[nodiscard]] Place place() const {
    // Its consequences are symptoms.
    return led_to.empty() ? own_place() : std::min(own_place(), Place::Symptom);
  }
  [[nodiscard]] Place own_place() const {
    if (cause && cause->nearness() < Nearness::Consequence) return static_cast<Place>(cause->nearness());
    if (first && !cause && first->code != Code::InitNotEnded) return Place::Slows;
    if (odd) return Place::Odd;
    if (!of.speaks()) return Place::Silent;
    if (cause) return Place::Consequence;
    return first ? Place::Waits : Place::Fine;
  }
  // True if what this log tells most likely led to the other one's error: a port's event or the process's
  // end, which does not come later as far as both logs tell the time.
  [[nodiscard]] bool has_led_to(const NcclFailure& error) const {
    const bool of_port = cause && cause->is_port_event() && error.is_of_transfer();
    const NcclFailure* event = of_port ? cause : end;
    if (!event || (!of_port && !error.may_follow_end())) return false;
    return event->first_time.empty() || error.first_time.empty() ||
           !is_later(event->first_time, error.first_time);
  }
};

class RankJudge {
 public:
  explicit RankJudge(const std::vector<RankLog>& ranks) : logs_(ranks), ranks_(ranks.begin(), ranks.end()) {
    for (const RankLog& rank : ranks) read_.push_back(&rank.log);
  }

  RanksVerification judge() && {
    into_.differences.resize(ranks_.size());
    for (const Difference& difference : Comparison(read_).compare()) take(difference);
    for (const Difference& difference : compare_calls(read_)) take(difference);
    match_peers();
    find_end();
    sort();
    tell_ranks();
    into_.sentence = sentence() + unread();
    return std::move(into_);
  }

 private:
  void add(Code code, Severity severity, const Members& of, std::string sentence, std::string remedy = {}) {
    Finding finding{code, severity, {.kind = "Job"}, std::move(sentence), std::move(remedy)};
    for (const std::size_t rank : of) finding.subject.parts.push_back(logs_[rank].name);
    into_.findings.push_back(std::move(finding));
  }
  [[nodiscard]] std::string named(const Members& of) const {
    return join_some(of, kMostNames, [this](std::size_t rank) { return logs_[rank].name; });
  }
  [[nodiscard]] Members those(const auto& are_so) const {
    return members_where(ranks_.size(), [&](std::size_t rank) { return std::invoke(are_so, ranks_[rank]); });
  }

  // Notes what sets these ranks apart.
  void take(const Difference& difference) {
    const Finding& found = difference.finding;
    add(found.code, found.severity, difference.members, named(difference.members) + ": " + found.sentence,
        found.remedy);
    const bool info = found.severity == Severity::Info;
    for (const std::size_t i : difference.members) {
      Rank& rank = ranks_[i];
      rank.odd = rank.odd || !info;
      const auto begins_with = [&](Code code) { return rank.first && rank.first->code == code; };
      const bool told = found.code == Code::TimedOut && begins_with(found.code);
      if (told || (found.code == Code::MixedNetworks && begins_with(Code::FellBack))) rank.first = nullptr;
      into_.differences[i] += (into_.differences[i].empty() ? "" : "; ") +
                              (info || told ? "" : std::string(to_string(found.code)) + ": ") +
                              found.sentence;
    }
  }

  // Finds the ranks that errors name as their peers, and those of them that led to the errors.
  void match_peers() {
    std::map<std::string, std::set<std::size_t>, std::less<>> by_address;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclLog& log = logs_[rank].log;
      for (const std::string& address : keys_of(log.addresses)) by_address[address].insert(rank);
      for (const std::string& process : log.process_names)
        by_address[std::string(host_of(process))].insert(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclFailure* error = ranks_[rank].cause;
      if (!error || error->peer.empty() || !error->may_follow_end()) continue;
      const std::string_view name = address_of_peer(error->peer);
      auto at = by_address.find(name);
      // "worker-1.train.ml.svc.cluster.local" of the host that calls itself worker-1.
      if (at == by_address.end()) at = by_address.find(name.substr(0, name.find('.')));
      if (at == by_address.end()) continue;
      std::set<std::size_t> peers = at->second;
      peers.erase(rank);
      for (const std::size_t peer : peers) {
        if (ranks_[peer].has_led_to(*error)) ranks_[peer].led_to.push_back(rank);
      }
      if (peers.size() == 1) ranks_[rank].peer = *peers.begin();
    }
  }

  // Where no error names a rank that is here, the one rank whose log ends with an error that is not the
  // network's led to them all.
  void find_end() {
    const Members ends = those([](const Rank& rank) { return rank.end; });
    const Members errors = those([](const Rank& rank) { return rank.cause && !rank.end; });
    if (ends.size() != 1 || !those(&Rank::peer).empty()) return;
    Rank& ended = ranks_[ends.front()];
    if (std::ranges::all_of(errors, [&](std::size_t i) { return ended.has_led_to(*ranks_[i].cause); }))
      ended.led_to = errors;
  }

  void sort() {
    into_.order = all_members(ranks_.size());
    const auto key = [this](std::size_t i) {
      const Rank& rank = ranks_[i];
      const std::string time = rank.cause ? rank.cause->first_time : std::string();
      // A rank that waited in vain, or ended, closed what others lost.
      const bool of_peer = rank.cause && rank.cause->is_of_peer();
      return std::tuple(rank.place(), of_peer, rank.led_to.empty(), into_.differences[i].empty(),
                        time.empty(), time);
    };
    std::ranges::stable_sort(into_.order, {}, key);
  }

  // One finding for all ranks whose logs begin with the same code; a rank's difference has been told already.
  void tell_ranks() {
    std::vector<std::pair<Code, Members>> by_code;
    std::vector<Finding> differences;
    differences.swap(into_.findings);
    for (const std::size_t i : into_.order) {
      const Rank& rank = ranks_[i];
      if (!rank.led_to.empty() && !rank.cause)
        add(Code::EndedElsewhere, Severity::Error, {i},
            rank.of.name + ": line " + std::to_string(rank.end->line) + ": " + rank.end->text);
      if (!rank.first) continue;
      auto known = std::ranges::find(by_code, rank.first->code, &std::pair<Code, Members>::first);
      if (known == by_code.end()) known = by_code.insert(known, {rank.first->code, {}});
      known->second.push_back(i);
    }
    for (const auto& [code, of] : by_code) {
      const Rank& rank = ranks_[of.front()];
      add(code, rank.first->severity, of,
          named(of) + ": " + rank.first->sentence +
              (rank.peer ? "; its peer " + rank.cause->peer + " is " + logs_[*rank.peer].name : "") +
              (code == Code::InitNotEnded ? missing_text() : ""),
          rank.first->remedy);
    }
    const bool failed = !by_code.empty();
    const Members silent = those([](const Rank& rank) { return is_silent(rank.of) && rank.led_to.empty(); });
    // Where others came through the initialisation, all took part.
    if (!silent.empty() && (failed || !have_met(read_)))
      add(Code::InitNotEnded, Severity::Warning, silent,
          named(silent) + ": no line of NCCL's, though " +
              (failed ? "others wait or failed" : "others have some"));
    const bool odd = ranks_[into_.order.front()].place() == Place::Odd;
    into_.findings.insert(odd ? into_.findings.begin() : into_.findings.end(), differences.begin(),
                          differences.end());
    std::ranges::stable_sort(into_.findings, {}, &Finding::severity);
  }
  // "; no log here is of rank 3 of 4".
  [[nodiscard]] std::string missing_text() const {
    std::set<int> own;
    int all = 0;
    for (const RankLog& rank : logs_) {
      if (!rank.speaks()) continue;
      if (rank.log.own_ranks.empty()) return {};
      own.insert(rank.log.own_ranks.begin(), rank.log.own_ranks.end());
      all = std::max(all, rank.log.ranks);
    }
    const std::string missing = missing_ranks(own, all);
    return missing.empty() ? "" : "; no log here is of " + missing;
  }

  [[nodiscard]] std::string sentence() const {
    if (is_good(into_.findings)) return good_sentence();
    const Rank& rank = ranks_[into_.order.front()];
    const Place place = rank.place();
    const bool led = !rank.led_to.empty();
    std::string text;
    if (led && !rank.cause) {
      text = told_as(*std::ranges::find(into_.findings, Code::EndedElsewhere, &Finding::code));
    } else if (place < Place::Odd || place == Place::Consequence || (place == Place::Waits && rank.cause)) {
      const std::string differing = differing_beside(rank);
      text = rank.of.name + ": " +
             (differing.empty() ? rank.of.verification.sentence
                                : diagnosis_of(rank.of.verification, rank.of.log, differing));
      if (!led && rank.peer) text += " The peer is " + logs_[*rank.peer].name + ".";
    } else {
      const auto first = std::ranges::find_if(into_.findings, [](const Finding& each) {
        return each.code != Code::InitNotEnded && each.severity != Severity::Info;
      });
      text = told_as(first == into_.findings.end() ? into_.findings.front() : *first);
    }
    return led ? text + " It led to the errors of " + named(rank.led_to) + "." : text;
  }
  [[nodiscard]] std::string good_sentence() const {
    const auto speaking = static_cast<std::size_t>(std::ranges::count_if(logs_, &RankLog::speaks));
    const bool begun = std::ranges::all_of(logs_, [](const RankLog& each) {
      return !each.speaks() || each.log.bootstrap.empty() || each.log.is_initialised();
    });
    return "The logs of " + count_of(speaking, "rank") +
           (into_.findings.empty() && begun && speaking > 1 ? " agree, and tell no failure"
                                                            : " tell no failure") +
           (begun ? "."
                  : ", nor that the initialisation ended: the job waits before that, or the logs were cut.");
  }
  // "r2 differs from others (GID index 1 instead of 3).", where the rank's failure tells no cause.
  [[nodiscard]] std::string differing_beside(const Rank& rank) const {
    constexpr std::size_t kMostDiffering = 2;
    const NcclFailure* cause = rank.cause;
    if (!cause || !(cause->is_of_transfer() || cause->is_of_peer() || cause->code == Code::TimedOut))
      return {};
    Members differing = into_.order;
    std::erase_if(differing, [this](std::size_t each) { return into_.differences[each].empty(); });
    if (differing.empty()) return {};
    const std::string names = join_some(differing, kMostDiffering, [this](std::size_t each) {
      return logs_[each].name + " (" + into_.differences[each] + ")";
    });
    return names + (differing.size() == 1 ? " differs" : " differ") + " from others.";
  }
  [[nodiscard]] std::string unread() const {
    const auto unread = static_cast<std::size_t>(
        std::ranges::count_if(logs_, [](const RankLog& rank) { return !rank.problem.empty(); }));
    const auto silent = static_cast<std::size_t>(std::ranges::count_if(logs_, is_silent));
    return (silent == 0
                ? ""
                : " " + count_of(silent, "log") + (silent == 1 ? " has" : " have") + " no line of NCCL's.") +
           (unread == 0 ? "" : " " + count_of(unread, "log") + " could not be read.");
  }

  const std::vector<RankLog>& logs_;
  std::vector<const NcclLog*> read_;
  std::vector<Rank> ranks_;
  RanksVerification into_;
};

// "TimedOut; MissingRail: without mlx5_4:1": what the log tells by itself, and what sets it apart.
std::string answer_of(const RankLog& rank, const std::string& difference) {
  if (!rank.problem.empty()) return rank.problem;
  if (!rank.speaks()) return "no line of NCCL's";
  const Finding* first = first_of(rank);
  std::string text = first ? std::string(to_string(first->code)) : "";
  if (!difference.empty()) text += (text.empty() ? "" : "; ") + difference;
  return text.empty() ? "-" : text;
}

}  // namespace

std::vector<Finding> compare_hosts(const NcclLog& log) {
  if (log.hosts < 2) return {};
  const std::map<std::string, NcclLog> parts = parts_of(log);
  const std::vector<std::string> names = keys_of(parts);
  Logs logs;
  for (const auto& [host, part] : parts) logs.push_back(&part);
  std::vector<Finding> findings;
  for (Difference& each : Comparison(logs).compare()) {
    Finding& finding = findings.emplace_back(std::move(each.finding));
    finding.subject = {.kind = "Log"};
    finding.sentence =
        join_some(each.members, 3, [&](std::size_t i) { return names[i]; }) + ": " + finding.sentence;
  }
  return findings;
}

RanksVerification verify_ranks(const std::vector<RankLog>& ranks) {
  if (ranks.empty()) return {};
  return RankJudge(ranks).judge();
}

std::string render_text(const RanksVerification& verification, const std::vector<RankLog>& ranks) {
  std::string text = paragraph(verification.sentence);
  for (const Finding& finding : verification.findings)
    text += paragraph(std::string(to_string(finding.severity)) + " " + std::string(to_string(finding.code)) +
                          ": " + finding.sentence,
                      2);
  TextColumns columns(2);
  columns.add({"RANK", "NCCL", "HCAS", "GID", "NETWORK", "BOOTSTRAP", "FINDING"});
  for (std::size_t i = 0; i < std::min(verification.order.size(), kMostRows); ++i) {
    const RankLog& rank = ranks[verification.order[i]];
    const NcclLog& log = rank.log;
    // The index that queue pairs have; where no line tells one, the one that NCCL reads.
    const NcclLog::Facts& index = log.gid_indexes.empty() ? log.read(variable::kIbGidIndex) : log.gid_indexes;
    columns.add({rank.name, listed(log.versions),
                 log.devices.empty() ? "-" : std::to_string(log.devices.size()), listed(index),
                 listed(log.networks), listed(log.bootstrap),
                 answer_of(rank, verification.differences[verification.order[i]])});
  }
  text += "\n" + columns.render();
  if (verification.order.size() > kMostRows)
    text += "  and " + std::to_string(verification.order.size() - kMostRows) + " more: -o json\n";
  return text;
}

nlohmann::ordered_json to_json(const RanksVerification& verification, const std::vector<RankLog>& ranks) {
  const auto json_of = [&](std::size_t i) {
    nlohmann::ordered_json rank = {{"rank", ranks[i].name},
                                   {"problem", text_or_null(ranks[i].problem)},
                                   {"difference", text_or_null(verification.differences[i])}};
    if (ranks[i].problem.empty()) rank.update(to_json(ranks[i].verification, ranks[i].log));
    return rank;
  };
  return {{"good", is_good(verification.findings)},
          {"sentence", verification.sentence},
          {"findings", to_json(verification.findings)},
          {"ranks", array_of(verification.order, json_of)}};
}

}  // namespace nccl_env
