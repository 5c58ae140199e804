// SPDX-License-Identifier: Apache-2.0
#include "choose/variant_search.h"

#include <algorithm>

#include "nccl_env/core/text/glob.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

ConditionAnswer judge_label(const std::string& key, const std::string& glob, const NodeFabric& table) {
  if (!table.node_labels) return {Answer::Unknown, "its table has no labels"};
  const auto label = std::find_if(table.node_labels->begin(), table.node_labels->end(),
                                  [&](const NodeLabel& each) { return each.key == key; });
  if (label == table.node_labels->end()) return {Answer::Unknown, "its label " + key + " is not known"};
  if (!label->value) return {Answer::No, "it has no label " + key};
  if (!glob_matches(glob, *label->value))
    return {Answer::No, "label " + key + " is " + in_quotes(*label->value) + ", not " + glob};
  return {Answer::Yes, "label " + key + " " + in_quotes(*label->value)};
}

}  // namespace

bool combine(ConditionAnswer& all, const ConditionAnswer& one) {
  if (one.answer == Answer::No || (one.answer == Answer::Unknown && all.answer == Answer::Yes)) {
    all = one;
  } else if (one.answer == Answer::Yes && all.answer == Answer::Yes && !one.why.empty()) {
    all.why += (all.why.empty() ? "" : ", ") + one.why;
  }
  return one.answer != Answer::No;
}

ConditionAnswer judge_labels(const NodeCondition& when, const NodeFabric& table) {
  ConditionAnswer all;
  for (const auto& [key, glob] : when.node_labels) {
    if (!combine(all, judge_label(key, glob, table))) break;
  }
  return all;
}

}  // namespace nccl_env
