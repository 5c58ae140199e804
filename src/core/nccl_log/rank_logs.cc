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
#include "nccl_log/log_diagnosis.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/rank_differences.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostNames = 4, kMostTold = 256;
constexpr std::size_t kMostRows = 64;  // of the table; the JSON has all

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

class RankJudge {
 public:
  explicit RankJudge(const std::vector<RankLog>& ranks) : ranks_(ranks), odd_(ranks.size()) {}

  RanksVerification judge() && {
    into_.differences.resize(ranks_.size());
    for (const Difference& difference : differences_of(ranks_)) take(difference);
    match_peers();
    find_end();
    sort();
    tell_ranks();
    into_.sentence = sentence();
    return std::move(into_);
  }

 private:
  void add(Code code, Severity severity, const Members& of, std::string sentence) {
    Finding finding{code, severity, {.kind = "Job"}, std::move(sentence)};
    for (const std::size_t rank : of) finding.subject.parts.push_back(ranks_[rank].name);
    into_.findings.push_back(std::move(finding));
  }
  [[nodiscard]] std::string named(const Members& of) const {
    return join_some(of, kMostNames, [this](std::size_t rank) { return ranks_[rank].name; });
  }

  // Notes what sets these ranks apart.
  void take(const Difference& difference) {
    const Finding& found = difference.finding;
    add(found.code, found.severity, difference.members, named(difference.members) + ": " + found.sentence);
    into_.findings.back().remedy = found.remedy;
    const bool info = found.severity == Severity::Info;
    for (const std::size_t rank : difference.members) {
      odd_[rank] = odd_[rank] || !info;
      if (found.code == Code::MixedNetworks) mixed_.insert(rank);
      into_.differences[rank] += (into_.differences[rank].empty() ? "" : "; ") +
                                 (info ? "" : std::string(to_string(found.code)) + ": ") + found.sentence;
    }
  }

  [[nodiscard]] const NcclFailure* cause_of(std::size_t rank) const {
    const LogVerification& verification = ranks_[rank].verification;
    return verification.cause ? &verification.failures[*verification.cause].failure : nullptr;
  }

  // The error with which a rank's log ends, where it tells no failure of the network.
  [[nodiscard]] const NcclFailure* end_of(std::size_t rank) const {
    const NcclLog& log = ranks_[rank].log;
    const NcclFailure* cause = cause_of(rank);
    if (cause && cause->code == Code::EndedElsewhere) return cause;
    return !cause && log.ends_elsewhere() ? &*log.last_error : nullptr;
  }

  // True if what the peer's log tells most likely led to this rank's error: a port's event or the process's
  // end, which does not come later as far as both logs tell the time.
  [[nodiscard]] bool has_led(std::size_t peer, std::size_t rank) const {
    const NcclFailure* error = cause_of(rank);
    const NcclFailure* event = cause_of(peer);
    const bool of_port = event && event->is_port_event() && error->is_of_transfer();
    if (!of_port) event = end_of(peer);
    if (!event || (!of_port && !error->may_follow_end())) return false;
    return event->first_time.empty() || error->first_time.empty() ||
           !is_later(event->first_time, error->first_time);
  }

  // Finds the ranks that errors name as their peers, and those of them that led to the errors.
  void match_peers() {
    std::map<std::string, Members, std::less<>> by_address;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclLog& log = ranks_[rank].log;
      std::set<std::string, std::less<>> names;
      for (const auto& [address, fact] : log.addresses) names.insert(address);
      for (const std::string& process : log.process_names)
        names.insert(process.substr(0, process.rfind(':')));
      for (const std::string& name : names) by_address[name].push_back(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclFailure* error = cause_of(rank);
      if (!error || error->peer.empty() || !error->may_follow_end()) continue;
      const std::string_view name = address_of_peer(error->peer);
      auto at = by_address.find(name);
      // "worker-1.train.ml.svc.cluster.local" of the host that calls itself worker-1.
      if (at == by_address.end()) at = by_address.find(name.substr(0, name.find('.')));
      if (at == by_address.end()) continue;
      Members peers = at->second;
      std::erase(peers, rank);
      for (const std::size_t peer : peers) {
        if (has_led(peer, rank)) led_to_[peer].push_back(rank);
      }
      if (peers.size() == 1) peers_[rank] = peers.front();
    }
  }

  // Where no error names a rank that is here, the one rank whose log ends with an error that is not the
  // network's led to them all.
  void find_end() {
    Members ends, errors;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (end_of(rank)) {
        ends.push_back(rank);
      } else if (cause_of(rank)) {
        errors.push_back(rank);
      }
    }
    const auto follows = [&](std::size_t rank) { return has_led(ends.front(), rank); };
    if (peers_.empty() && ends.size() == 1 && !errors.empty() && std::ranges::all_of(errors, follows))
      led_to_[ends.front()] = errors;
  }

  // Tells of files that were named and have no line of NCCL's; elsewhere workers may print by their launcher.
  void tell_silent(bool failed) {
    Members silent;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].by_hand && ranks_[rank].problem.empty() && !speaks(ranks_[rank]) &&
          !led_to_.contains(rank))
        silent.push_back(rank);
    }
    // Where others came through the initialisation, all took part.
    if (silent.empty() || (!failed && have_met(ranks_))) return;
    add(Code::InitNotEnded, Severity::Warning, silent,
        named(silent) + ": no line of NCCL's, though " +
            (failed ? "others wait or failed" : "others have some"));
  }

  // "; its peer 10.0.0.2<4711> is worker-3".
  [[nodiscard]] std::string peer_text(std::size_t rank) const {
    const auto peer = peers_.find(rank);
    return peer == peers_.end() ? std::string()
                                : "; its peer " + cause_of(rank)->peer + " is " + ranks_[peer->second].name;
  }

  void sort() {
    into_.order.resize(ranks_.size());
    std::iota(into_.order.begin(), into_.order.end(), std::size_t{0});
    const auto key = [this](std::size_t i) {
      const NcclFailure* cause = cause_of(i);
      const std::string time = cause ? cause->first_time : std::string();
      // A rank that waited in vain, or ended, closed what others lost.
      const bool of_peer = cause && cause->is_of_peer();
      return std::tuple(place_at(i), of_peer, !led_to_.contains(i), into_.differences[i].empty(),
                        time.empty(), time);
    };
    std::ranges::stable_sort(into_.order, {}, key);
  }

  // One finding for all ranks whose logs begin with the same code; a rank's difference has been told already.
  void tell_ranks() {
    std::vector<std::pair<Code, Members>> by_code;
    std::vector<Finding> differences;
    differences.swap(into_.findings);
    for (const std::size_t rank : into_.order) {
      if (led_to_.contains(rank) && !cause_of(rank)) tell_end(rank);
      const Finding* first = first_of(ranks_[rank]);
      if (!first || (first->code == Code::FellBack && mixed_.contains(rank))) continue;
      const auto known = std::ranges::find(by_code, first->code, [](const auto& each) { return each.first; });
      if (known == by_code.end()) {
        by_code.push_back({first->code, {rank}});
      } else {
        known->second.push_back(rank);
      }
    }
    for (const auto& [code, of] : by_code) {
      const Finding& first = *first_of(ranks_[of.front()]);
      add(code, first.severity, of,
          named(of) + ": " + first.sentence + peer_text(of.front()) +
              (code == Code::InitNotEnded ? missing_text() : ""));
      into_.findings.back().remedy = first.remedy;
    }
    tell_silent(!by_code.empty());
    into_.findings.insert(into_.findings.end(), differences.begin(), differences.end());
    std::ranges::stable_sort(into_.findings, {}, &Finding::severity);
  }
  void tell_end(std::size_t rank) {
    const NcclFailure& end = *end_of(rank);
    add(Code::EndedElsewhere, Severity::Error, {rank},
        ranks_[rank].name + ": line " + std::to_string(end.line) + ": " + end.text);
  }

  [[nodiscard]] Place place_at(std::size_t rank) const {
    const Finding* first = first_of(ranks_[rank]);
    if (first && first->code == Code::FellBack && mixed_.contains(rank)) return Place::Odd;
    const Place place = place_of(ranks_[rank], odd_[rank]);
    // Its consequences are symptoms.
    return led_to_.contains(rank) ? std::min(place, Place::Symptom) : place;
  }
  // "; no log here is of rank 3 of 4".
  [[nodiscard]] std::string missing_text() const {
    std::set<int> own;
    int all = 0;
    for (const RankLog& rank : ranks_) {
      if (!speaks(rank)) continue;
      if (rank.log.own_ranks.empty()) return {};
      own.insert(rank.log.own_ranks.begin(), rank.log.own_ranks.end());
      all = std::max(all, rank.log.ranks);
    }
    const std::string missing = missing_ranks(own, all);
    return missing.empty() ? "" : "; no log here is of " + missing;
  }

  [[nodiscard]] std::string sentence() const {
    const std::size_t rank = into_.order.front();
    const Place place = place_at(rank);
    if (is_good(into_.findings)) {
      const auto speaking = static_cast<std::size_t>(std::ranges::count_if(ranks_, speaks));
      const bool begun = std::ranges::all_of(ranks_, [](const RankLog& each) {
        return !speaks(each) || each.log.bootstrap.empty() || each.log.is_initialised();
      });
      return "The logs of " + count_of(speaking, "rank") +
             (into_.findings.empty() && begun && speaking > 1 ? " agree, and tell no failure"
                                                              : " tell no failure") +
             (begun
                  ? "."
                  : ", nor that the initialisation ended: the job waits before that, or the logs were cut.") +
             unread();
    }
    std::string text;
    const auto led = led_to_.find(rank);
    if (led != led_to_.end() && !cause_of(rank)) {
      text = told_as(*std::ranges::find(into_.findings, Code::EndedElsewhere, &Finding::code));
    } else if (place < Place::Odd || place == Place::Consequence ||
               (place == Place::Waits && cause_of(rank) != nullptr)) {
      const std::string differing = differing_beside(rank);
      text = ranks_[rank].name + ": " +
             (differing.empty() ? ranks_[rank].verification.sentence
                                : diagnosis_of(ranks_[rank].verification, ranks_[rank].log, differing));
      if (const auto peer = peers_.find(rank); led == led_to_.end() && peer != peers_.end())
        text += " The peer is " + ranks_[peer->second].name + ".";
    } else {
      const auto first = std::ranges::find_if(into_.findings, [](const Finding& each) {
        return each.code != Code::InitNotEnded && each.severity != Severity::Info;
      });
      text = told_as(first == into_.findings.end() ? into_.findings.front() : *first);
    }
    if (led != led_to_.end()) text += " It led to the errors of " + named(led->second) + ".";
    return text + unread();
  }
  // "MixedNetworks, rank 2: network …": what differs, what it means unless its remedy says so, what to do.
  static std::string told_as(const Finding& told) {
    return std::string(to_string(told.code)) + ", " + told.sentence + ". " +
           (told.remedy.empty() ? std::string(words_of(told.code).meaning) + " " : std::string()) +
           std::string(remedy_of(told));
  }
  // "r2 differs from others (GID index 1 instead of 3).", where the rank's failure tells no cause.
  [[nodiscard]] std::string differing_beside(std::size_t rank) const {
    constexpr std::size_t kMostDiffering = 2;
    const NcclFailure* cause = cause_of(rank);
    if (!cause || !(cause->is_of_transfer() || cause->is_of_peer() || cause->code == Code::TimedOut))
      return {};
    Members differing;
    for (const std::size_t each : into_.order) {
      if (!into_.differences[each].empty()) differing.push_back(each);
    }
    if (differing.empty()) return {};
    const std::string names = join_some(differing, kMostDiffering, [this](std::size_t each) {
      return ranks_[each].name + " (" + into_.differences[each] + ")";
    });
    return names + (differing.size() == 1 ? " differs" : " differ") + " from others.";
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
  std::vector<bool> odd_;                     // of each rank: it differs from most
  std::set<std::size_t> mixed_;               // ranks on another network than most
  std::map<std::size_t, std::size_t> peers_;  // of ranks with an error that names one
  std::map<std::size_t, Members> led_to_;     // a rank with an event or its end -> those errors
  RanksVerification into_;
};

// "TimedOut; MissingRail: - mlx5_4:1": what the log tells by itself, and what sets it apart.
std::string answer_of(const RankLog& rank, const std::string& difference) {
  if (!rank.problem.empty()) return rank.problem;
  if (!speaks(rank)) return "no line of NCCL's";
  const Finding* first = first_of(rank);
  std::string text = first ? std::string(to_string(first->code)) : "";
  if (!difference.empty()) text += (text.empty() ? "" : "; ") + difference;
  return text.empty() ? "-" : text;
}

// The index that queue pairs have; where no line tells one, the one that NCCL reads.
std::string index_text(const NcclLog& log) {
  const auto read = log.values.find(variable::kIbGidIndex);
  return listed(log.gid_indexes.empty() && read != log.values.end() ? read->second : log.gid_indexes);
}

}  // namespace

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
    columns.add({rank.name, listed(log.versions),
                 log.devices.empty() ? "-" : std::to_string(log.devices.size()), index_text(log),
                 listed(log.networks), listed(log.bootstrap),
                 answer_of(rank, verification.differences[verification.order[i]])});
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
    nlohmann::ordered_json rank = {{"rank", ranks[i].name},
                                   {"problem", text_or_null(ranks[i].problem)},
                                   {"difference", text_or_null(verification.differences[i])}};
    if (ranks[i].problem.empty()) rank.update(to_json(ranks[i].verification, ranks[i].log));
    json["ranks"].push_back(std::move(rank));
  }
  return json;
}

}  // namespace nccl_env
