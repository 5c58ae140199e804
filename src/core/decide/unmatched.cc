// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/unmatched.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/process_limits.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using NameList = std::vector<std::string>;

constexpr std::size_t kMostAsked = 8;

bool holds_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(parts, [&](std::string_view part) { return lower.find(part) != lower.npos; });
}

// True for names of processors, and of helpers that are no network devices. What is not known may be RDMA.
bool is_processor(std::string_view name) {
  return holds_any(name, {"gpu", "mig-", "npu", "tpu", "neuron", "ascend", "dcu", "mlu"});
}

// True also for "RDMA/HCA", which Kubernetes refuses.
bool names_resource(std::string_view text) {
  return is_extended_resource(lower_case(text));
}

}  // namespace

bool may_have_nics(std::string_view device_class) {
  return !is_processor(device_class) && !is_compute_domain_class(device_class);
}

bool may_be_rdma(std::string_view resource) {
  if (const std::string_view device_class = device_class_of(resource); !device_class.empty())
    return may_have_nics(device_class);
  if (!names_resource(resource)) return false;
  if (known_exposure(resource)) return true;
  const bool helps = resource.ends_with("/fuse") || resource.ends_with("/kvm") || resource.ends_with("/tun");
  return !is_processor(resource) && !helps;
}

namespace {

void add_name_of(std::string_view name, NameList& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

// Holds what a pod asks for that may be RDMA.
struct Asked {
  NameList resources;
  NameList zeros;  // resources that the policy matches, of which no container asks for one
  NameList classes;
  NameList unused_claims;  // of a class that the policy matches, and no container names them
  bool processors = false;
};

bool is_matched(std::string_view resource, const NcclPolicy& policy) {
  return std::ranges::any_of(policy.resources,
                             [&](const ResourceMatch& match) { return glob_matches(match.name, resource); });
}

Asked asked_by(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims) {
  Asked asked;
  for (const Container& container : pod.containers) {
    for (const std::string_view resource : container.resources) {
      const std::string_view device_class = device_class_of(resource);
      if (may_be_rdma(resource))
        add_name_of(device_class.empty() ? resource : device_class,
                    device_class.empty() ? asked.resources : asked.classes);
      asked.processors = asked.processors || is_processor(resource);
    }
    for (const std::string_view resource : container.zero_resources) {
      if (is_matched(resource, policy)) add_name_of(resource, asked.zeros);
    }
  }
  const std::vector<bool> used = used_claims(pod);
  for (std::size_t i = 0; claims && i < std::min(pod.claims.size(), claims->entries.size()); ++i) {
    if (!claims->entries[i].requests) continue;
    for (const DeviceRequest& request : *claims->entries[i].requests) {
      for (const std::string& name : request.classes) {
        const auto& wanted = policy.device_classes;
        const bool matched = std::find(wanted.begin(), wanted.end(), name) != wanted.end();
        if (matched && !used[i]) add_name_of(pod.claims[i].name, asked.unused_claims);
        if (!matched && may_have_nics(name)) add_name_of(name, asked.classes);
        asked.processors = asked.processors || is_processor(name);
      }
    }
  }
  return asked;
}

bool mounts_devices(const Pod& pod) {
  return std::ranges::any_of(pod.host_paths, [](const HostPathVolume& volume) {
    return without_trailing_slashes(volume.path) == "/dev/infiniband" ||
           volume.path.starts_with("/dev/infiniband/");
  });
}

// "If example.org/a or example.org/b is …"
std::string either(const NameList& names) {
  if (names.size() < 2 || names.size() > kMostAsked) return join_some(names, kMostAsked);
  return join_some(NameList(names.begin(), names.end() - 1), kMostAsked) + " or " + names.back();
}

std::string add_to(const std::string& field, const NcclPolicy& policy, const std::string& line) {
  return "add it to spec.match." + field + " of policy " + policy.name + ": " + line + ".";
}

bool speaks_of_rdma(std::string_view name) {
  return holds_any(name, {"rdma", "roce", "infiniband"});
}

bool is_rdma(std::string_view resource) {
  return names_resource(resource) && (known_exposure(resource) || speaks_of_rdma(resource));
}

// The pod's secondary networks whose names speak of RDMA.
NameList rdma_networks_of(const Pod& pod) {
  NameList names = networks_of(pod).names;
  std::erase_if(names, [](const std::string& name) { return !speaks_of_rdma(name); });
  return names;
}

// "rdma/hca: 1", or a pattern of the policy's, for a pod that asks for none; "" where the policy matches
// none.
std::string resource_of(const NcclPolicy& policy) {
  if (policy.resources.empty()) return {};
  const std::string& name = policy.resources.front().name;
  if (is_extended_resource(name)) return name + ": 1";
  const std::size_t all = policy.resources.size();
  return all == 1 ? "one that matches " + name : "one of " + std::to_string(all) + " patterns, first " + name;
}

std::string sorted_letters(std::string_view text) {
  std::string letters = lower_case(text);
  std::ranges::sort(letters);
  return letters;
}

std::string without_digits(std::string_view text) {
  std::string rest = lower_case(text);
  std::erase_if(rest, is_digit);
  return rest;
}

// One letter is wrong, or two have changed places. Names that differ in a number are two resources.
std::string_view near_among(std::string_view resource, std::span<const std::string_view> names) {
  const std::string_view near = nearest(resource, names, 2);
  if (near.empty() || (near.size() == resource.size() && equal_ignoring_case(near, resource))) return near;
  if (without_digits(near) == without_digits(resource)) return {};
  const bool swapped = sorted_letters(near) == sorted_letters(resource);
  return swapped ? near : nearest(resource, names, 1);
}

// Returns the name that a misspelt one is near to: one that the policy matches, else a known one; "": none.
std::string meant_by(std::string_view resource, const NcclPolicy& policy) {
  if (known_exposure(resource)) return {};
  std::vector<std::string_view> names;
  for (const ResourceMatch& match : policy.resources) {
    std::string_view name = match.name;
    while (name.ends_with('*')) name.remove_suffix(1);
    if (is_extended_resource(name)) names.push_back(name);
  }
  const std::string_view near = near_among(resource, names);
  return std::string(near.empty() ? near_among(resource, known_resources()) : near);
}

// "Do you mean rdma/hca?" of the first names that are misspelt; and which of them no resource can have.
void ask_what_is_meant(NameList& resources, const NcclPolicy& policy, NameList& sentences) {
  resources.resize(std::min(resources.size(), kMostAsked));
  for (const std::string& name : resources) {
    const std::string meant = meant_by(name, policy);
    if (!is_extended_resource(name)) {
      sentences.push_back("No resource is called " + name + ", since domains have small letters: write " +
                          (meant.empty() ? lower_case(name) : meant) + ".");
    } else if (!meant.empty()) {
      sentences.push_back("Do you mean " + meant + " by " + name + "?");
    }
  }
  std::erase_if(resources, [](const std::string& name) { return !is_extended_resource(name); });
}

// The number of "2", and the greater one of "1:2" (torchrun's --nnodes).
bool is_several(std::string_view number) {
  return plain_decimal(number.substr(number.find(':') + 1)).value_or(1) > 1;
}

// "PET_NNODES=2" where that tells that the process runs on several nodes; "" where it does not.
std::string sign_in_env(const Container& container) {
  constexpr std::array<std::string_view, 4> kNodes{"PET_NNODES", "NNODES", "NUM_NODES", "LWS_GROUP_SIZE"};
  const auto elsewhere = [](const EnvEntry& entry) {
    return entry.name == "MASTER_ADDR" && !entry.value.empty() && entry.value != "localhost" &&
           !entry.value.starts_with("127.");
  };
  const bool remote = std::ranges::any_of(container.env, elsewhere);
  for (const EnvEntry& entry : container.env) {
    const bool counts = std::find(kNodes.begin(), kNodes.end(), entry.name) != kNodes.end() ||
                        (remote && entry.name == "WORLD_SIZE");
    if (counts && entry.is_literal() && is_several(entry.value))
      return std::string(entry.name) + "=" + std::string(prefix_of(entry.value, 16));
  }
  return {};
}

// "--nnodes 2" of torchrun's.
std::string sign_in_command(const Container& container) {
  constexpr std::string_view kOption = "--nnodes";
  for (std::size_t i = 0; i < container.arguments.size(); ++i) {
    std::string_view rest = container.arguments[i];
    if (rest.find(kOption) == rest.npos) continue;
    rest.remove_prefix(rest.find(kOption) + kOption.size());
    if (rest.empty() && i + 1 < container.arguments.size()) rest = container.arguments[i + 1];
    if (rest.starts_with('=') || rest.starts_with(' ')) rest.remove_prefix(1);
    const std::string_view number = rest.substr(0, rest.find_first_of(" \t\n\\;"));
    if (is_several(number)) return std::string(kOption) + " " + std::string(number);
  }
  return {};
}

// Returns the sign that the pod is one of several that work together; "" if there is none. LeaderWorkerSet
// and JobSet write these.
std::string sign_of_several(const Pod& pod) {
  for (const std::string_view name :
       {"leaderworkerset.sigs.k8s.io/size", "jobset.sigs.k8s.io/replicatedjob-replicas"}) {
    const auto label = pod.label(name), number = label ? label : pod.annotation(name);
    if (number && is_several(*number)) return std::string(name) + ": " + std::string(prefix_of(*number, 16));
  }
  for (const Container& container : pod.containers) {
    std::string sign = sign_in_env(container);
    if (sign.empty()) sign = sign_in_command(container);
    if (!sign.empty()) return sign;
  }
  return {};
}

// True where nobody means RDMA: a variable turns it off.
bool turns_off(const Container& container) {
  return std::ranges::any_of(container.env, [](const EnvEntry& entry) {
    return entry.is_literal() && turns_verbs_off(entry.name, entry.value);
  });
}

bool is_launcher(const Pod& pod, bool processors) {
  return !processors && std::ranges::any_of(pod.containers, [](const Container& container) {
    return container.starts_ranks;
  });
}

// True if the pod has GPUs and nothing by which NCCL could use RDMA, and nobody turned RDMA off.
bool lacks_rdma(const Pod& pod, const NcclPolicy& policy) {
  const bool gpus = std::ranges::any_of(pod.containers, asks_for_processor);
  return gpus && !may_have_devices(pod) && !resource_of(policy).empty() &&
         std::ranges::none_of(pod.containers, turns_off);
}

}  // namespace

bool asks_for_processor(const Container& container) {
  return std::ranges::any_of(container.resources, is_processor);
}

bool may_have_devices(const Pod& pod) {
  return !pod.claims.empty() || !device_volumes(pod).empty() ||
         std::ranges::any_of(pod.containers, [](const Container& container) {
           return (container.privileged && container.kind == ContainerKind::Main) ||
                  std::ranges::any_of(container.resources, may_be_rdma);
         });
}

std::string gpus_without_rdma(const Pod& pod, const NcclPolicy& policy) {
  if (!lacks_rdma(pod, policy)) return {};
  return "The pod has GPUs and asks for no RDMA resource (" + resource_of(policy) + ")";
}

std::string several_without_rdma(const Pod& pod, const NcclPolicy& policy, std::string sign) {
  if (sign.empty()) sign = sign_of_several(pod);
  std::string text = sign.empty() ? sign : gpus_without_rdma(pod, policy);
  return text.empty() ? text
                      : text + ", and is one of several (" + sign + "): between nodes NCCL will use TCP.";
}

std::string unmatched_rdma(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims) {
  if (std::ranges::any_of(pod.misplaced,
                          [&](std::string_view name) { return is_rdma(name) || is_matched(name, policy); }))
    return "The pod asks for " + join_some(pod.misplaced, kMostAsked) + " at spec.resources, without effect.";
  Asked asked = asked_by(pod, policy, claims);
  std::erase_if(asked.resources,
                [&](const std::string& name) { return !is_rdma(name) && meant_by(name, policy).empty(); });
  for (const std::string& name : asked.classes) {
    if (speaks_of_rdma(name)) asked.resources.push_back(name);
  }
  if (asked.processors && asked.resources.empty() && !asked.zeros.empty())
    return "The pod requests no " + join_some(asked.zeros, kMostAsked) + ": its quantity is 0, or no number.";
  const NameList networks = rdma_networks_of(pod);
  if (asked.processors && asked.resources.empty() && pod.claims.empty() && !networks.empty() &&
      !resource_of(policy).empty())
    return "The pod has the GPUs and the networks of a rank (" + join_some(networks, kMostAsked) +
           "), and asks for no RDMA resource.";
  if (asked.processors && asked.resources.empty() && mounts_devices(pod) &&
      std::ranges::none_of(pod.containers, turns_off))
    asked.resources.emplace_back("the host's /dev/infiniband");
  if (asked.resources.empty() || is_launcher(pod, asked.processors)) return {};
  return "The pod asks for " + join_some(asked.resources, kMostAsked) + ", which policy " + policy.name +
         " does not match.";
}

std::string unmatched_remedy(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims,
                             const std::string& sign) {
  if (!pod.misplaced.empty()) {
    return "spec.resources stands beside the containers, where only cpu, memory and hugepages may be: "
           "write " +
           join_some(pod.misplaced, kMostAsked) + " into the resources of a container.";
  }
  Asked asked = asked_by(pod, policy, claims);
  if (is_launcher(pod, asked.processors))
    return "Nothing to do: the pod starts ranks (mpirun) and asks for no GPU, so it is not a rank itself.";

  NameList sentences;
  if (const NameList& names = asked.zeros; !names.empty())
    sentences.push_back("The pod requests no " + join_some(names, kMostAsked) +
                        ": write how many it needs, or nothing if it is not a rank.");
  ask_what_is_meant(asked.resources, policy, sentences);
  if (const NameList& names = asked.resources; !names.empty()) {
    sentences.push_back("If " + either(names) + " is the RDMA resource, " +
                        add_to("resources", policy, "- {name: " + names.front() + "}"));
  }
  if (const NameList& names = asked.classes; !names.empty()) {
    sentences.push_back("If " + either(names) + " is the class of RDMA devices, " +
                        add_to("deviceClasses", policy, "- " + names.front()));
  }
  if (const NameList& names = asked.unused_claims; !names.empty()) {
    sentences.push_back("No container names claim " + either(names) + ": write resources: {claims: [{name: " +
                        names.front() + "}]} into the one that uses it.");
  }
  if (const NameList names = networks_of(pod).names; !names.empty()) {
    if (const std::string resource = resource_of(policy);
        asked.processors && asked.resources.empty() && pod.claims.empty() && !resource.empty())
      sentences.push_back("Ask for the RDMA resource in the container's limits (" + resource + ").");
    sentences.push_back("If network " + either(names) + " brings the devices, " +
                        add_to("networks", policy, "- {name: " + names.front() + ", exposure: PodOwned}"));
  }
  if (mounts_devices(pod) && !pod.host_network) {
    sentences.emplace_back("Mounting /dev/infiniband counts with hostNetwork: true alone.");
  } else if (mounts_devices(pod) && !policy.host_devices) {
    sentences.push_back(
        "For pods on the host's network that mount /dev/infiniband, write hostDevices: true into spec.match "
        "of policy " +
        policy.name + ".");
  }
  if (!sentences.empty()) return join(sentences, " ");
  const std::string usual(remedy(Reason::NotRdma));
  return several_without_rdma(pod, policy, sign).empty() ? "Nothing, if the pod is not a rank. Else: " + usual
                                                         : usual;
}

}  // namespace nccl_env
