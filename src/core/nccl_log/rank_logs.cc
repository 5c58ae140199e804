// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/rank_logs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/log_print.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostNames = 4, kMostTold = 256;
constexpr std::string_view kSockets = "Socket";
constexpr std::size_t kMostRows = 64;  // of the table; the JSON has all

bool speaks(const RankLog& rank) {
  return rank.problem.empty() && rank.log.speaks();
}

std::string listed(const NcclLog::Facts& facts) {
  return facts.empty() ? "-" : join(facts, ",", [](const auto& fact) { return fact.first; });
}

// "2.21.5": PyTorch tells it without the build, which NCCL's own line has.
std::string version_numbers(const NcclLog& log) {
  std::set<std::string_view> numbers;
  for (const auto& [version, fact] : log.versions) numbers.insert(version_number(version));
  return join(numbers, ",");
}

// The usual among what ranks have, and who has something else. Nothing if all have the same, or
// none is that frequent.
struct Odd {
  std::string usual;
  std::map<std::string, std::vector<std::size_t>> others;
  bool majority = false;
};
std::optional<Odd> odd_of(const std::vector<RankLog>& ranks, NcclLog::Facts NcclLog::*facts) {
  std::map<std::string, std::vector<std::size_t>> of;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!speaks(ranks[i]) || (ranks[i].log.*facts).empty()) continue;
    of[facts == &NcclLog::versions ? version_numbers(ranks[i].log) : listed(ranks[i].log.*facts)].push_back(
        i);
  }
  if (of.size() < 2) return std::nullopt;
  // Prefers, of equally frequent ones, a fabric, and the longest: a rank lacks rather than has too much.
  const auto most = std::ranges::max_element(of, [](const auto& left, const auto& right) {
    const auto rank = [](const auto& each) {
      return std::tuple(each.second.size(), each.first != kSockets && !is_inside_host(each.first),
                        each.first.size());
    };
    return rank(left) < rank(right);
  });
  Odd odd{most->first, of, 2 * most->second.size() > ranks.size()};
  odd.others.erase(odd.usual);
  return odd;
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

// Takes the place of remedies that are to compare the ranks, as is done here.
constexpr std::pair<Code, std::string_view> kBesideOthers[] = {
    {Code::InitNotEnded,
     "Look first at ranks that are missing here or stand still (kubectl get pods; py-spy dump --pid PID); "
     "from NCCL 2.24 on `ncclras -v` in a pod tells who is missing."},
    {Code::PeerClosed,
     "None of these logs tells why: look at the rank that the line names or whose log ends first (its pod's "
     "last state, dmesg on its node), and at ranks whose logs are not here."},
    {Code::TimedOut,
     "Look for the rank that waits in another call or whose log ends first (py-spy dump --pid PID); in a job "
     "that hangs now, from NCCL 2.24 on, `ncclras -v` in a pod."}};
std::string_view remedy_beside(const Finding& finding) {
  const auto row = std::ranges::find(kBesideOthers, finding.code, &std::pair<Code, std::string_view>::first);
  return finding.remedy.empty() && row != std::end(kBesideOthers) ? row->second : remedy_of(finding);
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

// How near a rank is to the cause: what its log tells by itself, then what sets it apart from others.
enum class Place { Cause, Symptom, Unknown, Slows, Odd, Silent, Consequence, Waits, Fine };
Place place_of(const RankLog& rank, bool odd) {
  const LogVerification& verification = rank.verification;
  const Nearness nearness = verification.cause ? verification.failures[*verification.cause].failure.nearness()
                                               : Nearness::Consequence;
  if (verification.cause && nearness < Nearness::Consequence) return static_cast<Place>(nearness);
  const Finding* first = first_of(rank);
  if (first && !verification.cause && first->code != Code::InitNotEnded) return Place::Slows;
  if (odd) return Place::Odd;
  if (!speaks(rank)) return Place::Silent;
  if (verification.cause) return Place::Consequence;
  return first ? Place::Waits : Place::Fine;
}

bool has_own_list(const RankLog& rank) {
  return std::ranges::any_of(rank.verification.values, [](const VerifiedValue& value) {
    return value.name == variable::kIbHca && value.state == State::Users;
  });
}

class RankJudge {
 public:
  explicit RankJudge(const std::vector<RankLog>& ranks) : ranks_(ranks), odd_(ranks.size()) {}

  RanksVerification judge() && {
    compare(&NcclLog::networks, "network");
    compare(&NcclLog::devices, "HCAs");
    compare(&NcclLog::versions, "NCCL");
    compare(&NcclLog::gid_indexes, "GID index");
    compare_values();
    compare_bootstraps();
    find_twins();
    match_peers();
    find_late();
    sort();
    tell_ranks();
    into_.sentence = sentence();
    return std::move(into_);
  }

 private:
  void add(Code code, Severity severity, const std::vector<std::size_t>& of, std::string sentence) {
    Finding finding{code, severity, {.kind = "Job"}, std::move(sentence)};
    for (const std::size_t rank : of) finding.subject.parts.push_back(ranks_[rank].name);
    into_.findings.push_back(std::move(finding));
  }
  [[nodiscard]] std::string named(const std::vector<std::size_t>& of) const {
    return join_some(of, kMostNames, [this](std::size_t rank) { return ranks_[rank].name; });
  }

  void compare(NcclLog::Facts NcclLog::*facts, std::string_view what) {
    const auto odd = odd_of(ranks_, facts);
    const bool devices = facts == &NcclLog::devices;
    if (!odd || (devices &&
                 std::ranges::any_of(ranks_, [](const RankLog& rank) { return rank.log.device_line_cut; })))
      return;
    for (const auto& [has, of] : odd->others) {
      // Where each rank has a device of its own, none is the odd one.
      if (devices && !odd->majority && count(has) >= count(odd->usual)) continue;
      const bool of_rank = facts != &NcclLog::gid_indexes;
      for (const std::size_t rank : of) odd_[rank] = odd_[rank] || of_rank;
      const Code code = facts == &NcclLog::networks       ? Code::MixedNetworks
                        : facts == &NcclLog::versions     ? Code::NcclVersionsDiffer
                        : facts == &NcclLog::gid_indexes  ? Code::RankIndexDiffers
                        : count(has) != count(odd->usual) ? Code::MissingRail
                                                          : Code::OddNode;
      const std::string other =
          facts == &NcclLog::devices ? difference(has, odd->usual) : " instead of " + odd->usual;
      const Severity severity = code == Code::MixedNetworks ? Severity::Error
                                : of_rank                   ? Severity::Warning
                                                            : Severity::Info;
      const bool none = code == Code::MixedNetworks && !ranks_[of.front()].log.no_device.empty();
      add(code, severity, of,
          named(of) + ": " + std::string(what) + " " + (devices ? other : has + other) +
              (none ? ": NET/IB found no device there" : ""));
      if (devices && std::ranges::all_of(of, [this](std::size_t rank) { return has_own_list(ranks_[rank]); }))
        into_.findings.back().remedy =
            "The list is the pod's own: set NCCL_IB_HCA alike on all ranks, or nowhere.";
    }
  }

  // Variables that have to be equal on all ranks, or should be on one fabric, as NCCL read them. Where a log
  // does not tell one, its rank may have the default, or prints less.
  void compare_values() {
    std::map<std::string_view, std::map<std::string, std::vector<std::size_t>>> read;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const auto& [name, values] : ranks_[rank].log.values) {
        const Variable* known = find_nccl_variable(name);
        if (known && (known->ranks == Ranks::Equal || known->ranks == Ranks::Fabric))
          read[known->name][listed(values)].push_back(rank);
      }
    }
    for (const auto& [name, of] : read) compare_value(*find_nccl_variable(name), of);
  }
  void compare_value(const Variable& variable, const std::map<std::string, std::vector<std::size_t>>& of) {
    const auto size = [](const auto& each) { return each.second.size(); };
    const auto usual = std::ranges::max_element(of, {}, size);
    const std::string is = std::string(variable.name) + "=";
    std::size_t telling = 0;
    for (const auto& [value, ranks] : of) telling += ranks.size();
    if (telling < static_cast<std::size_t>(std::ranges::count_if(ranks_, speaks)))
      add(Code::ValuesDiffer, Severity::Info, usual->second,
          named(usual->second) + ": " + is + usual->first + ", of which not all logs tell");
    for (const auto& [value, ranks] : of) {
      if (value == usual->first) continue;
      for (const std::size_t rank : ranks) odd_[rank] = true;
      add(Code::ValuesDiffer, variable.ranks == Ranks::Equal ? Severity::Error : Severity::Warning, ranks,
          named(ranks) + ": " + is + value + " instead of " + usual->first);
    }
  }

  [[nodiscard]] bool have_met() const {
    return std::ranges::any_of(ranks_, [](const RankLog& rank) { return rank.log.initialised > 0; });
  }
  // Interfaces of unlike names on unlike networks may not reach each other, nor one inside a host another
  // one. Pods' networks are unlike by node, and routed: their names are alike.
  void compare_bootstraps() {
    const auto odd = odd_of(ranks_, &NcclLog::bootstrap);
    if (!odd) return;
    std::set<std::string_view> usual;
    std::string address;
    for (const RankLog& rank : ranks_) {
      if (listed(rank.log.bootstrap) != odd->usual) continue;
      for (const auto& [own, fact] : rank.log.addresses) {
        usual.insert(network_of(own));
        address = own;
      }
    }
    for (const auto& [name, of] : odd->others) {
      const bool inside = is_inside_host(name) && !is_inside_host(odd->usual);
      std::vector<std::size_t> apart;
      for (const std::size_t rank : of) {
        const NcclLog::Facts& own = ranks_[rank].log.addresses;
        const auto is_usual = [&](const auto& each) { return usual.contains(network_of(each.first)); };
        if (inside || (!own.empty() && !usual.empty() && std::ranges::none_of(own, is_usual)))
          apart.push_back(rank);
      }
      if (apart.empty()) continue;
      for (const std::size_t rank : apart) odd_[rank] = odd_[rank] || !have_met();
      add(Code::UnreachableInterface, have_met() ? Severity::Info : Severity::Warning, apart,
          named(apart) + ": bootstrap over " + name +
              in_brackets(listed(ranks_[apart.front()].log.addresses)) + ", others over " + odd->usual +
              in_brackets(address) + (inside ? ": " + name + " is inside its host" : ", another network"));
      into_.findings.back().remedy =
          "If the two do not reach each other, name an interface of one network on all ranks: "
          "NCCL_SOCKET_IFNAME, or spec.socketInterface of the policy.";
    }
  }
  // Ranks of two hosts with one address: containers behind their hosts' bridges.
  void find_twins() {
    std::map<std::string_view, std::vector<std::size_t>> by_address;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const auto& [address, fact] : ranks_[rank].log.addresses) {
        if (!begins_with_any(address, {"127.", "169.254.", "fe80:"})) by_address[address].push_back(rank);
      }
    }
    for (const auto& [address, of] : by_address) {
      std::set<std::string> hosts;
      for (const std::size_t rank : of) {
        for (const std::string& process : ranks_[rank].log.process_names)
          hosts.insert(process.substr(0, process.rfind(':')));
      }
      if (hosts.size() < 2 || have_met()) continue;
      for (const std::size_t rank : of) odd_[rank] = true;
      add(Code::UnreachableInterface, Severity::Warning, of,
          named(of) + ": " + join_some(hosts, kMostNames) + " have one address, " + std::string(address));
      into_.findings.back().remedy =
          "If these are several machines, run the containers with the host's network (--network host, "
          "hostNetwork), or with one that hosts reach each other by.";
    }
  }

  static std::size_t count(const std::string& names) {
    return static_cast<std::size_t>(std::ranges::count(names, ',')) + 1;
  }
  static std::set<std::string> split(const std::string& names) {
    std::set<std::string> parts;
    for (std::size_t begin = 0; begin < names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      parts.insert(names.substr(begin, end - begin));
      begin = end + 1;
    }
    return parts;
  }
  // "7, most ranks 8: - mlx5_4:1".
  static std::string difference(const std::string& has, const std::string& usual) {
    const std::set<std::string> own = split(has), most = split(usual);
    std::vector<std::string> changes;
    for (const std::string& name : most) {
      if (!own.contains(name)) changes.push_back("- " + name);
    }
    for (const std::string& name : own) {
      if (!most.contains(name)) changes.push_back("+ " + name);
    }
    return std::to_string(own.size()) + ", most ranks " + std::to_string(most.size()) + ": " +
           join_some(changes, 2 * kMostNames);
  }

  [[nodiscard]] const NcclFailure* cause_of(std::size_t rank) const {
    const LogVerification& verification = ranks_[rank].verification;
    return verification.cause ? &verification.failures[*verification.cause].failure : nullptr;
  }

  // Finds the ranks that transfers' errors name as their peers: a port's event there, which does not come
  // later as far as both logs tell the time, is the errors' cause.
  void match_peers() {
    std::map<std::string, std::vector<std::size_t>, std::less<>> by_address;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const auto& [address, fact] : ranks_[rank].log.addresses) by_address[address].push_back(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclFailure* error = cause_of(rank);
      if (!error || !error->is_of_transfer()) continue;
      const auto at = by_address.find(address_of_peer(error->peer));
      if (at == by_address.end()) continue;
      std::vector<std::size_t> peers = at->second;
      std::erase(peers, rank);
      for (const std::size_t peer : peers) {
        const NcclFailure* event = cause_of(peer);
        if (!event || !event->is_port_event()) continue;
        const bool timed = !event->first_time.empty() && !error->first_time.empty();
        if (!timed || !is_later(event->first_time, error->first_time)) led_to_[peer].push_back(rank);
      }
      if (peers.size() == 1) peers_[rank] = peers.front();
    }
  }

  // Ranks with the same part in the job all have NCCL's lines, or none: workers of MPI print by their
  // launcher.
  void tell_missing(std::vector<std::size_t> silent) {
    const auto part_of = [this](std::size_t rank) {
      const std::string_view name = ranks_[rank].name;
      return name.substr(0, name.rfind('-'));
    };
    std::set<std::string_view> speaking;
    for (const std::size_t rank : into_.order) {
      if (speaks(ranks_[rank])) speaking.insert(part_of(rank));
    }
    std::erase_if(
        silent, [&](std::size_t rank) { return !ranks_[rank].by_hand && !speaking.contains(part_of(rank)); });
    // Where others came through the initialisation, all took part.
    if (silent.empty() || have_met()) return;
    add(Code::InitNotEnded, Severity::Warning, silent,
        named(silent) +
            ": no line of NCCL's, though others have some: it has not come so far, or prints elsewhere");
    into_.findings.back().remedy = "Look at that rank's state and log first; the others wait for it.";
  }

  // "; its peer 10.0.0.2<4711> is worker-3".
  [[nodiscard]] std::string peer_text(std::size_t rank) const {
    const auto peer = peers_.find(rank);
    return peer == peers_.end() ? std::string()
                                : "; its peer " + cause_of(rank)->peer + " is " + ranks_[peer->second].name;
  }

  // Where most ranks tell of a time-out, and of nothing else, those that do not are what they waited for.
  void find_late() {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Finding* first = first_of(ranks_[i]);
      if (first && first->code != Code::TimedOut) return;
      if (!first && speaks(ranks_[i])) others.push_back(i);
      waiting_ += first ? 1 : 0;
    }
    if (others.size() < waiting_) late_ = std::move(others);
  }

  void sort() {
    into_.order.resize(ranks_.size());
    std::iota(into_.order.begin(), into_.order.end(), std::size_t{0});
    const auto key = [this](std::size_t i) {
      const LogVerification& verification = ranks_[i].verification;
      const std::string time =
          verification.cause ? verification.failures[*verification.cause].failure.first_time : std::string();
      const bool late = std::ranges::binary_search(late_, i);
      return std::tuple(!late, place_of(ranks_[i], odd_[i]), !led_to_.contains(i), time.empty(), time);
    };
    std::ranges::stable_sort(into_.order, {}, key);
  }

  // One finding for all ranks whose logs begin with the same code; a rank's difference has been told already.
  void tell_ranks() {
    std::vector<std::pair<Code, std::vector<std::size_t>>> by_code;
    for (const std::size_t rank : into_.order) {
      const Finding* first = first_of(ranks_[rank]);
      if (!first) continue;
      const auto known = std::ranges::find(by_code, first->code, [](const auto& each) { return each.first; });
      if (known == by_code.end()) {
        by_code.push_back({first->code, {rank}});
      } else {
        known->second.push_back(rank);
      }
    }
    std::vector<Finding> differences;
    differences.swap(into_.findings);
    for (const auto& [code, of] : by_code) {
      const Finding& first = *first_of(ranks_[of.front()]);
      add(code, first.severity, of, named(of) + ": " + first.sentence + peer_text(of.front()));
      into_.findings.back().remedy = remedy_beside(first);
    }
    const bool waits = !into_.findings.empty();
    into_.findings.insert(into_.findings.end(), differences.begin(), differences.end());
    std::vector<std::size_t> silent;
    for (const std::size_t rank : into_.order) {
      if (ranks_[rank].problem.empty() && !speaks(ranks_[rank])) silent.push_back(rank);
    }
    if (waits && !silent.empty()) {
      add(Code::InitNotEnded, Severity::Warning, silent,
          named(silent) + ": no line of NCCL's, though others wait or failed");
    } else {
      tell_missing(silent);
    }
    std::ranges::stable_sort(into_.findings, {}, &Finding::severity);
  }

  [[nodiscard]] std::string sentence() const {
    const std::size_t rank = into_.order.empty() ? 0 : into_.order.front();
    const Place place = into_.order.empty() ? Place::Fine : place_of(ranks_[rank], odd_[rank]);
    const auto speaking = static_cast<std::size_t>(std::ranges::count_if(ranks_, speaks));
    if (is_good(into_.findings))
      return "The logs of " + ranks_text(speaking) +
             (into_.findings.empty() && speaking > 1 ? " agree, and tell no failure." : " tell no failure.") +
             unread();
    std::string text;
    if (!late_.empty()) {
      text = late_text() + " " + ranks_[waiting_rank()].name + ": " + told_by(waiting_rank());
    } else if (place < Place::Odd || place == Place::Consequence) {
      text = ranks_[rank].name + ": " + told_by(rank);
      if (const auto led = led_to_.find(rank); led != led_to_.end()) {
        text += " It led to the errors of " + named(led->second) + ", whose peer this rank is.";
      } else if (const auto peer = peers_.find(rank); peer != peers_.end()) {
        text += " The peer is " + ranks_[peer->second].name + ".";
      }
    } else {
      const auto first = std::ranges::find_if(into_.findings, [](const Finding& each) {
        return each.code != Code::InitNotEnded && each.severity != Severity::Info;
      });
      const Finding& told = first == into_.findings.end() ? into_.findings.front() : *first;
      text = std::string(to_string(told.code)) + ", " + told.sentence + ". " +
             (told.remedy.empty() || remedy_beside({told.code}) == told.remedy
                  ? std::string(words_of(told.code).meaning) + " "
                  : std::string()) +
             std::string(remedy_beside(told));
    }
    return text + unread();
  }
  // "2 of 4 ranks" where files that were named tell fewer ranks than their job has.
  [[nodiscard]] std::string ranks_text(std::size_t speaking) const {
    std::set<int> own;
    int all = 0;
    for (const RankLog& rank : ranks_) {
      if (!rank.by_hand || rank.log.own_ranks.empty()) return count_of(speaking, "rank");
      own.insert(rank.log.own_ranks.begin(), rank.log.own_ranks.end());
      all = std::max(all, rank.log.ranks);
    }
    const bool few = !own.empty() && own.size() < kMostTold && own.size() < static_cast<std::size_t>(all);
    return few ? std::to_string(own.size()) + " of " + std::to_string(all) + " ranks"
               : count_of(speaking, "rank");
  }
  // The rank's own diagnosis; where its remedy is to compare the ranks, the one for that.
  [[nodiscard]] std::string told_by(std::size_t rank) const {
    std::string text = ranks_[rank].verification.sentence;
    const Finding* first = first_of(ranks_[rank]);
    const std::string_view own = first ? remedy_of(*first) : std::string_view();
    if (const std::size_t at = own.empty() ? text.npos : text.find(own); at != text.npos)
      text.replace(at, own.size(), remedy_beside(*first));
    return text;
  }
  [[nodiscard]] std::string late_text() const {
    return named(late_) + (late_.size() == 1 ? " tells" : " tell") + " of no time-out, while " +
           count_of(waiting_, "other rank") + " waited in vain: most likely for " +
           (late_.size() == 1 ? "it" : "them") +
           ". See what that pod does (py-spy dump --pid PID), and how its log ends.";
  }
  [[nodiscard]] std::size_t waiting_rank() const {
    return *std::ranges::find_if(into_.order,
                                 [this](std::size_t rank) { return first_of(ranks_[rank]) != nullptr; });
  }
  [[nodiscard]] std::string unread() const {
    const auto unread =
        std::ranges::count_if(ranks_, [](const RankLog& rank) { return !rank.problem.empty(); });
    const auto silent = std::ranges::count_if(
        ranks_, [](const RankLog& rank) { return rank.by_hand && rank.problem.empty() && !speaks(rank); });
    const auto counted = [](auto number) { return " " + count_of(static_cast<std::size_t>(number), "log"); };
    return (silent == 0 ? "" : counted(silent) + (silent == 1 ? " has" : " have") + " no line of NCCL's.") +
           (unread == 0 ? "" : counted(unread) + " could not be read.");
  }

  const std::vector<RankLog>& ranks_;
  std::vector<bool> odd_;                                   // of each rank: it differs from most
  std::map<std::size_t, std::size_t> peers_;                // of ranks with a transfer's error
  std::map<std::size_t, std::vector<std::size_t>> led_to_;  // a rank with a port's event -> those errors
  std::vector<std::size_t> late_;  // ascending: ranks that others, `waiting_` of them, waited for in vain
  std::size_t waiting_ = 0;
  RanksVerification into_;
};

std::string answer_of(const RankLog& rank) {
  if (!rank.problem.empty()) return rank.problem;
  if (!speaks(rank)) return "no line of NCCL's";
  const Finding* first = first_of(rank);
  return first ? std::string(to_string(first->code)) : "-";
}

// The index that queue pairs have; where no line tells one, the one that NCCL reads.
std::string index_text(const NcclLog& log) {
  const auto read = log.values.find(variable::kIbGidIndex);
  return listed(log.gid_indexes.empty() && read != log.values.end() ? read->second : log.gid_indexes);
}

}  // namespace

RanksVerification verify_ranks(const std::vector<RankLog>& ranks) {
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
    columns.add({rank.name, listed(log.versions),
                 log.devices.empty() ? "-" : std::to_string(log.devices.size()), index_text(log),
                 listed(log.networks), listed(log.bootstrap), answer_of(rank)});
  }
  text += "\n" + columns.render();
  if (verification.order.size() > kMostRows)
    text += "  and " + std::to_string(verification.order.size() - kMostRows) + " more: -o json\n";
  return text;
}

nlohmann::ordered_json to_json(const RanksVerification& verification, const std::vector<RankLog>& ranks) {
  nlohmann::ordered_json json = {{"good", is_good(verification.findings)},
                                 {"sentence", verification.sentence},
                                 {"findings", to_json(verification.findings)},
                                 {"ranks", nlohmann::ordered_json::array()}};
  for (const std::size_t i : verification.order) {
    nlohmann::ordered_json rank = {{"rank", ranks[i].name}, {"problem", text_or_null(ranks[i].problem)}};
    if (ranks[i].problem.empty()) rank.update(to_json(ranks[i].verification, ranks[i].log));
    json["ranks"].push_back(std::move(rank));
  }
  return json;
}

}  // namespace nccl_env
