// SPDX-License-Identifier: Apache-2.0
// Any body of POST /validate: refused with a sentence, or answered with a response of the review's uid that
// is JSON and bounded.
#include "policy_review.h"

#include "fuzz/fuzz.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::fuzz::policy_review_fuzz {
namespace {

constexpr std::size_t kMaxAnswer = 512 << 10;  // a hundred findings

}  // namespace

FUZZ_TARGET(policy_review) {
  const PolicyOptions options{(take_byte(input) & 1) != 0};
  if (input.size() > webhook::kMaxPolicyReview) return;
  const auto answer = webhook::answer_policy_review(input, options);
  if (!answer) return require(!answer.error().message.empty(), "a refusal has a sentence");
  require(answer->size() <= kMaxAnswer, "an answer is bounded");
  const nlohmann::json document = parse_json(*answer);
  const nlohmann::json& response = member(document, "response");
  require(member(response, "allowed").is_boolean(), "an answer is JSON that allows or refuses");
  const nlohmann::json review = parse_json(input);
  require(text_at(response, "uid") == text_at(member(review, "request"), "uid"),
          "with the uid of its review");
}

}  // namespace nccl_env::fuzz::policy_review_fuzz
