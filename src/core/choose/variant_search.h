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
  std::string why;  // Yes: what holds; else the first condition that does not hold or is not known
};

// Judges the labels of a condition alone. If one does not hold the answer is No, even if others are not
// known.
ConditionAnswer judge_labels(const NodeCondition& when, const NodeFabric& table);
// Adds the answer to a further question; returns false once the answer to all is No.
bool combine(ConditionAnswer& all, const ConditionAnswer& one);

struct VariantSearch {
  enum class End {
    Found,  // the first variant that names it and holds
    Open,   // not known whether this one holds, so a later one could be wrong
    None,   // none holds
  } end = End::None;
  std::size_t index = 0;  // in the policy's variants; no meaning for None
  std::string why;        // "variants[1]: …; not variants[0]: …"; for None "not variants[0]: …"
};

// `names` tells whether a variant decides what is asked for, `judge` whether it holds (by its index).
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
