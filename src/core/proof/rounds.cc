// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/rounds.h"

#include <algorithm>
#include <map>
#include <set>

namespace nccl_env {
namespace {

// Names what two rails have in common; "": nothing.
using Key = std::string (*)(const ProofRail& rail, int place);

constexpr std::pair<RailsBy, Key> kRules[] = {
    {RailsBy::Network, [](const ProofRail& rail, int /*place*/) { return rail.network.value_or(""); }},
    {RailsBy::Name, [](const ProofRail& rail, int /*place*/) { return name_of(rail); }},
    {RailsBy::Place, [](const ProofRail& /*rail*/, int place) { return std::to_string(place); }},
};

// Takes all rails: one that failed has its counterpart, too, so that no other one takes its place. None where
// two rails of a member have one key, or where the member that has fewer rails has one left.
std::vector<ProofLink> links_by(const ProofMember& from, const ProofMember& to, Key key) {
  const auto places_in = [&](const ProofMember& member) {
    std::map<std::string, int> places;
    for (int place = 0; place < std::ssize(member.rails); ++place)
      places.emplace(key(member.rails[static_cast<std::size_t>(place)], place), place);
    return places;
  };
  const auto left = places_in(from), right = places_in(to);
  std::vector<ProofLink> links;
  for (const auto& [name, rail] : left) {
    const auto other = right.find(name);
    if (!name.empty() && other != right.end()) links.push_back({.from = rail, .to = other->second});
  }
  if (left.size() < from.rails.size() || right.size() < to.rails.size() ||
      links.size() < std::min(left.size(), right.size()))
    return {};
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
  ProofPair pair{.from = from.place, .to = to.place, .by = RailsBy::Cross};
  const std::vector<ProofRail>&ours = from.rails, &theirs = to.rails;
  for (std::size_t at = 0; cross && at < ours.size() * theirs.size(); ++at)
    pair.links.push_back(
        {.from = static_cast<int>(at / theirs.size()), .to = static_cast<int>(at % theirs.size())});
  for (const auto& [by, key] : kRules) {
    if (cross || !pair.links.empty()) break;
    pair.by = by;
    pair.links = links_by(from, to, key);
  }
  std::erase_if(pair.links, [&](const ProofLink& link) {
    const ProofRail &one = ours[static_cast<std::size_t>(link.from)],
                    &other = theirs[static_cast<std::size_t>(link.to)];
    return one.step || other.step || one.link_layer != other.link_layer;
  });
  if (pair.links.size() > static_cast<std::size_t>(kMaxProofLinks)) pair.links.resize(kMaxProofLinks);
  return pair;
}

}  // namespace nccl_env
