// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/node_constants.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "choose/nominal_rates.h"
#include "choose/variant_search.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/policy/writer.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"

namespace nccl_env {
namespace {

struct Verdict : ConditionAnswer {
  std::optional<Reason> no_fabric = {};  // why the node has no fabric to ask; `why` is then a sentence
};

NcclPolicy without_variants(const NcclPolicy& policy) {
  NcclPolicy settled = policy;
  settled.variants.clear();
  for (const std::string_view name : policy.varying()) settled.env.erase(std::string(name));
  return settled;
}

std::string rate_text(double gbps) {
  std::ostringstream text;
  text << gbps << " Gb/s";
  return text.str();
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
    Verdict all{judge_labels(when, table_)};
    if (all.answer == Answer::No || !when.asks_fabric()) return all;
    if (choice_.fabric.empty()) {
      if (all.answer == Answer::Yes)
        all = {{Answer::Unknown, choice_.detail}, choice_.reason.value_or(Reason::NoFabricPort)};
      return all;
    }
    for (const ConditionAnswer& one : {judge_layer(when), judge_boards(when), judge_rate(when)}) {
      if (!combine(all, one)) break;
    }
    return all;
  }

 private:
  [[nodiscard]] ConditionAnswer judge_layer(const NodeCondition& when) const {
    if (!when.link_layer) return {};
    const std::string wanted(to_string(*when.link_layer));
    const bool other = std::any_of(layers_.begin(), layers_.end(),
                                   [&](LinkLayer layer) { return layer != *when.link_layer; });
    if (other) return {Answer::No, "the fabric is not " + wanted};
    // Ports of two link layers never form a fabric, so one known link layer speaks for all ports.
    if (layers_.empty() && !layer_known_) return {Answer::Unknown, "its link layer is not known"};
    return {Answer::Yes, wanted};
  }

  [[nodiscard]] ConditionAnswer judge_boards(const NodeCondition& when) const {
    if (when.boards.empty()) return {};
    for (const std::string_view board : boards_) {
      const auto fits = [&](const std::string& glob) { return glob_matches(glob, board); };
      if (std::none_of(when.boards.begin(), when.boards.end(), fits))
        return {Answer::No, "board " + std::string(board) + " is not " + join(when.boards, " or ")};
    }
    if (!boards_known_) return {Answer::Unknown, "not all boards are known"};
    return {Answer::Yes, "boards " + join(when.boards, " or ")};
  }

  [[nodiscard]] ConditionAnswer judge_rate(const NodeCondition& when) const {
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

class Settler {
 public:
  Settler(const NcclPolicy& policy, std::string_view node)
      : policy_(policy), settled_{without_variants(policy)} {
    values_.node = node;
  }

  SettledPolicy settle(const NodeFabric* table, const NodeContext& context) {
    if (const auto missing = missing_table(values_.node, table, context)) {
      leave_all_open(missing->reason, missing->detail);
    } else {
      values_.valid_until = table_limit(*table, context);
      settle_fabric(*table);
      const PortChoice choice = choose_policy_ports(*table, policy_, Exposure::Host, context.now);
      const NodeFacts facts(*table, choice);
      for (const PolicyVariant& variant : policy_.variants) verdicts_.push_back(facts.judge(variant.when));
      for (const std::string_view name : policy_.varying()) settle_constant(name);
      if (policy_.varies_socket_interface()) settle_interface();
    }
    return std::move(settled_);
  }

 private:
  void leave_all_open(Reason reason, const std::string& detail) {
    for (const std::string_view name : policy_.varying()) values_.leave_out(left_out(name, reason, detail));
    if (policy_.varies_fabric()) leave_fabric_open(reason, detail);
    if (policy_.varies_socket_interface())
      leave_interface_out(left_out(variable::kSocketIfname, reason, detail));
  }

  void give(std::string_view name, const std::string& value, std::string why) {
    values_.set.emplace(name, value);
    values_.why.emplace(name, std::move(why));
  }

  void leave_fabric_open(Reason reason, const std::string& detail) {
    settled_.fabric_unknown = detail;
    values_.refuse(left_out({}, reason, detail));
  }

  void settle_fabric(const NodeFabric& table) {
    NodeFabricRule found = fabric_rule(policy_, table);
    if (!found.rule)
      return leave_fabric_open(Reason::ConditionUnknown, values_.node + ": " + found.why + ".");
    settled_.policy.fabric = *found.rule;
    settled_.fabric_why = std::move(found.why);
  }

  template <class Names>
  [[nodiscard]] VariantSearch search(Names names) const {
    return find_variant(policy_, names,
                        [this](std::size_t i) -> const ConditionAnswer& { return verdicts_[i]; });
  }

  [[nodiscard]] Value left_open(std::string_view name, const VariantSearch& search) const {
    const Verdict& verdict = verdicts_[search.index];
    return left_out(name, verdict.no_fabric.value_or(Reason::ConditionUnknown),
                    verdict.no_fabric ? verdict.why : sentence(search.why));
  }

  [[nodiscard]] std::string sentence(const std::string& clause) const {
    return values_.node + ": " + clause + ".";
  }

  void settle_constant(std::string_view name) {
    const VariantSearch found =
        search([&](const PolicyVariant& variant) { return variant.env.contains(name); });
    const auto usual = policy_.env.find(name);
    if (found.end == VariantSearch::End::Open) {
      values_.leave_out(left_open(name, found));
    } else if (found.end == VariantSearch::End::Found) {
      give(name, policy_.variants[found.index].env.find(name)->second, found.why);
    } else if (usual != policy_.env.end()) {
      give(name, usual->second, "env; " + found.why);
    } else {
      values_.leave_out(left_out(name, Reason::ConditionNotMet, sentence(found.why)));
    }
    if (const auto value = values_.set.find(name); value != values_.set.end())
      settled_.policy.env.insert(*value);
  }

  void leave_interface_out(Value interface) {
    settled_.policy.socket_interface.kind = SocketInterfaceRule::Kind::Omit;
    settled_.no_interface = interface;
    values_.leave_out(std::move(interface));
  }

  void settle_interface() {
    using Kind = SocketInterfaceRule::Kind;
    const VariantSearch found =
        search([](const PolicyVariant& variant) { return variant.socket_interface.has_value(); });
    if (found.end == VariantSearch::End::Open)
      return leave_interface_out(left_open(variable::kSocketIfname, found));
    const bool usual = found.end == VariantSearch::End::None;
    SocketInterfaceRule& rule = settled_.policy.socket_interface;
    if (!usual) rule = *policy_.variants[found.index].socket_interface;
    if (rule.kind == Kind::Omit)
      return leave_interface_out(left_out(variable::kSocketIfname,
                                          usual ? Reason::ConditionNotMet : Reason::OmittedByPolicy,
                                          sentence(found.why)));
    settled_.interface_why = usual ? "socketInterface; " + found.why : found.why;
    if (rule.kind == Kind::Literal)
      return give(variable::kSocketIfname, rule.literal, settled_.interface_why);
    values_.leave_out(left_out(variable::kSocketIfname, Reason::OmittedByPolicy, kForHostNetwork));
  }

  const NcclPolicy& policy_;
  std::vector<Verdict> verdicts_;  // of the variants, in their order
  SettledPolicy settled_;
  NodeValues& values_ = settled_.constants;
};

}  // namespace

SettledPolicy settle_policy(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                            const NodeContext& context) {
  return Settler(policy, node).settle(table, context);
}

std::string spec_text(const NcclPolicy& policy, const SettledPolicy& settled) {
  nlohmann::json spec;
  if (policy.varies_fabric() && settled.fabric_unknown.empty())
    spec["fabric"] = to_json(settled.policy.fabric);
  const auto& none = settled.no_interface;
  const bool known =
      !none || none->reason == Reason::ConditionNotMet || none->reason == Reason::OmittedByPolicy;
  if (policy.varies_socket_interface() && known)
    spec["socketInterface"] = to_json(settled.policy.socket_interface);
  return spec.is_null() ? std::string() : spec.dump();
}

SettledPolicy settle_by_text(const NcclPolicy& policy, const ConfText& given) {
  SettledPolicy settled{without_variants(policy)};
  for (const auto& value : given.values) {
    if (policy.varies(value.first)) settled.policy.env.insert(value);
  }
  nlohmann::json object = to_json(settled.policy);
  const auto note = given.notes.find(kSpecVariable);
  const nlohmann::json rules = parse_json(note == given.notes.end() ? std::string_view() : note->second);
  if (rules.is_object()) object["spec"].update(rules);
  const PolicyReading reading = read_policy(object, {true});
  const auto is_known = [&](const char* field) {
    return rules.is_object() && rules.contains(field) && reading.policy;
  };
  const std::string unknown = "The node did not tell which of the policy's variants holds.";
  if (policy.varies_fabric() && !is_known("fabric")) {
    settled.fabric_unknown = unknown;
  } else if (policy.varies_fabric()) {
    settled.policy.fabric = reading.policy->fabric;
  }
  if (!policy.varies_socket_interface()) return settled;
  SocketInterfaceRule& rule = settled.policy.socket_interface;
  const bool known = is_known("socketInterface");
  rule = known ? reading.policy->socket_interface : SocketInterfaceRule();
  if (rule.kind == SocketInterfaceRule::Kind::Omit) {
    settled.no_interface =
        left_out(variable::kSocketIfname, known ? Reason::OmittedByPolicy : Reason::ConditionUnknown,
                 known ? "The policy sets no socket interface on this node." : unknown);
  }
  return settled;
}

}  // namespace nccl_env
