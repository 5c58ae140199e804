// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/binding.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decide/conf_delivery.h"
#include "nccl_env/core/decide/container_env.h"
#include "nccl_env/core/decide/engine_values.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/match.h"
#include "nccl_env/core/decide/node_constants.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/pod/limits.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

// `only`: the one variable that is told; "" for all.
nlohmann::ordered_json omitted_json(const NodeValues& values, std::string_view only = {}) {
  auto json = nlohmann::ordered_json::object();
  for (const Value& omission : values.omitted) {
    if (only.empty() || omission.name == only) json[omission.name] = to_string(*omission.reason);
  }
  return json;
}

// True of a line that is right beside any list of HCAs: not of an index, but of the family where the node has
// no other.
bool fits_any_list(const NodeValues& values, std::string_view name, bool constant) {
  return (values.only_ipv6 && name == variable::kIbAddrFamily) || !goes_with_list(name, constant);
}

// "" where a line cannot stand in the file: all lines or none, since an index without its list could be
// another port's. The notes are for pods that do not mount it: what their env alone is to have, and, where
// they look for themselves, the rules that hold on this node.
std::string conf_text(const BindingPlan& plan, const PodShape& shape, const NodeValues& values,
                      const std::string& spec, bool index) {
  ConfValues lines = policy_constants(*plan.policy, shape.host_network), notes;
  lines.insert(values.set.begin(), values.set.end());
  if (!index) {
    std::erase_if(lines, [&](const auto& line) {
      return !fits_any_list(values, line.first, !values.set.contains(line.first));
    });
  }
  if (values.plain_hcas) notes.emplace(variable::kIbHca, std::string());
  for (const auto& value : values.engines) {
    if (!file_engine_of(value.first)) notes.insert(value);
  }
  if (shape.exposure == Exposure::PodOwned && !spec.empty()) notes.emplace(kSpecVariable, spec);
  const auto text = render_conf(lines, notes);
  return text ? *text : std::string();
}

// True if an earlier generation may have promised texts of any shape.
bool serves_earlier(const NodeContext& context) {
  return context.policy_edited || context.policy_changed;
}

// A pod with devices of its own gets constants alone, and reads no text where there are none.
bool has_texts(const NcclPolicy& policy, const PodShape& shape) {
  return can_have(policy, shape) && (shape.exposure != Exposure::PodOwned || !policy.variants.empty() ||
                                     !policy_constants(policy, false).empty());
}

void add_texts(BindingPlan& plan, const PodShape& shape, const std::string& spec, bool twin) {
  const NodeValues values = values_for(plan, shape.exposure, shape.host_network);
  plan.annotations.emplace(text_key(shape, conf_file::kName), conf_text(plan, shape, values, spec, true));
  if (twin)  // also where no index comes: the policy of the pod's CREATE chose
    plan.annotations.emplace(text_key(shape, conf_file::kNoIndexText),
                             conf_text(plan, shape, values, spec, false));
  for (const Engine* engine : plan.policy->engines) {
    if (has_file(*engine))
      plan.annotations.emplace(text_key(shape, engine->file),
                               engine_file(*engine, *plan.policy, values, shape.host_network));
  }
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string render_node(const BindingPlan& plan, const NodeFabric* table, bool sub_interfaces) {
  nlohmann::ordered_json json{{"v", 1}, {"node", plan.host.node}};
  if (table && table->time) json["table"] = format_timestamp(*table->time);
  if (table && table->boot_id) json["bootId"] = *table->boot_id;
  json["policy"] = plan.policy->name;
  json["generation"] = plan.policy->generation;
  auto omitted = nlohmann::ordered_json::object();
  if (!plan.host.omitted.empty()) omitted["host"] = omitted_json(plan.host);
  if (!plan.sub_interface.omitted.empty() && sub_interfaces)
    omitted["subinterface"] = omitted_json(plan.sub_interface);
  // Why pods with a network of their own get no socket interface, where that differs from node to node.
  if (auto own = omitted_json(plan.pod_owned, variable::kSocketIfname); !own.empty())
    omitted["ownNetwork"] = std::move(own);
  if (!omitted.empty()) json["omitted"] = std::move(omitted);
  if (plan.no_env_file) json["envFile"] = to_string(*plan.no_env_file->reason);
  const auto& few = plan.host.short_list ? plan.host.short_list : plan.sub_interface.short_list;
  if (few) json["shortList"] = to_string(*few->reason);
  return dump(json);
}

// From 1.35 on a kubelet fills fileKeyRefs; an older one does not know the field, and the variable is empty.
// A version in another form counts as new enough, as does one that is not known.
bool knows_file_keys(std::string_view kubelet) {
  constexpr std::string_view kBefore = "v1.";
  if (!kubelet.starts_with(kBefore)) return true;
  kubelet.remove_prefix(kBefore.size());
  return plain_decimal(kubelet.substr(0, kubelet.find('.'))).value_or(35) >= 35;
}

std::optional<Value> problem_of_env_file(const NcclPolicy& policy, const NodeFabric* table) {
  if (!policy.deliver_env_file || !table || !table->kubelet_version) return std::nullopt;
  if (knows_file_keys(*table->kubelet_version)) return std::nullopt;
  return left_out(conf_file::kEnvName, Reason::KubeletTooOld,
                  table->name + ": its kubelet is " + *table->kubelet_version +
                      "; fileKeyRef needs 1.35, and the variables are empty in its pods.");
}

}  // namespace

BindingPlan plan_binding(std::shared_ptr<const NcclPolicy> policy, std::string_view node,
                         const NodeFabric* table, const NodeContext& context) {
  BindingPlan plan;
  plan.policy = std::move(policy);
  if (context.policy_changed && plan.policy->gid_index.kind == GidIndexRule::Kind::Literal) {
    auto from_node = std::make_shared<NcclPolicy>(*plan.policy);
    from_node->gid_index.kind = GidIndexRule::Kind::Pin;  // which is left out, and told
    plan.policy = std::move(from_node);
  }
  plan.pod_owned.node = node;
  std::string spec;
  if (plan.policy->variants.empty()) {
    plan.host = node_values(*plan.policy, node, table, Exposure::Host, context);
    plan.sub_interface = node_values(*plan.policy, node, table, Exposure::SubInterface, context);
  } else {
    SettledPolicy settled = settle_policy(*plan.policy, node, table, context);
    plan.host = node_values(settled, node, table, Exposure::Host, context);
    plan.sub_interface = node_values(settled, node, table, Exposure::SubInterface, context);
    spec = spec_text(*plan.policy, settled);
    plan.pod_owned = std::move(settled.constants);
  }
  plan.no_env_file = problem_of_env_file(*plan.policy, table);
  const bool all = serves_earlier(context);
  const bool sub_interfaces = all || can_have(*plan.policy, shape_of(Exposure::SubInterface, false));
  plan.annotations.emplace(key::kNode, render_node(plan, table, sub_interfaces));
  for (const PodShape& shape : pod_shapes()) {
    if (all || has_texts(*plan.policy, shape))
      add_texts(plan, shape, spec, all || may_pin(*plan.policy, shape));
  }
  return plan;
}

BindingPlan plan_empty_binding(std::string_view node, Reason reason, const Pod& pod) {
  BindingPlan plan;
  plan.host.node = plan.sub_interface.node = node;
  plan.annotations.emplace(key::kNode, dump({{"v", 1}, {"node", node}, {"reason", to_string(reason)}}));
  for (const auto& annotation : pod.annotations) {
    if (shape_with(annotation.first)) plan.annotations.emplace(annotation.first, std::string());
  }
  for (const std::string_view key : texts_read(pod)) plan.annotations.emplace(key, std::string());
  return plan;
}

std::vector<std::string_view> texts_read(const Pod& pod) {
  std::vector<std::string_view> keys;
  const auto add = [&](std::string_view field_path) {
    const std::string_view key = annotation_of(field_path);
    if (shape_with(key)) keys.push_back(key);
  };
  if (pod.own_volume) {
    for (const VolumeItem& item : pod.own_volume->items) add(item.field_path);
  }
  for (const Container& container : pod.containers) {
    for (const EnvEntry& entry : container.env) add(entry.field_path);
  }
  return keys;
}

bool serves(const BindingPlan& plan, const Pod& pod) {
  const auto keys = texts_read(pod);
  return std::all_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return plan.annotations.contains(key); });
}

bool within_budget(const Binding& binding, const BindingPlan& plan) {
  if (!binding.excess.empty()) return false;
  std::size_t bytes = 0;
  for (const auto& [name, value] : binding.annotations) bytes += name.size() + value.size();
  for (const auto& [name, value] : plan.annotations) bytes += name.size() + value.size();
  return bytes <= kMaxAnnotationBytes;
}

bool reads_env_file(const Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& container) {
    return std::any_of(container.env.begin(), container.env.end(), [](const EnvEntry& entry) {
      return entry.file_key == entry.name && !entry.name.empty();
    });
  });
}

std::optional<Exposure> consumed_exposure(const Pod& pod) {
  std::optional<Exposure> consumed;
  for (const std::string_view key : texts_read(pod)) {
    const Exposure exposure = shape_with(key)->exposure;
    consumed = std::min(consumed.value_or(exposure), exposure);
  }
  return consumed;
}

const NodeValues& values_of(const BindingPlan& plan, Exposure exposure) {
  if (exposure == Exposure::PodOwned) return plan.pod_owned;
  return exposure == Exposure::Host ? plan.host : plan.sub_interface;
}

const Value* refusal_of(const BindingPlan& plan, std::optional<Exposure> consumed, bool by_env_file) {
  if (!plan.policy || plan.policy->on_unresolved != OnUnresolved::Deny ||
      plan.policy->mode != PolicyMode::Enforce)
    return nullptr;
  if (plan.no_env_file && by_env_file) return &*plan.no_env_file;
  const NodeValues* values = consumed ? &values_of(plan, *consumed) : nullptr;
  return values && values->deny ? &*values->deny : nullptr;
}

bool gives_index(const BindingPlan& plan) {
  const auto has_one = [](const NodeValues& values) { return values.set.contains(variable::kIbGidIndex); };
  return plan.policy && (plan.policy->gid_index.kind == GidIndexRule::Kind::Literal || has_one(plan.host) ||
                         has_one(plan.sub_interface));
}

NodeValues values_for(const BindingPlan& plan, Exposure exposure, bool host_network, bool any_list) {
  NodeValues values = values_of(plan, exposure);
  if (any_list)
    std::erase_if(values.set, [&](const auto& value) { return !fits_any_list(values, value.first, false); });
  if (host_network || exposure == Exposure::PodOwned) return values;
  const std::string interface(variable::kSocketIfname);
  std::erase_if(values.omitted,
                [](const Value& omission) { return omission.name == variable::kSocketIfname; });
  const NodeValues& own = plan.pod_owned;
  for (const auto texts : {&NodeValues::set, &NodeValues::why}) {
    (values.*texts).erase(interface);
    if (const auto found = (own.*texts).find(interface); found != (own.*texts).end())
      (values.*texts).insert(*found);
  }
  for (const Value& omission : own.omitted) {
    if (omission.name == interface) values.omitted.push_back(omission);
  }
  if (plan.policy && plan.policy->engines.size() > 1) find_engine_values(*plan.policy, false, values);
  return values;
}

}  // namespace nccl_env
