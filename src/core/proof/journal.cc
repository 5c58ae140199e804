// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/journal.h"

#include <algorithm>

#include "proof/message.h"

namespace nccl_env {
namespace {

std::string line_of(std::string_view key, const nlohmann::ordered_json& value) {
  return dump_json(nlohmann::ordered_json{{key, value}});
}
template <class Object>
std::string line_with(std::string_view key, const Object& object) {
  return line_of(key, described::write_object(object, false));
}

// One line, which has one of these.
struct JournalLine {
  std::optional<std::pair<int, int>> test;  // members, rounds
  std::optional<ProofMember> member;
  std::optional<ProofPair> pair;
  std::optional<int> round, left;
  bool end = false;
};

template <class Object>
std::optional<Object> read_part(const json::Fields& line, std::string_view key) {
  const auto value = line.find(key);
  if (!value) return std::nullopt;
  return described::read_object<Object>(json::Fields(*value, line.path(key), line.refusals()));
}

JournalLine line_in(const json::Fields& fields) {
  JournalLine line;
  if (const auto value = fields.find("test")) {
    const json::Fields test(*value, fields.path("test"), fields.refusals());
    for (const char* name : {"expected", "rounds"}) test.require(name);
    line.test.emplace(test.integer("expected", 1, kMaxProofMembers).value_or(1),
                      test.integer("rounds", 0, kMaxProofMembers).value_or(0));
  }
  line.member = read_part<ProofMember>(fields, "member");
  line.pair = read_part<ProofPair>(fields, "pair");
  line.round = fields.integer("round", 1, kMaxProofMembers);
  line.left = fields.integer("left", 0, kMaxProofMembers - 1);
  line.end = fields.find("end").has_value();
  return line;
}

// The number of the member's rails; none where it did not come.
int count_rails(const Proof& proof, int place) {
  const ProofMember* member = proof.at(place);
  return member ? static_cast<int>(member->rails.size()) : 0;
}

// True for a pair of members that came, unless more were tried than there are.
bool is_known(const ProofPair& pair, const Proof& proof) {
  const std::size_t most = proof.members.size() * (proof.members.size() - 1) / 2;
  const int from = count_rails(proof, pair.from), to = count_rails(proof, pair.to);
  return proof.pairs.size() < most && pair.from < pair.to && proof.at(pair.from) && proof.at(pair.to) &&
         std::ranges::all_of(pair.links,
                             [&](const ProofLink& link) { return link.from < from && link.to < to; });
}

}  // namespace

std::string name_of(const ProofRail& rail) {
  return rail.hca + ":" + std::to_string(rail.port);
}

const ProofMember* Proof::at(int place) const {
  const auto found = std::ranges::lower_bound(members, place, {}, &ProofMember::place);
  return found == members.end() || found->place != place ? nullptr : &*found;
}

std::string test_line(int expected, int rounds) {
  return line_of("test", {{"expected", expected}, {"rounds", rounds}});
}
std::string member_line(const ProofMember& member) {
  return line_with("member", member);
}
std::string pair_line(const ProofPair& pair) {
  return line_with("pair", pair);
}
std::string round_line(int round) {
  return line_of("round", round);
}
std::string left_line(int place) {
  return line_of("left", place);
}
std::string end_line() {
  return line_of("end", nlohmann::ordered_json::object());
}

Status read_journal_line(std::string_view line, Proof& into) {
  auto read = proof::read_line(line, line_in);
  if (!read) return read.error();
  if (read->member && (read->member->place >= into.expected || into.at(read->member->place)))
    return Error{"member: place " + std::to_string(read->member->place) +
                 " is taken, or is not one of the test's"};
  if (read->pair && !is_known(*read->pair, into))
    return Error{"pair: a member or a rail of it is not one of the test's, or there are too many"};
  if (read->test) {
    into.expected = read->test->first;
    into.rounds = read->test->second;
  }
  if (read->member) {
    const auto next = std::ranges::lower_bound(into.members, read->member->place, {}, &ProofMember::place);
    into.members.insert(next, *std::move(read->member));
  }
  if (read->pair) into.pairs.push_back(*std::move(read->pair));
  if (read->round) into.rounds_done = *read->round;
  if (read->left) into.left.push_back(*read->left);
  into.ended |= read->end;
  return done();
}

}  // namespace nccl_env
