// SPDX-License-Identifier: Apache-2.0
#include "cluster/tableless_nodes.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// An agent's image is pulled, and its first table written, within this time.
constexpr std::chrono::minutes kFirstTable{5};

// Returns the policy that matches the resource; a GPU tells nothing of RDMA.
const NcclPolicy* policy_for(const std::string& resource, const DoctorInput& input) {
  const auto takes = [&](const std::string& glob) { return glob_matches(glob, resource); };
  if (!is_extended_resource(resource) || resource.ends_with("/gpu")) return nullptr;
  for (const auto& policy : input.policies) {
    if (std::ranges::none_of(policy->skip_resources, takes) &&
        std::ranges::any_of(policy->resources, takes, &ResourceMatch::name))
      return policy.get();
  }
  return nullptr;
}

std::string why_of_node(const Json& node, const DoctorInput& input) {
  const Json& offered = member(member(node, "status"), "allocatable");
  if (!offered.is_object()) return {};
  for (const auto& [resource, amount] : offered.items()) {
    const NcclPolicy* policy = amount == "0" ? nullptr : policy_for(resource, input);
    if (policy)
      return "it offers " + resource + ", which policy " + policy->name +
             " matches, and has no NodeFabric and no agent's pod";
  }
  return {};
}

// True for a node of processors alone, whose agent is there because agents are everywhere.
bool is_plain(const Json& node, const DoctorInput& input) {
  const bool by_resource = std::ranges::none_of(input.policies, [](const auto& policy) {
    return policy->host_devices || !policy->device_classes.empty() || !policy->networks.empty();
  });
  const Json& offered = member(member(node, "status"), "allocatable");
  return by_resource && offered.is_object() &&
         std::ranges::none_of(offered.get_ref<const Json::object_t&>(), [](const auto& each) {
           return is_extended_resource(each.first) && each.second != "0";
         });
}

TablelessNode of_agent(const Json& pod, const std::string& node, Timestamp now) {
  const std::string created = text_at(member(pod, "metadata"), "creationTimestamp");
  const auto since = parse_timestamp(created);
  return {node, "an agent's pod is on it since " + created + ", and it has no NodeFabric",
          !since || now - *since >= kFirstTable};
}

}  // namespace

std::vector<TablelessNode> find_tableless_nodes(kube::ApiServer& client, const DoctorInput& input,
                                                const std::set<std::string>& known) {
  std::map<std::string, TablelessNode> found;
  const auto add = [&](const std::string& node, TablelessNode tableless) {
    if (!tableless.why.empty() && !known.contains(node)) found.try_emplace(node, std::move(tableless));
  };
  const std::string agents = kube::by_label(path_of(kube::kPods), "app.kubernetes.io/name=nccl-env-agent");
  const Status pods = kube::list_all(client, agents, [&](const Json& pod) {
    const std::string node = text_at(member(pod, "spec"), "nodeName");
    if (!node.empty()) add(node, of_agent(pod, node, input.now));
  });
  if (!pods) return {};
  std::set<std::string> there;
  const Status nodes = kube::list_all(client, path_of(kube::kNodes), [&](const Json& node) {
    const std::string name = text_at(member(node, "metadata"), "name");
    there.insert(name);
    add(name, {name, why_of_node(node, input)});
    if (const auto agent = found.find(name); agent != found.end() && is_plain(node, input))
      agent->second.needed = false;
  });
  std::vector<TablelessNode> all;
  for (auto& [node, tableless] : found) {
    // For a minute the pod of a node that was removed is left.
    if (!nodes || there.contains(node)) all.push_back(std::move(tableless));
  }
  return all;
}

}  // namespace nccl_env::cli
