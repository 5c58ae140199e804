// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: one class judges the ranks, and each of its rules reads what those before it found.
#include "nccl_env/core/nccl_log/rank_logs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/log_mark.h"
#include "nccl_env/core/nccl_log/log_print.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_log/launch_fault.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/rank_differences.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostNames = 4, kMostTold = 256, kMostQuoted = 120;
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

// "14:02:11"; of a program's own line, "E1127 14:02:11.1 1 torch/…: failed", the one that it begins with.
std::string time_of(const NcclFailure& failure) {
  constexpr std::size_t kLongestStamp = 40;
  return failure.first_time.empty() ? clock_in(std::string_view(failure.text).substr(0, kLongestStamp))
                                    : failure.first_time;
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
    {Code::CallsDiffer, "Compare what the ranks call at that point, and their versions, as below."},
    {Code::SizesDiffer,
     "Compare what these ranks call at that point (the tensor's size, its type), and their NCCL variables "
     "(`env | grep NCCL_` in each)."},
    {Code::TimedOut,
     "Look for the rank that waits in another call or whose log ends first (py-spy dump --pid PID); in a job "
     "that hangs now, from NCCL 2.24 on, `ncclras -v` in a pod."}};
std::string_view remedy_beside(const Finding& finding) {
  const auto row = std::ranges::find(kBesideOthers, finding.code, &std::pair<Code, std::string_view>::first);
  return finding.remedy.empty() && row != std::end(kBesideOthers) ? row->second : remedy_of(finding);
}

// True for what ranks have to have alike, or their first collective hangs, or comes with unequal sizes.
bool is_cause_of_hang(const Finding& finding) {
  constexpr Code kCodes[] = {Code::MixedNetworks, Code::MixedLinks, Code::ValuesDiffer,
                             Code::NcclVersionsDiffer, Code::MissingRail};
  return finding.subject.kind == "Job" && std::ranges::find(kCodes, finding.code) != std::end(kCodes) &&
         (finding.code != Code::ValuesDiffer || finding.severity == Severity::Error);
}

// How near a rank is to the cause: what its log tells by itself, then what sets it apart from others.
enum class Place { Cause, Symptom, Unknown, Slows, Odd, Silent, Consequence, Waits, Fine };
Place place_of(const RankLog& rank, bool odd) {
  const LogVerification& verification = rank.verification;
  const Nearness nearness = verification.cause ? verification.failures[*verification.cause].failure.nearness()
                                               : Nearness::Consequence;
  const bool limit = verification.cause && verification.failures[*verification.cause].failure.is_time_limit();
  if (verification.cause && nearness < Nearness::Consequence && !limit) return static_cast<Place>(nearness);
  const Finding* first = first_of(rank);
  if (first && !verification.cause && first->code != Code::InitNotEnded) return Place::Slows;
  if (odd) return Place::Odd;
  if (!speaks(rank)) return Place::Silent;
  if (verification.cause && !limit) return Place::Consequence;
  return first ? Place::Waits : Place::Fine;
}

class RankJudge {
 public:
  explicit RankJudge(const std::vector<RankLog>& ranks) : ranks_(ranks), odd_(ranks.size()) {}

  RanksVerification judge() && {
    into_.differences.resize(ranks_.size());
    find_jobs();
    find_launch_fault();
    for (const std::vector<std::size_t>& job : jobs_) {
      for (RankDifference& difference : differences_of(ranks_, job)) take(std::move(difference));
    }
    match_peers();
    find_behind();
    find_late();
    find_hang();
    find_unbegun();
    find_restarted();
    sort();
    tell_ranks();
    if (hung_ > 0) lead_with_difference();
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

  // Notes what sets these ranks apart.
  void take(RankDifference difference) {
    add(difference.code, difference.severity, difference.ranks,
        named(difference.ranks) + ": " + difference.sentence);
    into_.findings.back().remedy = std::move(difference.remedy);
    for (const std::size_t rank : difference.ranks) {
      odd_[rank] = odd_[rank] || difference.odd;
      if (difference.code == Code::MixedNetworks) mixed_.insert(rank);
      if (difference.row.empty()) continue;
      const bool info = difference.severity == Severity::Info;
      note(rank, (info ? "" : std::string(to_string(difference.code)) + ": ") + difference.row);
    }
  }
  void note(std::size_t rank, const std::string& difference) {
    into_.differences[rank] += (into_.differences[rank].empty() ? "" : "; ") + difference;
  }

  // Logs of one job, and of each other one those that share a communicator.
  void find_jobs() {
    std::vector<const NcclLog*> logs;
    for (const RankLog& rank : ranks_) logs.push_back(&rank.log);
    const std::vector<std::size_t> numbers = jobs_of(logs);
    jobs_.resize(1 + *std::ranges::max_element(numbers));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) jobs_[numbers[rank]].push_back(rank);
  }

  void find_launch_fault() {
    std::vector<const NcclLog*> logs;
    for (const RankLog& rank : ranks_) logs.push_back(&rank.log);
    const auto fault = nccl_env::find_launch_fault(
        logs, [this](std::size_t rank, const LogFact&) { return ranks_[rank].name; });
    // One of a single log stands in its own verdict.
    if (!fault || fault->of_one_log) return tell_tests_apart();
    RankDifference difference{
        Code::LaunchFailed, Severity::Error,
        fault->logs,        fault->sentence,
        fault->row,         std::string(fault->told->meaning) + " " + std::string(fault->told->remedy)};
    launched_ = fault->logs;
    take(std::move(difference));
  }
  // Each log is of a run of nccl-tests for itself.
  void tell_tests_apart() {
    const bool apart = jobs_.size() > 1 && jobs_.size() == ranks_.size() &&
                       std::ranges::all_of(ranks_, [](const RankLog& rank) {
                         return rank.log.table_line > 0 && rank.log.ranks == 1;
                       });
    if (!apart) return;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) launched_.push_back(rank);
    take({Code::LaunchFailed, Severity::Warning, launched_,
          "each is a run of nccl-tests with one rank, and nothing went between them", "ran for itself",
          "Build nccl-tests with MPI=1 and start it with the mpirun of that MPI, or name the MPI in srun "
          "--mpi."});
  }

  [[nodiscard]] const NcclFailure* cause_of(std::size_t rank) const {
    const LogVerification& verification = ranks_[rank].verification;
    return verification.cause ? &verification.failures[*verification.cause].failure : nullptr;
  }

  // True if what the peer's log tells most likely led to this rank's error: a port's event or the process's
  // end, which does not come later as far as both logs tell the time. An end behind an error of the peer's
  // own followed that one, and a signal that both got came from who ends the job. A connection that closed
  // shows that the process at its other end had ended, by whatever signal.
  [[nodiscard]] bool has_led(std::size_t peer, std::size_t rank) const {
    const NcclFailure* error = cause_of(rank);
    const NcclFailure* event = cause_of(peer);
    if (!event || !(error->is_of_transfer() ? event->is_port_event() || event->is_end()
                                            : error->is_of_peer() && event->code == Code::Killed))
      return false;
    const std::vector<NcclFailure>& own = ranks_[peer].log.failures;
    const std::vector<NcclFailure>& others = ranks_[rank].log.failures;
    if (!event->is_port_event() && std::ranges::any_of(own, [&](const NcclFailure& each) {
          return each.line < event->line &&
                 (each.is_of_transfer() || each.is_of_peer() || each.code == Code::TimedOut);
        }))
      return false;
    if (event->code == Code::Killed &&
        std::ranges::find(others, Code::Killed, &NcclFailure::code) != others.end())
      return false;
    const std::string ended = time_of(*event), failed = time_of(*error);
    return ended.empty() || failed.empty() || !is_later(ended, failed);
  }

  // Finds the ranks that errors name as their peers, and those of them that led to the errors.
  void match_peers() {
    std::map<std::string, std::vector<std::size_t>, std::less<>> by_address;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclLog& log = ranks_[rank].log;
      std::set<std::string, std::less<>> names;
      for (const auto& [address, fact] : log.addresses) names.insert(address);
      for (const std::string& process : log.process_names)
        names.insert(process.substr(0, process.rfind(':')));
      for (const std::string& name : names) by_address[name].push_back(rank);
    }
    const bool all_tell = std::ranges::none_of(
        ranks_, [](const RankLog& rank) { return speaks(rank) && rank.log.addresses.empty(); });
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclFailure* error = cause_of(rank);
      if (!error || error->peer.empty() ||
          !(error->is_of_transfer() || error->is_of_peer() || error->code == Code::NoConnection))
        continue;
      const std::string_view name = address_of_peer(error->peer);
      auto at = by_address.find(name);
      // "worker-1.train.ml.svc.cluster.local" of the host that calls itself worker-1.
      if (at == by_address.end()) at = by_address.find(name.substr(0, name.find('.')));
      if (at == by_address.end()) {
        if (error->is_of_peer() && all_tell) strangers_.insert(rank);
        continue;
      }
      std::vector<std::size_t> peers = at->second;
      std::erase(peers, rank);
      for (const std::size_t peer : peers) {
        if (has_led(peer, rank)) led_to_[peer].push_back(rank);
      }
      if (peers.size() == 1) peers_[rank] = peers.front();
    }
  }

  // Where ranks tell of nothing but an initialisation that does not end, those whose log ends before they
  // began theirs.
  void find_unbegun() {
    std::vector<std::size_t> before;
    bool wait = false;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Finding* first = first_of(ranks_[rank]);
      const NcclLog& log = ranks_[rank].log;
      if (first && first->code != Code::InitNotEnded) return;
      wait = wait || first;
      const bool begun = first || log.initialised > 0 || !log.communicators.empty() || !log.own_ranks.empty();
      // With NCCL_DEBUG=VERSION a log tells no more than that.
      if (!begun && speaks(ranks_[rank]) && !log.bootstrap.empty()) before.push_back(rank);
    }
    if (wait) unbegun_ = std::move(before);
  }
  // A rank that others lost, or met before, and that waits in a communicator that no other log has.
  void find_restarted() {
    std::map<std::string_view, std::size_t> logs;  // of each communicator
    for (const RankLog& rank : ranks_) {
      for (const auto& [id, communicator] : rank.log.communicators) ++logs[id];
    }
    std::set<std::size_t> lost;
    for (const auto& [rank, peer] : peers_) lost.insert(peer);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Finding* first = first_of(ranks_[rank]);
      if (!first || first->code != Code::InitNotEnded || !lost.contains(rank)) continue;
      const auto& own = ranks_[rank].log.communicators;
      const auto alone = std::ranges::find_if(own, [&](const auto& each) { return logs[each.first] == 1; });
      if (alone == own.end() || logs.size() < 2 || ranks_[rank].log.ranks < 2) continue;
      restarted_ = rank;
      new_id_ = alone->first;
    }
  }
  void tell_restarted() {
    const NcclLog& log = ranks_[*restarted_].log;
    const auto& ranks = log.communicators.find(new_id_)->second.ranks;
    add(Code::InitNotEnded, Severity::Error, {*restarted_},
        ranks_[*restarted_].name + ": rank " +
            join_some(ranks, kMostNames, [](const auto& each) { return std::to_string(each.first); }) +
            " was started anew and waits in a new communicator, " + new_id_ +
            ", which no other log has; the others lost it before");
    into_.findings.back().remedy =
        "Its log from before tells why it ended (kubectl logs --previous): look there first, then start all "
        "ranks anew, together.";
  }
  void tell_unbegun(const std::vector<std::size_t>& waiting) {
    const bool one = unbegun_.size() == 1;
    add(Code::InitNotEnded, Severity::Warning, unbegun_,
        named(unbegun_) + " did not reach Init START, and " + named(waiting) +
            (waiting.size() == 1 ? " waits for " : " wait for ") + (one ? "it" : "them"));
    into_.findings.back().remedy = std::string("Look at how that log ends, and at what its process does ") +
                                   "(the pod's state, py-spy dump --pid PID).";
  }

  // Ranks with the same part in the job all have NCCL's lines, or none: workers of MPI print by their
  // launcher.
  [[nodiscard]] std::vector<std::size_t> silent_ranks() const {
    const auto part_of = [this](std::size_t rank) {
      const std::string_view name = ranks_[rank].name;
      return name.substr(0, std::min(name.rfind('-'), name.find_last_not_of("0123456789") + 1));
    };
    std::vector<std::size_t> silent;
    std::set<std::string_view> speaking;
    for (const std::size_t rank : into_.order) {
      if (speaks(ranks_[rank])) {
        speaking.insert(part_of(rank));
      } else if (ranks_[rank].problem.empty()) {
        silent.push_back(rank);
      }
    }
    std::erase_if(
        silent, [&](std::size_t rank) { return !ranks_[rank].by_hand && !speaking.contains(part_of(rank)); });
    return silent;
  }
  // Tells of the silent ranks; `waiting` are those whose logs tell of an initialisation that did not end, if
  // logs tell of nothing else, and `failed` says that others failed.
  void tell_silent(const std::vector<std::size_t>& silent, const std::vector<std::size_t>& waiting,
                   bool failed) {
    // Where others came through the initialisation, all took part.
    if (!failed && waiting.empty() && have_met(ranks_)) return;
    const std::string why = failed ? "others wait or failed"
                            : waiting.empty()
                                ? "others have some: it has not come so far, or prints elsewhere"
                                : named(waiting) + (waiting.size() == 1 ? " waits" : " wait") +
                                      " for all ranks (" + first_of(ranks_[waiting.front()])->sentence + ")";
    add(Code::InitNotEnded, Severity::Warning, silent, named(silent) + ": no line of NCCL's, though " + why);
    if (!failed)
      into_.findings.back().remedy = "Look at that rank's state and log first; the others wait for it.";
  }

  // "; its peer 10.0.0.2<4711> is worker-3".
  [[nodiscard]] std::string peer_text(std::size_t rank) const {
    const auto peer = peers_.find(rank);
    if (strangers_.contains(rank)) return "; no log here is of that peer";
    return peer == peers_.end() ? std::string()
                                : "; its peer " + cause_of(rank)->peer + " is " + ranks_[peer->second].name;
  }

  // Two ranks that wait in unlike calls: the one that is behind.
  void find_behind() {
    NcclLog all;
    std::map<std::uint64_t, std::size_t> told_by;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Finding* first = first_of(ranks_[i]);
      if (first && first->code != Code::TimedOut) return;
      for (const auto& [rank, call] : ranks_[i].log.waiting) {
        if (all.waiting.emplace(rank, call).second) told_by[rank] = i;
      }
    }
    const auto two = out_of_step(all);
    if (!two) return;
    const auto like = [&](std::uint64_t rank) {
      return std::ranges::count(all.waiting, all.waiting.at(rank),
                                [](const auto& each) { return each.second; });
    };
    const bool second = all.waiting.at(two->first).number == all.waiting.at(two->second).number &&
                        like(two->second) < like(two->first);
    behind_ = told_by.at(second ? two->second : two->first);
    behind_text_ = step_text(all);
  }

  // Counts the ranks that hang or fail in their first collective, where no rank tells of anything else, and a
  // difference between them is why.
  void find_hang() {
    // A rank that differs in nothing, and that others waited for, is another reason.
    const bool late = !late_.empty() && std::ranges::none_of(late_, [this](auto rank) { return odd_[rank]; });
    if (behind_ || late || std::ranges::none_of(into_.findings, is_cause_of_hang)) return;
    std::size_t hung = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const NcclFailure* cause = cause_of(rank);
      const bool first = cause && cause->code == Code::TimedOut && cause->sequence.value_or(0) == 1;
      const bool sizes = cause && cause->code == Code::SizesDiffer;
      if (cause && !first && !sizes && !cause->is_of_peer()) return;
      hung += first || sizes ? 1 : 0;
    }
    hung_ = hung;
  }
  void lead_with_difference() {
    const auto found = std::ranges::find_if(into_.findings, is_cause_of_hang);
    std::rotate(into_.findings.begin(), found, found + 1);
  }

  // Where most ranks tell of a time-out or of another's end, and of nothing else, those that do not are what
  // they waited for.
  void find_late() {
    bool limited = false, all_limited = true;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Finding* first = first_of(ranks_[i]);
      const NcclFailure* cause = cause_of(i);
      const bool limit = cause && cause->is_time_limit();
      if (first && first->code != Code::TimedOut &&
          !(cause && (cause->is_of_peer() || cause->code == Code::NoAnswer)))
        return;
      if ((!first || limit) && speaks(ranks_[i])) others.push_back(i);
      waiting_ += first && !limit ? 1 : 0;
      lost_ = lost_ || (first && first->code != Code::TimedOut);
      closed_ = closed_ || (cause && cause->is_of_peer());
      limited = limited || limit;
      all_limited = all_limited && !limit_text(ranks_[i].log).empty();
    }
    // Those that the limit had not ended lost the ones that it had.
    ended_by_limit_ = lost_ && limited && !all_limited;
    if (ended_by_limit_) return;
    // A rank whose connection closed did not close it.
    if (others.size() < waiting_ || (closed_ && others.size() == waiting_)) late_ = std::move(others);
    if (lost_) narrow_late();
    for (const std::size_t rank : late_) note(rank, lost_ ? "most likely ended first" : "most likely late");
  }
  // True if the peer's log tells an error of its own: of a transfer, or one that names this rank.
  [[nodiscard]] bool is_pair(std::size_t rank, std::size_t peer) const {
    const NcclFailure* error = cause_of(peer);
    const auto back = peers_.find(peer);
    return (error && error->is_of_transfer()) || (back != peers_.end() && back->second == rank);
  }
  // Keeps those that others name as their peers, and of them the one whose log ends first.
  void narrow_late() {
    std::set<std::size_t> named;
    for (const auto& [rank, peer] : peers_) named.insert(peer);
    const auto is_named = [&](std::size_t rank) { return named.contains(rank); };
    if (std::ranges::any_of(late_, is_named)) {
      std::erase_if(late_, [&](std::size_t rank) { return !is_named(rank); });
    } else if (std::ranges::any_of(peers_,
                                   [this](const auto& each) { return is_pair(each.first, each.second); })) {
      late_.clear();  // the errors name a pair that failed, and no silent rank
    }
    const auto time = [this](std::size_t rank) -> const std::string& { return ranks_[rank].log.last_time; };
    if (late_.size() < 2 || std::ranges::any_of(late_, [&](std::size_t rank) { return time(rank).empty(); }))
      return;
    std::size_t first = late_.front();
    for (const std::size_t rank : late_) {
      if (is_later(time(first), time(rank))) first = rank;
    }
    std::erase_if(late_, [&](std::size_t rank) { return is_later(time(rank), time(first)); });
  }

  void sort() {
    into_.order.resize(ranks_.size());
    std::iota(into_.order.begin(), into_.order.end(), std::size_t{0});
    const auto key = [this](std::size_t i) {
      const LogVerification& verification = ranks_[i].verification;
      const std::string time =
          verification.cause ? verification.failures[*verification.cause].failure.first_time : std::string();
      const bool late = std::ranges::binary_search(late_, i);
      const bool launched = std::ranges::binary_search(launched_, i);
      // A rank that waited in vain, or ended, closed what others lost.
      const NcclFailure* cause = cause_of(i);
      const bool of_peer = cause && cause->is_of_peer();
      return std::tuple(!launched, !late && behind_ != i, place_at(i), of_peer, !led_to_.contains(i),
                        into_.differences[i].empty(), time.empty(), time);
    };
    std::ranges::stable_sort(into_.order, {}, key);
  }

  // One finding for all ranks whose logs begin with the same code; a rank's difference has been told already.
  void tell_ranks() {
    std::vector<std::pair<Code, std::vector<std::size_t>>> by_code;
    for (const std::size_t rank : into_.order) {
      const Finding* first = first_of(ranks_[rank]);
      if (!first || is_told(rank) || restarted_ == rank) continue;
      const auto known = std::ranges::find(by_code, first->code, [](const auto& each) { return each.first; });
      if (known == by_code.end()) {
        by_code.push_back({first->code, {rank}});
      } else {
        known->second.push_back(rank);
      }
    }
    const std::vector<std::size_t> silent = silent_ranks();
    const bool wait = by_code.size() == 1 && by_code.front().first == Code::InitNotEnded;
    std::vector<Finding> differences;
    differences.swap(into_.findings);
    for (const auto& [code, of] : by_code) {
      if (wait && !(silent.empty() && unbegun_.empty())) break;  // told with those that they wait for
      const Finding& first = *first_of(ranks_[of.front()]);
      add(code, first.severity, of,
          named(of) + ": " + first.sentence + line_text(of) + peer_text(of.front()) +
              (code == Code::InitNotEnded ? missing_text() : ""));
      into_.findings.back().remedy = remedy_beside(first);
    }
    if (wait && !unbegun_.empty()) tell_unbegun(by_code.front().second);
    if (restarted_) tell_restarted();
    if (!silent.empty())
      tell_silent(silent, wait ? by_code.front().second : std::vector<std::size_t>(),
                  !wait && !by_code.empty());
    into_.findings.insert(into_.findings.end(), differences.begin(), differences.end());
    tell_survived();
    std::ranges::stable_sort(into_.findings, [this](const Finding& left, const Finding& right) {
      const auto key = [this](const Finding& each) {
        return std::tuple(launched_.empty() || each.code != Code::LaunchFailed, each.severity,
                          !restarted_ || each.code != Code::InitNotEnded);
      };
      return key(left) < key(right);
    });
  }
  // " (rank-0.log: line 11)": where the second of two tells it, if elsewhere than the first.
  [[nodiscard]] std::string line_text(const std::vector<std::size_t>& of) const {
    const auto line_of = [this](std::size_t rank) {
      const std::string& sentence = first_of(ranks_[rank])->sentence;
      return sentence.starts_with("line ") ? sentence.substr(0, sentence.find(':')) : std::string();
    };
    if (of.size() != 2 || line_of(of.back()).empty() || line_of(of.back()) == line_of(of.front())) return {};
    return " (" + ranks_[of.back()].name + ": " + line_of(of.back()) + ")";
  }
  // Notes what ranks came through whose logs tell nothing worse.
  void tell_survived() {
    for (const RankLog& rank : ranks_) {
      const std::vector<Finding>& findings = rank.verification.findings;
      if (!findings.empty() && is_good(findings) && !rank.verification.failures.empty())
        add(findings.front().code, Severity::Info, {static_cast<std::size_t>(&rank - ranks_.data())},
            rank.name + ": " + findings.front().sentence);
    }
  }
  // True of a rank whose finding only follows from what was told of the job.
  [[nodiscard]] bool is_told(std::size_t rank) const {
    const Finding* first = first_of(ranks_[rank]);
    const NcclFailure* cause = cause_of(rank);
    if (first->code == Code::FellBack && mixed_.contains(rank)) return true;
    return !launched_.empty() && (first->code == Code::InitNotEnded || first->code == Code::LaunchFailed ||
                                  (cause && cause->nearness() >= Nearness::Consequence));
  }
  [[nodiscard]] Place place_at(std::size_t rank) const {
    const Finding* first = first_of(ranks_[rank]);
    const bool mixed = first && first->code == Code::FellBack && mixed_.contains(rank);
    const NcclFailure* cause = cause_of(rank);
    if (ended_by_limit_ && cause && cause->is_time_limit()) return Place::Cause;
    if (mixed) return Place::Odd;
    if (restarted_ == rank) return Place::Symptom;
    if (std::ranges::binary_search(unbegun_, rank)) return Place::Silent;
    const Place place = place_of(ranks_[rank], odd_[rank]);
    // Its consequences are symptoms.
    return led_to_.contains(rank) ? std::min(place, Place::Symptom) : place;
  }
  // The ranks that the logs tell to be their own, of how many.
  [[nodiscard]] std::pair<std::set<int>, int> own_ranks() const {
    std::pair<std::set<int>, int> own;
    for (const RankLog& rank : ranks_) {
      if (!speaks(rank)) continue;
      if (rank.log.own_ranks.empty() || jobs_.size() > 1) return {};
      own.first.insert(rank.log.own_ranks.begin(), rank.log.own_ranks.end());
      own.second = std::max(own.second, rank.log.ranks);
    }
    return own;
  }
  // "; no log here is of rank 3 of 4".
  [[nodiscard]] std::string missing_text() const {
    const auto [own, all] = own_ranks();
    const std::string missing = missing_ranks(own, all);
    return missing.empty() ? "" : "; no log here is of " + missing;
  }

  [[nodiscard]] std::string sentence() const {
    const std::size_t rank = into_.order.front();
    const Place place = place_at(rank);
    if (is_good(into_.findings)) {
      const std::vector<std::size_t> cut = this->cut();
      const auto speaking = static_cast<std::size_t>(std::ranges::count_if(ranks_, speaks));
      const bool agree =
          into_.findings.empty() && jobs_.size() == 1 && cut.empty() && twice_text().empty() && speaking > 1;
      return "The logs of " + ranks_text() + (agree ? " agree, and tell no failure" : " tell no failure") +
             (cut.empty() ? survived_text()
              : cut.size() < speaking
                  ? "; the initialisation does not end in " + named(cut) + ", which may have been cut."
                  : ", nor that the initialisation ended: the job waits before that, or the logs were cut.") +
             twice_text() + jobs_text() + unread();
    }
    std::string text;
    if (!launched_.empty()) {
      text = told_as(into_.findings.front());
    } else if (restarted_ == rank) {
      text = told_as(*std::ranges::find(into_.findings, Code::InitNotEnded, &Finding::code));
    } else if (hung_ > 0) {
      text = told_as(into_.findings.front(), hang_text());
    } else if (!late_.empty()) {
      text = late_text();
    } else if (behind_) {
      text =
          ranks_[*behind_].name + ": TimedOut: " + behind_text_ +
          " Look at what that rank calls there, or does before (its log, py-spy dump --pid PID), and others "
          "do not.";
    } else if (place < Place::Odd || place == Place::Consequence ||
               (place == Place::Waits && cause_of(rank) != nullptr)) {
      text = ranks_[rank].name + ": " + with_differences(told_by(rank), rank);
      if (const auto led = led_to_.find(rank); led != led_to_.end()) {
        text += " It led to the errors of " + named(led->second) + ", whose peer this rank is.";
      } else if (const auto peer = peers_.find(rank); peer != peers_.end()) {
        text += " The peer is " + ranks_[peer->second].name + "." + mtu_text(rank, peer->second);
      } else if (strangers_.contains(rank)) {
        text += " No log here is of its peer: give that one's, too.";
      }
    } else {
      const auto first = std::ranges::find_if(into_.findings, [](const Finding& each) {
        return each.code != Code::InitNotEnded && each.severity != Severity::Info;
      });
      text = told_as(first == into_.findings.end() ? into_.findings.front() : *first);
    }
    return text + twice_text() + jobs_text() + unread();
  }
  // " MTU 4096 in rank-0.log, 1024 in rank-1.log: …" of the two ends of a transfer's error, unless equal.
  [[nodiscard]] std::string mtu_text(std::size_t rank, std::size_t peer) const {
    const NcclLog::Facts &own = ranks_[rank].log.mtus, &other = ranks_[peer].log.mtus;
    if (own.empty() || other.empty() || listed(own) == listed(other) || !cause_of(rank)->is_of_transfer())
      return {};
    const auto bytes = [](const NcclLog::Facts& mtus) {
      return join(mtus, ",", [](const auto& each) { return bytes_of_mtu(each.first); });
    };
    return " The ports differ in MTU: " + bytes(own) + " in " + ranks_[rank].name + ", " + bytes(other) +
           " in " + ranks_[peer].name + ". Give both the same.";
  }
  // Ranks whose logs tell how NCCL began, and not that its initialisation ended.
  [[nodiscard]] std::vector<std::size_t> cut() const {
    std::vector<std::size_t> cut;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const NcclLog& log = ranks_[i].log;
      if (speaks(ranks_[i]) && !log.bootstrap.empty() && !log.is_initialised()) cut.push_back(i);
    }
    return cut;
  }
  // "." or " that ended them (LinkDown in line 24 of rank-1.log)."
  [[nodiscard]] std::string survived_text() const {
    std::vector<std::string> told;
    for (const RankLog& rank : ranks_) {
      if (rank.verification.failures.empty()) continue;
      const NcclFailure& failure = rank.verification.failures.front().failure;
      told.push_back(std::string(to_string(failure.code)) + " in line " + std::to_string(failure.line) +
                     " of " + rank.name);
    }
    return told.empty() ? "." : " that ended them (" + join_some(told, kMostNames) + ").";
  }
  // " a.log, b.log are both of rank 0; no log here is of rank 1 of 2."
  [[nodiscard]] std::string twice_text() const {
    std::map<std::pair<std::string_view, int>, std::vector<std::size_t>> logs;  // of each rank
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (const auto& [id, communicator] : ranks_[i].log.communicators) {
        for (const auto& [rank, fact] : communicator.ranks) logs[{id, rank}].push_back(i);
      }
    }
    const auto twice = std::ranges::find_if(logs, [](const auto& each) { return each.second.size() > 1; });
    if (twice == logs.end() || !launched_.empty()) return {};
    const auto& of = twice->second;
    return " " + named(of) + (of.size() == 2 ? " are both" : " are all") + " of rank " +
           std::to_string(twice->first.second) + missing_text() + ".";
  }
  // "MixedNetworks, rank 2: network …": what differs, what it means unless its remedy says so, what to do.
  static std::string told_as(const Finding& told, const std::string& follows = {}) {
    return std::string(to_string(told.code)) + ", " + told.sentence + "." + follows + " " +
           (told.remedy.empty() || remedy_beside({told.code}) == told.remedy
                ? std::string(words_of(told.code).meaning) + " "
                : std::string()) +
           std::string(remedy_beside(told));
  }
  // " Most likely it is why 4 ranks did not end their first collective: TimedOut in line 16 of rank-0.log."
  [[nodiscard]] std::string hang_text() const {
    const std::size_t rank = *std::ranges::find_if(into_.order, [this](std::size_t each) {
      const NcclFailure* cause = cause_of(each);
      return cause && !cause->is_of_peer();
    });
    const NcclFailure& failure = *cause_of(rank);
    return " Most likely it is why " + count_of(hung_, "rank") +
           (failure.code == Code::SizesDiffer ? " met unequal sizes: "
                                              : " did not end the first collective: ") +
           std::string(to_string(failure.code)) + " in line " + std::to_string(failure.line) + " of " +
           ranks_[rank].name + ".";
  }
  // "2 of 4 ranks" where the logs tell fewer ranks than their job has.
  [[nodiscard]] std::string ranks_text() const {
    const auto [own, all] = own_ranks();
    if (own.empty() || own.size() >= kMostTold)
      return count_of(static_cast<std::size_t>(std::ranges::count_if(ranks_, speaks)), "rank");
    return (own.size() < static_cast<std::size_t>(all) ? std::to_string(own.size()) + " of "
                                                       : std::string()) +
           count_of(static_cast<std::size_t>(all), "rank");
  }
  // " They are of 2 jobs, which share no communicator: a.log, b.log; c.log."
  [[nodiscard]] std::string jobs_text() const {
    if (jobs_.size() < 2 || !launched_.empty() || restarted_) return {};
    const bool alone = std::ranges::all_of(
        ranks_, [](const RankLog& rank) { return rank.log.communicators.empty() || rank.log.ranks == 1; });
    return " The logs are of " + std::to_string(jobs_.size()) + " jobs" + (alone ? " of one rank each" : "") +
           ", which share no communicator: " +
           join(std::span(jobs_).first(std::min(jobs_.size(), kMostNames)), "; ",
                [this](const std::vector<std::size_t>& job) { return named(job); }) +
           (jobs_.size() > kMostNames ? "; and so on." : ".");
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
  // "NoAnswer: r2 differs from others (GID index 1 instead of 3). The peer …", where the failure tells no
  // cause.
  [[nodiscard]] std::string with_differences(std::string text, std::size_t rank) const {
    constexpr std::size_t kMostDiffering = 2;
    const NcclFailure* cause = cause_of(rank);
    if (!cause || !(cause->is_of_transfer() || cause->is_of_peer() || cause->code == Code::TimedOut))
      return text;
    std::vector<std::size_t> differing;
    for (const std::size_t each : into_.order) {
      if (!into_.differences[each].empty()) differing.push_back(each);
    }
    const std::size_t at = text.find(": ");
    if (differing.empty() || at == text.npos) return text;
    const std::string names = join_some(differing, kMostDiffering, [this](std::size_t each) {
      return ranks_[each].name + " (" + into_.differences[each] + ")";
    });
    return text.insert(at + 2, names + (differing.size() == 1 ? " differs" : " differ") + " from others. ");
  }
  [[nodiscard]] std::string late_text() const {
    const bool one = late_.size() == 1;
    const std::size_t waiting = waiting_rank();
    if (!lost_)
      return named(late_) + (one ? " tells" : " tell") + " of no time-out, while " +
             count_of(waiting_, "other rank") + " waited in vain: most likely for " + (one ? "it" : "them") +
             ". See what that pod does (py-spy dump --pid PID), and how its log ends. " +
             ranks_[waiting].name + ": " + told_by(waiting);
    const Finding& first = *first_of(ranks_[waiting]);
    const std::string& end = ranks_[late_.front()].log.last_line;
    return named(late_) + (one ? " tells" : " tell") + " no failure, while " +
           count_of(waiting_, "other rank") + " lost the connection: most likely " +
           (one ? "it" : "one of them") +
           " ended first, killed from outside (OOMKilled, evicted), or hangs. See that pod's last state "
           "(kubectl "
           "describe pod), dmesg on its node, and how its log ends" +
           (end.empty() ? "" : " (\"" + end.substr(0, kMostQuoted) + "\")") + ". " + ranks_[waiting].name +
           ": " + std::string(to_string(first.code)) + ", " + first.sentence + peer_text(waiting) + ".";
  }
  [[nodiscard]] std::size_t waiting_rank() const {
    return *std::ranges::find_if(into_.order, [this](std::size_t rank) {
      return first_of(ranks_[rank]) && !std::ranges::binary_search(late_, rank);
    });
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
  std::vector<std::vector<std::size_t>> jobs_;              // the ranks of each; logs of one job share it
  std::vector<std::size_t> launched_;                       // ascending: ranks that show the launcher's fault
  std::set<std::size_t> mixed_;                             // ranks on another network than most
  std::map<std::size_t, std::size_t> peers_;                // of ranks with an error that names one
  std::set<std::size_t> strangers_;                         // ranks whose error names a peer without a log
  std::map<std::size_t, std::vector<std::size_t>> led_to_;  // a rank with an event or its end -> those errors
  std::vector<std::size_t> late_;  // ascending: ranks that others, `waiting_` of them, waited for in vain
  std::size_t waiting_ = 0;
  std::size_t hung_ = 0;         // ranks that a difference between them holds in their first collective
  bool ended_by_limit_ = false;  // some ranks alone, which the others lost
  bool lost_ = false, closed_ = false;    // some of those lost a peer; a peer closed the connection
  std::vector<std::size_t> unbegun_;      // ascending: ranks that others wait for to begin
  std::optional<std::size_t> restarted_;  // the rank that waits alone, in the communicator `new_id_`
  std::string new_id_;
  std::optional<std::size_t> behind_;  // the rank that waits in an earlier call than others
  std::string behind_text_;
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
