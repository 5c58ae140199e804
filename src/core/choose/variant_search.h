// SPDX-License-Identifier: Apache-2.0
// The variant of a policy that decides on a node.
#pragma once

#include <cstddef>
#include <string>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

enum class Answer { Yes, No, Unknown };

struct ConditionAnswer {
  Answer answer = Answer::Yes;
  std::string why;  // of Yes what holds, else the first condition that does not, or that is not known
};

// Asks the labels of a condition alone. One that does not hold decides, whatever is not known of the others.
ConditionAnswer judge_labels(const NodeCondition& when, const NodeFabric& table);
// The same for several questions, one after the other: false once the answer is No.
bool combine(ConditionAnswer& all, const ConditionAnswer& one);

struct VariantSearch {
  enum class End {
    Found,  // the first variant that names it and holds
    Open,   // it is not known of this one: a later one could be the wrong one
    None,   // no node of this kind is meant
  } end = End::None;
  std::size_t index = 0;  // in the policy's variants; of None nothing
  std::string why;        // "variants[1]: …; not variants[0]: …"; of None "not variants[0]: …"
};

// `names` tells whether a variant says anything of what is asked for, `judge` whether it holds (by its
// index).
template <class Names, class Judge>
VariantSearch find_variant(const NcclPolicy& policy, Names names, Judge judge) {
  std::string others;
  for (std::size_t i = 0; i < policy.variants.size(); ++i) {
    if (!names(policy.variants[i])) continue;
    const ConditionAnswer& answer = judge(i);
    const std::string told = "variants[" + std::to_string(i) + "]: " + answer.why;
    if (answer.answer == Answer::Unknown) return {VariantSearch::End::Open, i, told};
    if (answer.answer == Answer::Yes)
      return {VariantSearch::End::Found, i, told + (others.empty() ? "" : "; not " + others)};
    others += (others.empty() ? "" : "; ") + told;
  }
  return {VariantSearch::End::None, 0, "not " + others};
}

}  // namespace nccl_env
