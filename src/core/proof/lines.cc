// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/lines.h"

#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "described/reader.h"
#include "described/writer.h"
#include "nccl_env/core/text/json_document.h"
#include "proof/description.h"

namespace nccl_env {
namespace {

bool is_same(std::string_view given, std::string_view token) {
  unsigned differing = given.size() != token.size() ? 1 : 0;
  for (std::size_t at = 0; at < token.size() && at < given.size(); ++at)
    differing |= static_cast<unsigned char>(given[at]) ^ static_cast<unsigned char>(token[at]);
  return differing == 0 && !token.empty();
}

// True for a pair of members that came, unless more were tried than there are.
bool is_known(const ProofPair& pair, const Proof& proof) {
  const std::size_t most = proof.members.size() * (proof.members.size() - 1) / 2;
  const ProofMember *from = proof.at(pair.from), *to = proof.at(pair.to);
  return proof.pairs.size() < most && pair.from < pair.to && from && to &&
         std::ranges::all_of(pair.links, [&](const ProofLink& link) {
           return link.from < std::ssize(from->rails) && link.to < std::ssize(to->rails);
         });
}

}  // namespace

const ProofMember* Proof::at(int place) const {
  const auto found = std::ranges::lower_bound(members, place, {}, &ProofMember::place);
  return found == members.end() || found->place != place ? nullptr : &*found;
}

template <class Message>
std::string to_line(const Message& message) {
  return dump_json(described::write_object(message, false));
}

template <class Message>
Result<Message> read_line(std::string_view line) {
  if (line.size() > kMaxProofLine) return Error{"a line of more than 64 KiB"};
  simdjson::dom::parser parser(kMaxProofLine);
  if (parser.allocate(line.size(), kMaxJsonDepth) != simdjson::SUCCESS) return Error{"there is no memory"};
  const auto value = json::parse(parser, line);
  if (!value) return value.error();
  json::Sentence refusals;
  auto message = described::read_object<Message>(json::Fields(*value, {}, refusals));
  if (!refusals.empty()) return Error{refusals.text()};
  return message;
}

template std::string to_line(const LinkWord&);
template Result<LinkWord> read_line(std::string_view);
template std::string to_line(const JournalLine&);
template std::string to_line(const ProofMember&);

Result<ProofMember> read_hello(std::string_view line, std::string_view token) {
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos || !is_same(line.substr(0, end), token))
    return Error{"it does not have the token of this test"};
  return read_line<ProofMember>(line.substr(end));
}

Status read_journal_line(std::string_view line, Proof& into) {
  auto read = read_line<JournalLine>(line);
  if (!read) return read.error();
  for (const ProofMember& member : read->members.value_or(std::vector<ProofMember>())) {
    if (member.place >= into.expected || into.at(member.place))
      return Error{"members: place " + std::to_string(member.place) +
                   " is taken, or is not one of the test's"};
  }
  for (const ProofPair& pair : read->pairs.value_or(std::vector<ProofPair>())) {
    if (!is_known(pair, into))
      return Error{"pairs: a member or a rail of it is not one of the test's, or there are too many"};
  }
  into.expected = read->expected.value_or(into.expected);
  into.rounds = read->rounds.value_or(into.rounds);
  into.rounds_done = read->rounds_done.value_or(into.rounds_done);
  into.ended |= read->ended.value_or(false);
  if (read->left) into.left.push_back(*read->left);
  if (read->members) std::ranges::move(*read->members, std::back_inserter(into.members));
  if (read->pairs) std::ranges::move(*read->pairs, std::back_inserter(into.pairs));
  std::ranges::sort(into.members, {}, &ProofMember::place);
  return done();
}

}  // namespace nccl_env
