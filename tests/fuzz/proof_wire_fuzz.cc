// SPDX-License-Identifier: Apache-2.0
// Any bytes as a message of a fabric's test: what is read has bounds, and is written and read again as it is.
#include "fuzz/fuzz.h"
#include "nccl_env/core/proof/lines.h"

namespace nccl_env::fuzz::proof_wire_fuzz {
namespace {

constexpr std::string_view kToken = "0123456789abcdef";

void check_again(const std::string& line, const std::string& again) {
  require(line.size() <= 2 * kMaxProofLine, "what is read is about as long as it was");
  require(line == again, "a message that is read again is the same");
}

void read_member(std::string_view input) {
  const auto member = read_hello(input, kToken);
  if (!input.starts_with(std::string(kToken) + " "))
    return require(!member, "without the token nothing is read");
  if (!member) return require(!member.error().message.empty(), "a refusal has a sentence");
  require(member->place >= 0 && member->place < kMaxProofMembers, "a place is bounded");
  require(member->rails.size() <= static_cast<std::size_t>(kMaxProofRails), "rails are bounded");
  const std::string line = std::string(kToken) + " " + to_line(*member);
  const auto again = read_hello(line, kToken);
  check_again(line, again ? std::string(kToken) + " " + to_line(*again) : "");
}

void read_word(std::string_view input) {
  const auto word = read_line<LinkWord>(input);
  if (!word) return require(!word.error().message.empty(), "a refusal has a sentence");
  require(word->bytes.value_or(4096) <= 4096, "a message is bounded");
  const std::string line = to_line(*word);
  const auto again = read_line<LinkWord>(line);
  check_again(line, again ? to_line(*again) : "");
}

}  // namespace

FUZZ_TARGET(proof_wire) {
  read_member(input);
  read_word(input);
}

}  // namespace nccl_env::fuzz::proof_wire_fuzz
