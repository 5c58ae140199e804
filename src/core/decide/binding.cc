// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/binding.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decide/conf_delivery.h"
#include "decide/container_env.h"
#include "decide/engine_values.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/node_constants.h"
#include "nccl_env/core/decide/node_values.h"
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

void add_values(const NodeKeys& keys, const NodeValues& values, BindingPlan& into) {
  // EnvFile alone reads one, by its init container, which sets none where it is empty.
  const bool index = into.policy && into.policy->deliver_env_file;
  const auto add = [&](std::string_view name, std::string_view text) {
    if (name != variable::kIbGidIndex || index)
      into.annotations.emplace(std::string(keys.prefix).append(name), text);
  };
  for (const auto& [name, file_text] : values.set) {
    if (name == variable::kSocketIfname || !into.pod_owned.set.contains(name))
      add(name, values.env_text(name));
  }
  for (const auto& [name, text] : values.engines) {
    if (!file_engine_of(name)) add(name, text);
  }
  // The readers take each of these variables for unset if it is empty.
  for (const std::string_view name : keys.variables) add(name, {});
  if (!into.policy) return;
  // So does the init container, which reads these.
  for (const Engine* engine : into.policy->engines) {
    if (has_file(*engine)) continue;
    for (const EngineVariable& variable : engine->variables)
      if (variable.render) add(variable.row.name, {});
  }
}

// Adds an empty text where the node has none, so that a text that was there before is not read in its place.
void add_constants(BindingPlan& plan, const std::string& spec) {
  if (!plan.policy) return;
  const auto add = [&](std::string_view name, const std::string& text) {
    plan.annotations.emplace(std::string(key::kConstantPrefix).append(name), text);
  };
  std::vector<std::string_view> names = texts_of_node(*plan.policy);
  if (plan.policy->varies_socket_interface()) names.push_back(variable::kSocketIfname);
  for (const std::string_view name : names) {
    const auto value = plan.pod_owned.set.find(name);
    add(name, name == kSpecVariable               ? spec
              : value == plan.pod_owned.set.end() ? std::string()
                                                  : value->second);
  }
}

// "" where there is no policy, and where there is nothing to write. `nvshmem`: with
// NVSHMEM's list of devices, which NCCL puts into the process's environment as it does its own lines. Values
// of other engines would come late that way, and in a place that they are not to have.
std::string text_of(const BindingPlan& plan, Exposure exposure, bool host_network, bool nvshmem) {
  if (!plan.policy) return {};
  const NcclPolicy& policy = *plan.policy;
  ConfValues values = policy_constants(policy, host_network);
  for (const auto& [name, value] : values_of(plan, exposure).set) {
    if (name != variable::kSocketIfname) values.emplace(name, value);
  }
  const auto& engines = values_of(plan, exposure).engines;
  const auto list = engines.find(variable::kNvshmemHcaList);
  if (nvshmem && list != engines.end()) values.insert(*list);
  const NodeValues& network = host_network ? plan.host : plan.pod_owned;
  const auto interface = network.set.find(variable::kSocketIfname);
  if (interface != network.set.end()) values.insert(*interface);
  // All lines or none: an index without its list could be another port's.
  const auto text = render_conf(values);
  return text ? *text : std::string();
}

void add_engine_files(const NodeKeys& keys, BindingPlan& plan) {
  for (const Engine* engine : plan.policy->engines) {
    if (!has_file(*engine)) continue;
    const NodeValues values = values_for(plan, keys.exposure, keys.host_network);
    plan.annotations.emplace(std::string(keys.prefix).append(engine->file),
                             engine_file(*engine, *plan.policy, values, keys.host_network));
  }
}

// Adds keys to a plan that has its values.
void add_keys(BindingPlan& plan, std::string node, const std::string& spec = {}) {
  for (const NodeKeys& keys : node_keys()) {
    if (!keys.variables.empty()) add_values(keys, values_of(plan, keys.exposure), plan);
    const auto add_text = [&](std::string_view name, bool nvshmem) {
      plan.annotations.emplace(std::string(keys.prefix).append(name),
                               text_of(plan, keys.exposure, keys.host_network, nvshmem));
    };
    if (keys.has_text) add_text(conf_file::kName, false);
    if (keys.has_text && keys.has_list()) add_text(conf_file::kNvshmemText, true);
    if (keys.has_text && plan.policy) add_engine_files(keys, plan);
  }
  add_constants(plan, spec);
  plan.annotations.emplace(key::kNode, std::move(node));
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string render_node(const BindingPlan& plan, const NodeFabric* table) {
  nlohmann::ordered_json json{{"v", 1}, {"node", plan.host.node}};
  if (table && table->time) json["table"] = format_timestamp(*table->time);
  json["policy"] = plan.policy->name;
  json["generation"] = plan.policy->generation;
  auto omitted = nlohmann::ordered_json::object();
  if (!plan.host.omitted.empty()) omitted["host"] = omitted_json(plan.host);
  if (!plan.sub_interface.omitted.empty()) omitted["subinterface"] = omitted_json(plan.sub_interface);
  // Why pods with a network of their own get no socket interface, where that differs from node to node.
  if (auto own = omitted_json(plan.pod_owned, variable::kSocketIfname); !own.empty())
    omitted["ownNetwork"] = std::move(own);
  if (!omitted.empty()) json["omitted"] = std::move(omitted);
  if (plan.no_env_file) json["envFile"] = to_string(*plan.no_env_file->reason);
  return dump(json);
}

// From 1.35 on a kubelet fills fileKeyRefs; an older one does not know the field, and the variable is empty.
// A version in another form counts as new enough, as does one that is not known.
bool knows_file_keys(std::string_view kubelet) {
  constexpr std::string_view kBefore = "v1.";
  if (!kubelet.starts_with(kBefore)) return true;
  kubelet.remove_prefix(kBefore.size());
  const auto minor = plain_decimal(kubelet.substr(0, kubelet.find('.')));
  return !minor || *minor >= 35;
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
  add_keys(plan, render_node(plan, table), spec);
  return plan;
}

BindingPlan plan_empty_binding(std::string_view node, Reason reason, const Pod& pod) {
  BindingPlan plan;
  plan.host.node = plan.sub_interface.node = node;
  add_keys(plan, dump({{"v", 1}, {"node", node}, {"reason", to_string(reason)}}));
  // The policy that named the constants is gone, so their names come from the pod.
  for (const VolumeItem& item : pod.own_volume ? pod.own_volume->items : std::vector<VolumeItem>()) {
    if (is_node_key(annotation_of(item.field_path)))
      plan.annotations.emplace(annotation_of(item.field_path), std::string());
  }
  for (const Container& container : pod.containers) {
    for (const EnvEntry& entry : container.env) {
      if (is_own_field(entry)) plan.annotations.emplace(annotation_of(entry.field_path), std::string());
    }
  }
  return plan;
}

bool within_budget(const Binding& binding, const BindingPlan& plan) {
  if (!binding.excess.empty()) return false;
  std::size_t bytes = 0;
  for (const auto& [name, value] : binding.annotations) bytes += name.size() + value.size();
  for (const auto& [name, value] : plan.annotations) bytes += name.size() + value.size();
  return bytes <= kMaxAnnotationBytes;
}

bool waits_for_binding(const Pod& pod) {
  if (exposure_of_file(pod)) return true;
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& container) {
    return std::any_of(container.env.begin(), container.env.end(), is_own_field);
  });
}

bool reads_env_file(const Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& container) {
    return std::any_of(container.env.begin(), container.env.end(), [](const EnvEntry& entry) {
      return entry.file_key == entry.name && !entry.name.empty();
    });
  });
}

std::optional<Exposure> consumed_exposure(const Pod& pod) {
  std::optional<Exposure> consumed = exposure_of_file(pod);
  const auto consume = [&](Exposure exposure) { consumed = std::min(consumed.value_or(exposure), exposure); };
  for (const Container& container : pod.containers) {
    for (const EnvEntry& entry : container.env) {
      if (is_own_field(entry)) consume(keys_with(annotation_of(entry.field_path))->exposure);
    }
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

NodeValues values_for(const BindingPlan& plan, Exposure exposure, bool host_network) {
  NodeValues values = values_of(plan, exposure);
  if (host_network || exposure == Exposure::PodOwned) return values;
  const std::string interface(variable::kSocketIfname);
  values.set.erase(interface);
  values.why.erase(interface);
  std::erase_if(values.omitted,
                [](const Value& omission) { return omission.name == variable::kSocketIfname; });
  const NodeValues& own = plan.pod_owned;
  if (const auto value = own.set.find(interface); value != own.set.end()) values.set.insert(*value);
  if (const auto why = own.why.find(interface); why != own.why.end()) values.why.insert(*why);
  for (const Value& omission : own.omitted) {
    if (omission.name == interface) values.omitted.push_back(omission);
  }
  if (plan.policy && plan.policy->engines.size() > 1) find_engine_values(*plan.policy, false, values);
  return values;
}

}  // namespace nccl_env
