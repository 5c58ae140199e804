// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/causes.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "nccl_env/core/text/join.h"
#include "proof/description.h"

namespace nccl_env {
namespace {

using RailPlace = std::pair<int, int>;  // member, rail

// More are no help to people, and each costs a look at all links that are left.
constexpr int kMostRails = 64;

// A link with its ends.
struct Tried {
  const ProofLink* link;
  RailPlace from, to;

  [[nodiscard]] const RailPlace& other(const RailPlace& end) const { return end == from ? to : from; }
};
using Links = std::vector<const Tried*>;

const ProofRail& rail_at(const Proof& proof, const RailPlace& place) {
  return proof.at(place.first)->rails[static_cast<std::size_t>(place.second)];
}
std::string name_at(const Proof& proof, const RailPlace& place) {
  return proof.at(place.first)->node + "'s " + name_of(rail_at(proof, place));
}

// "connect, 110 Connection timed out".
std::string step_text(ProofStep step, std::optional<int> error) {
  const bool completion = step == ProofStep::Packet || step == ProofStep::Packets;
  constexpr int kNoAnswer = 12;  // IBV_WC_RETRY_EXC_ERR
  std::string text(described::word_of(step));
  if (!error) return text;
  if (completion && *error == kNoAnswer) return text + ", no answer";
  if (completion) return text + ", completion status " + std::to_string(*error);
  return text + ", " + std::to_string(*error) + " " + std::generic_category().message(*error);
}

std::string step_text(const ProofLink& link) {
  return step_text(*link.step, link.error);
}

// The one that most of the links failed at.
const ProofLink& usual_failure(const Links& failed) {
  std::map<std::string, std::size_t> times;
  for (const Tried* each : failed) ++times[step_text(*each->link)];
  return *(*std::ranges::max_element(failed, {}, [&](const Tried* each) {
            return times[step_text(*each->link)];
          }))->link;
}

// Returns LongPacketsLost where short packets pass on all of them.
Code code_of(const Links& failed, Code otherwise) {
  const bool lengthy =
      std::ranges::all_of(failed, [](const Tried* each) { return each->link->step == ProofStep::Packets; });
  return lengthy ? Code::LongPacketsLost : otherwise;
}

// A step that failed without a peer.
Code code_of(const ProofRail& rail) {
  switch (*rail.step) {
    case ProofStep::Port:
      return Code::PortDown;
    case ProofStep::Row:
      return rail.gid && rail.gid->is_link_local() ? Code::LinkLocalGid : Code::NoAddress;
    case ProofStep::Memory:
      return Code::MemoryLock;
    case ProofStep::Open:
      return Code::DeviceNotOpened;
    default:
      return Code::ConnectFailed;
  }
}

// Explains the failed links of a test, and owns what is left to explain.
class Causes {
 public:
  explicit Causes(const Proof& proof) : proof_(proof) {
    for (const ProofPair& pair : proof.pairs) {
      for (const ProofLink& link : pair.links) {
        if (link.has_result()) tried_.push_back({&link, {pair.from, link.from}, {pair.to, link.to}});
      }
    }
    for (const Tried& each : tried_) {
      for (const RailPlace& end : {each.from, each.to}) ++times_[end], works_[end] |= !each.link->failed();
      if (each.link->failed()) left_.push_back(&each);
    }
  }

  std::vector<Finding> find() {
    rails_alone();
    networks();
    for (int rails = 0; rails < kMostRails && !left_.empty(); ++rails) one_rail();
    if (!left_.empty())
      add(Code::LinkFails, {.kind = "Job"}, count_of(left_.size(), "further link") + " fail, of other rails");
    std::ranges::sort(found_, more_urgent);
    return std::move(found_);
  }

 private:
  void add(Code code, Subject subject, std::string sentence) {
    found_.push_back({code, Severity::Error, std::move(subject), std::move(sentence)});
  }

  void rails_alone() {
    for (const ProofMember& member : proof_.members) {
      for (const ProofRail& rail : member.rails) {
        if (rail.step)
          add(code_of(rail), of_node(member.node, {name_of(rail)}),
              name_of(rail) + " fails by itself: " + step_text(*rail.step, rail.error));
      }
    }
  }

  // All links inside a network, or between two that work by themselves: no end is to blame. Where one member
  // is at an end of all, it may as well be that one.
  void networks() {
    std::map<std::pair<std::string, std::string>, Links> groups;
    std::set<std::pair<std::string, std::string>> well;
    for (const Tried& each : tried_) {
      std::pair key(rail_at(proof_, each.from).network.value_or(""),
                    rail_at(proof_, each.to).network.value_or(""));
      if (key.second < key.first) std::swap(key.first, key.second);
      if (!each.link->failed()) well.insert(key);
      groups[key].push_back(&each);
    }
    for (const auto& [key, links] : groups) {
      const bool ends_work = key.first != key.second && well.contains({key.first, key.first}) &&
                             well.contains({key.second, key.second});
      if (well.contains(key) || key.first.empty() || (!ends_work && have_one_member(links))) continue;
      const std::string where =
          key.first == key.second ? "inside " + key.first : "between " + key.first + " and " + key.second;
      add(code_of(links, Code::NetworkBroken), {.kind = "Network", .name = key.first},
          "none of " + count_of(links.size(), "link") + " " + where +
              " works: " + step_text(usual_failure(links)));
      explain(links);
    }
  }

  static bool have_one_member(const Links& links) {
    const auto has_all = [&](int member) {
      return std::ranges::all_of(
          links, [&](const Tried* each) { return each->from.first == member || each->to.first == member; });
    };
    return has_all(links.front()->from.first) || has_all(links.front()->to.first);
  }

  void explain(const Links& links) {
    const std::set<const Tried*> gone(links.begin(), links.end());
    std::erase_if(left_, [&](const Tried* each) { return gone.contains(each); });
  }

  // The rail that explains most of what is left; of equal ones that which has fewer links that work.
  void one_rail() {
    std::map<RailPlace, Links> failed;
    for (const Tried* each : left_) {
      for (const RailPlace& end : {each->from, each->to}) failed[end].push_back(each);
    }
    const auto most = std::ranges::max_element(failed, {}, [&](const auto& each) {
      return std::tuple(each.second.size(), -static_cast<int>(times_[each.first]));
    });
    const RailPlace rail = most->first;  // clang 14 captures no structured binding
    Links& links = most->second;
    const ProofLink& usual = usual_failure(links);
    const std::size_t tried = times_[rail];
    std::ranges::sort(links, {}, [&](const Tried* each) { return each->other(rail); });
    const Subject subject = of_node(proof_.at(rail.first)->node, {name_of(rail_at(proof_, rail))});
    const auto peer = [&](const Tried* each) { return name_at(proof_, each->other(rail)); };
    if (links.size() == 1) {
      add(code_of(links, Code::LinkFails), subject,
          name_at(proof_, rail) + " and " + peer(links.front()) + ": " + step_text(usual));
    } else {
      add(code_of(links, works_[rail] ? Code::LinkFails : Code::RailCutOff), subject,
          name_of(rail_at(proof_, rail)) + ": " + std::to_string(links.size()) + " of " +
              count_of(tried, "link") + " fail at " + step_text(usual) + "; with " +
              join_some(links, 3, peer));
    }
    explain(links);
  }

  const Proof& proof_;
  std::vector<Tried> tried_;
  std::map<RailPlace, std::size_t> times_;  // that a rail was tried
  std::map<RailPlace, bool> works_;         // with one peer at least
  Links left_;                              // failed, and not explained yet
  std::vector<Finding> found_;
};

// Members whose end of a link said nothing any more.
std::set<int> silent_members(const Proof& proof) {
  std::set<int> silent;
  for (const ProofPair& pair : proof.pairs) {
    for (const ProofLink& link : pair.links) {
      if (link.has_result()) continue;
      if (link.end != ProofEnd::To) silent.insert(pair.from);
      if (link.end != ProofEnd::From) silent.insert(pair.to);
    }
  }
  return silent;
}

}  // namespace

std::vector<Finding> find_causes(const Proof& proof, const std::vector<UntestedNode>& untested) {
  std::vector<Finding> findings = Causes(proof).find();
  const auto add = [&](Subject subject, std::string sentence) {
    findings.push_back({Code::NotTested, Severity::Warning, std::move(subject), std::move(sentence)});
  };
  for (const ProofMember& member : proof.members) {
    if (member.rails.empty()) add(of_node(member.node), "its pod has no port that NCCL would use");
  }
  const std::set<int> left(proof.left.begin(), proof.left.end());
  std::set<int> silent = silent_members(proof);
  silent.insert(left.begin(), left.end());
  for (const int place : silent) {
    if (const ProofMember* member = proof.at(place))
      add(of_node(member->node),
          left.contains(place) ? "its member went in the middle of the test" : "its member fell silent");
  }
  for (const UntestedNode& each : untested) {
    const std::string why(to_string(each.why));
    add(of_node(each.node), each.detail.empty() ? why : why + ": " + each.detail);
  }
  if (!proof.members.empty() && !proof.ended)
    add({.kind = "Job"}, "the test's log ends after round " + std::to_string(proof.rounds_done) + " of " +
                             std::to_string(proof.rounds));
  return findings;
}

}  // namespace nccl_env
