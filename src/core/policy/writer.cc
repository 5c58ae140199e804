// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl/variables.h"
#include "policy/words.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;

Json resource(const ResourceMatch& match) {
  Json out{{"name", match.name}};
  if (match.exposure) out["exposure"] = to_string(*match.exposure);
  return out;
}

Json gid_index(const GidIndexRule& rule) {
  if (rule.kind == GidIndexRule::Kind::Literal) return rule.literal;
  return name_in(words::kGidIndex, rule.kind);
}

Json variant(const PolicyVariant& variant) {
  Json when(Json::value_t::object);
  if (!variant.when.node_labels.empty()) when["nodeLabels"] = variant.when.node_labels;
  if (variant.when.link_layer) when["linkLayer"] = to_string(*variant.when.link_layer);
  if (!variant.when.boards.empty()) when["boards"] = variant.when.boards;
  if (variant.when.min_rate_gbps) when["minRateGbps"] = *variant.when.min_rate_gbps;
  Json out{{"when", when}};
  for (const auto& [name, value] : variant.env) out["env"][name] = value;
  if (variant.fabric) out["fabric"] = to_json(*variant.fabric);
  if (variant.socket_interface) out["socketInterface"] = to_json(*variant.socket_interface);
  return out;
}

}  // namespace

Json to_json(const FabricRule& rule) {
  Json subnets = Json::array();
  for (const Cidr& subnet : rule.subnets) subnets.push_back(format_cidr(subnet));
  std::string_view layer = words::kLinkLayer[0];
  if (rule.link_layer)
    layer = rule.link_layer == LinkLayer::Ethernet ? words::kLinkLayer[1] : words::kLinkLayer[2];
  Json out{{"hcas", rule.hcas},
           {"netdevs", rule.netdevs},
           {"subnets", subnets},
           {"linkLayer", layer},
           {"excludeHcas", rule.exclude_hcas}};
  if (rule.min_rate_gbps) out["minRateGbps"] = *rule.min_rate_gbps;
  if (rule.expect_ports) out["expectPorts"] = *rule.expect_ports;
  return out;
}

Json to_json(const SocketInterfaceRule& rule) {
  if (rule.kind == SocketInterfaceRule::Kind::Literal) return rule.literal;
  return name_in(words::kSocketInterface, rule.kind);
}

Json to_json(const NcclPolicy& policy) {
  Json resources = Json::array();
  for (const ResourceMatch& match : policy.resources) resources.push_back(resource(match));
  Json networks = Json::array();
  for (const NetworkRule& rule : policy.networks)
    networks.push_back({{"name", rule.name}, {"exposure", to_string(rule.exposure)}});
  Json delivery = Json::array();
  if (policy.deliver_file) delivery.push_back("File");
  if (policy.deliver_reference) delivery.push_back("Reference");
  const bool literal_hca = policy.hca.kind == HcaRule::Kind::Literal;
  Json spec{{"mode", to_string(policy.mode)},
            {"match",
             {{"resources", resources},
              {"deviceClasses", policy.device_classes},
              {"networks", networks},
              {"hostDevices", policy.host_devices}}},
            {"skipResources", policy.skip_resources},
            {"containers", to_string(policy.containers)},
            {"fabric", to_json(policy.fabric)},
            {"hca", literal_hca ? policy.hca.literal : name_in(words::kHca, policy.hca.kind)},
            {"gidIndex", gid_index(policy.gid_index)},
            {"socketInterface", to_json(policy.socket_interface)},
            {"env", Json(Json::value_t::object)},
            {"delivery", delivery},
            {"onUnresolved", to_string(policy.on_unresolved)}};
  if (policy.min_nccl) spec["nccl"] = {{"minVersion", format_nccl_version(*policy.min_nccl)}};
  if (policy.partition_key) spec["partitionKey"] = format_partition_key(*policy.partition_key);
  for (const auto& [name, value] : policy.env) {
    if (name != variable::kIbPkeyValue || !policy.partition_key) spec["env"][name] = value;
  }
  for (const PolicyVariant& each : policy.variants) spec["variants"].push_back(variant(each));
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NcclPolicy"},
          {"metadata", {{"name", policy.name}, {"generation", policy.generation}}},
          {"spec", spec}};
}

}  // namespace nccl_env
