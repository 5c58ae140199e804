// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/node_constants.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "choose/nominal_rates.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/text/glob.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

enum class Answer { Yes, No, Unknown };

struct Verdict {
  Answer answer = Answer::Yes;
  std::string why;  // of Yes what holds, else the first condition that does not, or that is not known
  Reason reason = Reason::ConditionUnknown;  // of Unknown; another one where the node has no fabric to ask
};

std::string rate_text(double gbps) {
  std::ostringstream text;
  text << gbps << " Gb/s";
  return text.str();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

// Answers conditions from one node's labels and the ports of its fabric.
class NodeFacts {
 public:
  NodeFacts(const NodeFabric& table, const PortChoice& choice) : table_(table), choice_(choice) {
    const NominalRates rates(table);
    for (const Port* port : choice.fabric) {
      const auto layer = link_layer_of(*port);
      layer ? void(layers_.insert(*layer)) : void(layer_known_ = false);
      port->board_id ? void(boards_.insert(*port->board_id)) : void(boards_known_ = false);
      const auto rate = rates.of(*port);
      if (rate) slowest_ = std::min(slowest_.value_or(*rate), *rate);
      rates_known_ = rates_known_ && rate.has_value();
    }
  }

  [[nodiscard]] Verdict judge(const NodeCondition& when) const {
    Verdict all;
    for (const auto& [key, glob] : when.node_labels) {
      if (!combine(all, judge_label(key, glob))) return all;
    }
    const bool asks_fabric = when.link_layer || !when.boards.empty() || when.min_rate_gbps;
    if (asks_fabric && choice_.fabric.empty()) {
      combine(all, {Answer::Unknown, choice_.detail, choice_.reason.value_or(Reason::NoFabricPort)});
    } else {
      for (const Verdict& one : {judge_layer(when), judge_boards(when), judge_rate(when)}) {
        if (!combine(all, one)) break;
      }
    }
    return all;
  }

 private:
  // Returns false once a condition does not hold: it decides, whatever is not known of the others.
  static bool combine(Verdict& all, const Verdict& one) {
    if (one.answer == Answer::No || (one.answer == Answer::Unknown && all.answer == Answer::Yes)) {
      all = one;
    } else if (one.answer == Answer::Yes && all.answer == Answer::Yes && !one.why.empty()) {
      all.why += (all.why.empty() ? "" : ", ") + one.why;
    }
    return one.answer != Answer::No;
  }

  [[nodiscard]] Verdict judge_label(const std::string& key, const std::string& glob) const {
    if (!table_.node_labels) return {Answer::Unknown, "its table has no labels"};
    const auto label = std::find_if(table_.node_labels->begin(), table_.node_labels->end(),
                                    [&](const NodeLabel& each) { return each.key == key; });
    if (label == table_.node_labels->end()) return {Answer::Unknown, "its label " + key + " is not known"};
    if (!label->value) return {Answer::No, "it has no label " + key};
    if (!glob_matches(glob, *label->value))
      return {Answer::No, "label " + key + " is " + in_quotes(*label->value) + ", not " + glob};
    return {Answer::Yes, "label " + key + " " + in_quotes(*label->value)};
  }

  [[nodiscard]] Verdict judge_layer(const NodeCondition& when) const {
    if (!when.link_layer) return {};
    const std::string wanted(to_string(*when.link_layer));
    const bool other = std::any_of(layers_.begin(), layers_.end(),
                                   [&](LinkLayer layer) { return layer != *when.link_layer; });
    if (other) return {Answer::No, "the fabric is not " + wanted};
    // Ports of two link layers are no fabric, so one that is known speaks for all.
    if (layers_.empty() && !layer_known_) return {Answer::Unknown, "its link layer is not known"};
    return {Answer::Yes, wanted};
  }

  [[nodiscard]] Verdict judge_boards(const NodeCondition& when) const {
    if (when.boards.empty()) return {};
    for (const std::string_view board : boards_) {
      const auto fits = [&](const std::string& glob) { return glob_matches(glob, board); };
      if (std::none_of(when.boards.begin(), when.boards.end(), fits))
        return {Answer::No, "board " + std::string(board) + " is not " + joined(when.boards)};
    }
    if (!boards_known_) return {Answer::Unknown, "not all boards are known"};
    return {Answer::Yes, "boards " + joined(when.boards)};
  }

  [[nodiscard]] Verdict judge_rate(const NodeCondition& when) const {
    if (!when.min_rate_gbps) return {};
    if (slowest_ && *slowest_ < *when.min_rate_gbps)
      return {Answer::No, rate_text(*slowest_) + " is less than " + rate_text(*when.min_rate_gbps)};
    if (!rates_known_) return {Answer::Unknown, "not all rates are known"};
    return {Answer::Yes, "at least " + rate_text(*when.min_rate_gbps)};
  }

  const NodeFabric& table_;
  const PortChoice& choice_;
  std::set<LinkLayer> layers_;
  std::set<std::string_view> boards_;
  std::optional<double> slowest_;
  bool layer_known_ = true, boards_known_ = true, rates_known_ = true;
};

std::string variant_name(std::size_t i) {
  return "variants[" + std::to_string(i) + "]";
}

class ConstantFinder {
 public:
  ConstantFinder(const NcclPolicy& policy, std::string_view node) : policy_(policy) { values_.node = node; }

  NodeValues find(const NodeFabric* table, const NodeContext& context) {
    const auto missing = missing_table(values_.node, table, context);
    if (missing) return omit_all(missing->reason, missing->detail);
    values_.valid_until = table_limit(*table, context);
    const PortChoice choice = choose_ports(*table, policy_.fabric, Exposure::Host, context.now);
    const NodeFacts facts(*table, choice);
    for (const PolicyVariant& variant : policy_.variants) verdicts_.push_back(facts.judge(variant.when));
    for (const std::string_view name : policy_.varying()) settle(name);
    return std::move(values_);
  }

 private:
  NodeValues omit_all(Reason reason, const std::string& detail) {
    for (const std::string_view name : policy_.varying()) omit(name, reason, detail);
    return std::move(values_);
  }

  void omit(std::string_view name, Reason reason, const std::string& detail) {
    values_.omitted.push_back({std::string(name), reason, detail});
    if (!may_deny(reason) || values_.deny) return;
    values_.deny = reason;
    values_.deny_detail = detail;
  }

  void give(std::string_view name, const std::string& value, std::string why) {
    values_.set.emplace(name, value);
    values_.why.emplace(name, std::move(why));
  }

  void settle(std::string_view name) {
    std::string others;
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      const auto constant = policy_.variants[i].env.find(name);
      if (constant == policy_.variants[i].env.end()) continue;
      const Verdict& verdict = verdicts_[i];
      const std::string told = variant_name(i) + ": " + verdict.why;
      if (verdict.answer == Answer::Yes)
        return give(name, constant->second, told + (others.empty() ? "" : "; not " + others));
      // A later entry, or env's, could be the wrong one.
      if (verdict.answer == Answer::Unknown) return leave_open(name, verdict, told);
      others += (others.empty() ? "" : "; ") + told;
    }
    if (const auto usual = policy_.env.find(name); usual != policy_.env.end())
      return give(name, usual->second, "env; not " + others);
    omit(name, Reason::ConditionNotMet, values_.node + ": not " + others + ".");
  }

  void leave_open(std::string_view name, const Verdict& verdict, const std::string& told) {
    const bool of_fabric = verdict.reason != Reason::ConditionUnknown;
    omit(name, verdict.reason, of_fabric ? verdict.why : values_.node + ": " + told + ".");
  }

  const NcclPolicy& policy_;
  std::vector<Verdict> verdicts_;  // of the variants, in their order
  NodeValues values_;
};

}  // namespace

NodeValues node_constants(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                          const NodeContext& context) {
  return ConstantFinder(policy, node).find(table, context);
}

NcclPolicy with_constants(const NcclPolicy& policy, const ConstantMap& constants) {
  NcclPolicy settled = policy;
  settled.variants.clear();
  for (const std::string_view name : policy.varying()) settled.env.erase(std::string(name));
  settled.env.insert(constants.begin(), constants.end());
  return settled;
}

}  // namespace nccl_env
