// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/rounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace nccl_env {
namespace {

using Rails = std::vector<int>;

const ProofRail& rail_of(const ProofMember& member, int rail) {
  return member.rails[static_cast<std::size_t>(rail)];
}

// All of them: a rail that failed has its counterpart, too, so that no other one takes its place.
Rails rails_in(const ProofMember& member) {
  Rails rails(member.rails.size());
  std::iota(rails.begin(), rails.end(), 0);
  return rails;
}

// Puts rails together for which `key` gives the same; nothing where it gives one twice or none, and where
// the member that has fewer rails has one left.
template <class Key>
std::vector<ProofLink> links_by(const ProofMember& from, const Rails& ours, const ProofMember& to,
                                const Rails& theirs, const Key& key) {
  std::map<std::string, int> left, right;
  for (const int rail : ours) left.emplace(key(rail_of(from, rail)), rail);
  for (const int rail : theirs) right.emplace(key(rail_of(to, rail)), rail);
  std::vector<ProofLink> links;
  for (const auto& [name, rail] : left) {
    const auto other = right.find(name);
    if (!name.empty() && other != right.end()) links.push_back({.from = rail, .to = other->second});
  }
  if (left.size() < ours.size() || right.size() < theirs.size()) return {};
  if (links.size() < std::min(ours.size(), theirs.size())) return {};
  std::ranges::sort(links, {}, &ProofLink::from);
  return links;
}

}  // namespace

std::vector<ProofRound> proof_rounds(int members, bool all) {
  std::set<std::pair<int, int>> known;
  std::vector<ProofRound> rounds;
  for (int step = all ? 0 : 1; step < members; step = all ? step + 1 : step * 2) {
    ProofRound round;
    for (int one = 0; one < members; ++one) {
      // Each with each: those whose sum is `step`, so that each has one peer.
      const int other = all ? (members + step - one) % members : (one + step) % members;
      const auto pair = std::minmax(one, other);
      if (one != other && known.emplace(pair).second) round.emplace_back(pair);
    }
    if (!round.empty()) rounds.push_back(std::move(round));
  }
  return rounds;
}

ProofPair pair_up(const ProofMember& from, const ProofMember& to, bool cross) {
  ProofPair pair{.from = from.place, .to = to.place};
  const Rails ours = rails_in(from), theirs = rails_in(to);
  const auto network = [](const ProofRail& rail) { return rail.network.value_or(""); };
  if (cross) {
    pair.by = RailsBy::Cross;
    for (const int rail : ours) {
      for (const int other : theirs) pair.links.push_back({.from = rail, .to = other});
    }
  } else if (pair.links = links_by(from, ours, to, theirs, network); !pair.links.empty()) {
    pair.by = RailsBy::Network;
  } else if (pair.links = links_by(from, ours, to, theirs, name_of); !pair.links.empty()) {
    pair.by = RailsBy::Name;
  } else {
    pair.by = RailsBy::Place;
    for (std::size_t at = 0; at < std::min(ours.size(), theirs.size()); ++at)
      pair.links.push_back({.from = ours[at], .to = theirs[at]});
  }
  std::erase_if(pair.links, [&](const ProofLink& link) {
    const ProofRail &one = rail_of(from, link.from), &other = rail_of(to, link.to);
    return one.step || other.step || one.link_layer != other.link_layer;
  });
  if (pair.links.size() > static_cast<std::size_t>(kMaxProofLinks)) pair.links.resize(kMaxProofLinks);
  return pair;
}

}  // namespace nccl_env
