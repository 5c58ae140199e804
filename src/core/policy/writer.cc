// SPDX-License-Identifier: Apache-2.0
// The words of a policy, and a policy as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/policy/policy.h"
#include "policy/words.h"

namespace nccl_env {
namespace {

using nlohmann::json;

template <class E, std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? words[index] : "unknown";
}

json resource(const ResourceMatch& match) {
  json out{{"name", match.name}};
  if (match.exposure) out["exposure"] = to_string(*match.exposure);
  return out;
}

json fabric(const FabricRule& rule) {
  json subnets = json::array();
  for (const Cidr& subnet : rule.subnets) subnets.push_back(format_cidr(subnet));
  std::string_view layer = words::kLinkLayer[0];
  if (rule.link_layer)
    layer = rule.link_layer == LinkLayer::Ethernet ? words::kLinkLayer[1] : words::kLinkLayer[2];
  json out{{"hcas", rule.hcas},
           {"netdevs", rule.netdevs},
           {"subnets", subnets},
           {"linkLayer", layer},
           {"excludeHcas", rule.exclude_hcas}};
  if (rule.min_rate_gbps) out["minRateGbps"] = *rule.min_rate_gbps;
  if (rule.expect_ports) out["expectPorts"] = *rule.expect_ports;
  return out;
}

json gid_index(const GidIndexRule& rule) {
  if (rule.kind == GidIndexRule::Kind::Literal) return rule.literal;
  return word(words::kGidIndex, rule.kind);
}

}  // namespace

std::string_view to_string(Exposure value) {
  return word(words::kExposure, value);
}
std::string_view to_string(PolicyMode value) {
  return word(words::kMode, value);
}
std::string_view to_string(ContainerScope value) {
  return word(words::kContainers, value);
}
std::string_view to_string(Resolve value) {
  return word(words::kResolve, value);
}
std::string_view to_string(OnUnresolved value) {
  return word(words::kOnUnresolved, value);
}

std::optional<Exposure> parse_exposure(std::string_view text) {
  const auto found = std::find(words::kExposure.begin(), words::kExposure.end(), text);
  if (found == words::kExposure.end()) return std::nullopt;
  return static_cast<Exposure>(found - words::kExposure.begin());
}

json to_json(const NcclPolicy& policy) {
  json resources = json::array();
  for (const ResourceMatch& match : policy.resources) resources.push_back(resource(match));
  json networks = json::array();
  for (const NetworkRule& rule : policy.networks)
    networks.push_back({{"name", rule.name}, {"exposure", to_string(rule.exposure)}});
  json delivery = json::array();
  if (policy.deliver_env) delivery.push_back("Env");
  if (policy.deliver_file) delivery.push_back("File");
  const bool literal_hca = policy.hca.kind == HcaRule::Kind::Literal;
  const bool literal_interface = policy.socket_interface.kind == SocketInterfaceRule::Kind::Literal;
  json spec{
      {"mode", to_string(policy.mode)},
      {"match",
       {{"resources", resources},
        {"deviceClasses", policy.device_classes},
        {"networks", networks},
        {"hostDevices", policy.host_devices}}},
      {"skipResources", policy.skip_resources},
      {"containers", to_string(policy.containers)},
      {"fabric", fabric(policy.fabric)},
      {"hca", literal_hca ? policy.hca.literal : word(words::kHca, policy.hca.kind)},
      {"gidIndex", gid_index(policy.gid_index)},
      {"socketInterface", literal_interface ? policy.socket_interface.literal
                                            : word(words::kSocketInterface, policy.socket_interface.kind)},
      {"env", json(json::value_t::object)},
      {"resolve", to_string(policy.resolve)},
      {"delivery", delivery},
      {"onUnresolved", to_string(policy.on_unresolved)}};
  for (const auto& constant : policy.env) spec["env"][constant.first] = constant.second;
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NcclPolicy"},
          {"metadata", {{"name", policy.name}, {"generation", policy.generation}}},
          {"spec", spec}};
}

}  // namespace nccl_env
