// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/match.h"

#include <algorithm>
#include <set>

#include "nccl_env/core/decide/process_limits.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/glob.h"

namespace nccl_env {
namespace {

PodMatch skip(Reason reason, std::string detail) {
  PodMatch match;
  match.skip = reason;
  match.detail = std::move(detail);
  return match;
}

// The label beats the annotation, but "false" in either beats "true" in the other.
std::optional<std::string_view> inject_value(const Pod& pod) {
  const auto label = pod.label(key::kInject);
  const auto annotation = pod.annotation(key::kInject);
  if (label == "false" || annotation == "false") return "false";
  return label ? label : annotation;
}

using Names = std::set<std::string_view>;

const std::string_view* skipped_resource(const Pod& pod, const NcclPolicy& policy) {
  for (const Container& container : pod.containers) {
    for (const std::string_view& resource : container.resources) {
      for (const std::string& glob : policy.skip_resources) {
        if (is_extended_resource(resource) && glob_matches(glob, resource)) return &resource;
      }
    }
  }
  return nullptr;
}

// Returns what a container that requests `resource` sees; nothing if the policy does not match it.
std::optional<Exposure> matched_exposure(std::string_view resource, const NcclPolicy& policy) {
  if (const std::string_view device_class = device_class_of(resource); !device_class.empty()) {
    const auto& classes = policy.device_classes;
    const bool named = std::find(classes.begin(), classes.end(), device_class) != classes.end();
    return named ? std::optional(Exposure::PodOwned) : std::nullopt;
  }
  if (!is_extended_resource(resource)) return std::nullopt;
  for (const ResourceMatch& entry : policy.resources) {
    if (!glob_matches(entry.name, resource)) continue;
    if (entry.exposure) return entry.exposure;
    return known_exposure(resource).value_or(Exposure::PodOwned);
  }
  return std::nullopt;
}

// Containers that request a resource or claim, or mount the device; the least known exposure of them all.
struct Requests {
  std::vector<bool> containers;
  bool any = false;
  bool needs_network = false;
  std::optional<Exposure> exposure;

  void add(std::size_t container, std::optional<Exposure> seen) {
    containers[container] = any = true;
    if (seen) exposure = std::max(exposure.value_or(*seen), *seen);
  }
};

Requests find_requests(const Pod& pod, const NcclPolicy& policy, const ClaimMatch& claims) {
  Requests found;
  found.containers.resize(pod.containers.size());
  const bool devices_count = policy.host_devices && pod.host_network;
  const Names devices = devices_count ? device_volumes(pod) : Names();
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const Container& container = pod.containers[i];
    // Init containers are privileged for other purposes.
    const bool sees_all = devices_count && container.privileged && container.kind == ContainerKind::Main;
    if (sees_all || mounts_one_of(container, devices)) found.add(i, std::nullopt);
    for (const std::string_view resource : container.resources) {
      const auto seen = matched_exposure(resource, policy);
      if (!seen) continue;
      found.add(i, seen);
      found.needs_network = found.needs_network || needs_network(resource);
    }
    if (!claims.containers.empty() && claims.containers[i]) found.add(i, Exposure::PodOwned);
  }
  return found;
}

// Why pods with these networks may lack rails of such a fabric; "" if they have them all. `few`: since these
// bring fewer than are expected.
std::string rails_problem(const FabricRule& fabric, const NcclPolicy& policy, const NetworkMatch& networks,
                          bool no_rail, bool& few) {
  if (fabric.link_layer == LinkLayer::InfiniBand) return {};
  const auto& expected = fabric.expect_ports;
  if (!networks.problem.empty())
    return "The pod's networks cannot be read: annotation " + networks.problem + ".";
  if (no_rail && fabric.link_layer == LinkLayer::Ethernet) return std::string(words_of(Code::NoRail).meaning);
  if (!networks.any) {
    return policy.networks.empty() ? std::string()
                                   : "A pod gets its rails through networks, as the policy's match.networks "
                                     "says, and this pod asks for none.";
  }
  if (networks.rails == 0) return "The pod's annotations do not say how many networks it gets.";
  few = expected && networks.rails < static_cast<std::size_t>(*expected);
  if (few)
    return "The pod's networks bring " + std::to_string(networks.rails) + " of " + std::to_string(*expected) +
           " rails.";
  if (!expected && networks.rails == 1)
    return "The pod's networks bring one rail, and the policy does not say that a node has no more "
           "(expectPorts: 1).";
  return {};
}

// Says why a pod may lack rails. RoCE needs an interface of the pod's on each rail, and a shared device is
// visible without one. Where the number of rails is not known, several networks count as all rails: without a
// list NCCL would take the same HCAs and those of other networks. The node, and with it the variant, is not
// known yet: the pod has to have the rails of each variant.
void find_rails(const NcclPolicy& policy, const NetworkMatch& networks, PodMatch& match) {
  if (match.exposure != Exposure::SubInterface || policy.hca.kind != HcaRule::Kind::FromNode) return;
  match.rails_unknown = rails_problem(policy.fabric, policy, networks, match.no_rail, match.few_rails);
  for (const PolicyVariant& variant : policy.variants) {
    if (match.rails_unknown.empty() && variant.fabric)
      match.rails_unknown = rails_problem(*variant.fabric, policy, networks, match.no_rail, match.few_rails);
  }
  match.lacks_network = !match.rails_unknown.empty() && networks.problem.empty() && !networks.any;
}

}  // namespace

std::string no_rail_text() {
  const Named& words = words_of(Code::NoRail);
  return std::string(words.name).append(": ").append(words.meaning).append(" ").append(words.remedy);
}

bool is_mirror(const Pod& pod) {
  return pod.annotation("kubernetes.io/config.mirror").has_value();
}

bool opts_out(const Pod& pod) {
  return inject_value(pod) == "false";
}

PodMatch match_pod(const Pod& pod, const NcclPolicy& policy, const PodClaims* pod_claims) {
  if (is_mirror(pod)) return skip(Reason::MirrorPod, "The pod mirrors a static pod of the kubelet.");
  if (const std::string_view* resource = skipped_resource(pod, policy))
    return skip(Reason::NotVerbs,
                "The pod requests " + std::string(*resource) + ", which NCCL does not reach through verbs.");
  const ClaimMatch claims = match_claims(pod, policy, pod_claims);
  if (!claims.not_verbs.empty())
    return skip(Reason::NotVerbs,
                "The pod claims " + claims.not_verbs + ", which NCCL does not reach through verbs.");
  const auto inject = inject_value(pod);
  if (opts_out(pod)) return skip(Reason::OptedOut, "The pod says nccl-env.io/inject: \"false\".");
  if (inject && inject != "true")
    return skip(Reason::InvalidInjectValue, "nccl-env.io/inject must be \"true\" or \"false\".");

  const Requests requests = find_requests(pod, policy, claims);
  const NetworkMatch networks = match_networks(pod, policy);
  const bool networks_matter = !policy.networks.empty() && !networks.problem.empty();
  if (!requests.any && !networks.exposure && inject != "true") {
    if (!claims.unknown.empty()) return skip(Reason::ClaimUnknown, claims.unknown + ".");
    return skip(Reason::NotRdma, "Nothing in the pod asks for a resource, device or network that policy " +
                                     policy.name + " matches.");
  }
  PodMatch match;
  match.in_scope = requests.containers;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    if (policy.containers == ContainerScope::All) match.in_scope[i] = true;
    if (!requests.any && pod.containers[i].kind == ContainerKind::Main) match.in_scope[i] = true;
  }
  std::optional<Exposure> exposure = std::max(requests.exposure, networks.exposure);  // none is the least
  if (!claims.unknown.empty()) match.problem = claims.unknown;
  if (networks_matter) match.problem = "annotation " + networks.problem;
  if (!match.problem.empty()) exposure = Exposure::PodOwned;
  match.exposure = pod.host_network ? Exposure::Host : exposure.value_or(Exposure::PodOwned);
  if (!match.problem.empty() && !pod.host_network)
    match.problem += "; taken for a pod with devices of its own";
  match.no_rail = match.exposure == Exposure::SubInterface && requests.needs_network && !networks.any &&
                  networks.problem.empty() && pod.claims.empty();
  find_rails(policy, networks, match);
  return match;
}

// On the node's network every exposure is Host, and a pod that asks for nothing may say inject: "true".
bool can_have(const NcclPolicy& policy, const PodShape& shape) {
  if (shape.host_network || shape.exposure == Exposure::PodOwned) return true;
  const auto brings = [&](const ResourceMatch& entry) {
    if (entry.exposure) return entry.exposure == shape.exposure;
    const bool many = entry.name.find_first_of("*?[\\") != entry.name.npos;  // some may be known as shared
    return many ? shape.exposure != Exposure::Host : known_exposure(entry.name) == shape.exposure;
  };
  return std::any_of(policy.resources.begin(), policy.resources.end(), brings) ||
         std::any_of(policy.networks.begin(), policy.networks.end(),
                     [&](const NetworkRule& rule) { return rule.exposure == shape.exposure; });
}

bool may_pin(const NcclPolicy& policy, const PodShape& shape) {
  return shape.exposure == Exposure::Host || policy.gid_index.kind == GidIndexRule::Kind::Literal ||
         (shape.exposure == Exposure::SubInterface && policy.partition_key);
}

}  // namespace nccl_env
