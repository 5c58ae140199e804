// SPDX-License-Identifier: Apache-2.0
// Any lines as the journal of a fabric's test: a line that is refused changes nothing, and what is known is
// of the test.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "nccl_env/core/proof/lines.h"

namespace nccl_env::fuzz::proof_journal_fuzz {
namespace {

std::string text_of(const Proof& proof) {
  std::string text = std::to_string(proof.expected) + " " + std::to_string(proof.rounds) + " " +
                     std::to_string(proof.rounds_done) + (proof.ended ? " ended" : "");
  for (const ProofMember& member : proof.members) text += "\n" + to_line(member);
  for (const ProofPair& pair : proof.pairs) text += "\n" + to_line(JournalLine{.pairs = {{pair}}});
  for (const int place : proof.left) text += " " + std::to_string(place);
  return text;
}

}  // namespace

FUZZ_TARGET(proof_journal) {
  Proof proof;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string before = text_of(proof);
    const Status read = read_journal_line(input.substr(0, end), proof);
    if (!read) require(before == text_of(proof), "a line that is refused changes nothing");
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  for (const ProofPair& pair : proof.pairs) {
    const ProofMember* const from = proof.at(pair.from);
    const ProofMember* const to = proof.at(pair.to);
    require(from && to && pair.from < pair.to, "a pair is of two members that came");
    for (const ProofLink& link : pair.links) {
      require(static_cast<std::size_t>(link.from) < from->rails.size(), "a link has its rails");
      require(static_cast<std::size_t>(link.to) < to->rails.size(), "a link has its rails");
    }
  }
  Proof again;
  std::string first = to_line(JournalLine{.expected = std::max(proof.expected, 1), .rounds = proof.rounds});
  require(read_journal_line(first, again).ok(), "what is known can be written and read");
  for (const ProofMember& member : proof.members)
    require(member.place >= proof.expected ||
                read_journal_line(to_line(JournalLine{.members = {{member}}}), again).ok(),
            "a member can be written and read");
}

}  // namespace nccl_env::fuzz::proof_journal_fuzz
