// SPDX-License-Identifier: Apache-2.0
// Words of a pod on its networks, its claims and its command. The first byte chooses which; the rest is
// the annotation's value, the claim object, or the command's words, one a line.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "fuzz/samples.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/pod/networks.h"

namespace nccl_env::fuzz::networks_fuzz {
namespace {

constexpr std::string_view kAnnotations[] = {
    "k8s.v1.cni.cncf.io/networks",           "v1.multus-cni.io/default-network",
    "cni.spidernet.io/rdma-resource-inject", "cni.spidernet.io/network-resource-inject",
    "networking.gke.io/interfaces",          "k8s.volcengine.com/pod-networks"};

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

void check_networks(std::string_view key, std::string_view value) {
  Pod pod;
  pod.name_space = "ml";
  pod.annotations = {{key, value}};
  const PodNetworks networks = networks_of(pod);
  require(networks.names.size() <= 64, "no more networks than the bound");
  require(networks.problem.empty() || networks.problem.starts_with(key), "a problem names the annotation");
  for (const std::string& name : networks.names) {
    const std::size_t slash = name.find('/');
    require(slash != name.npos && is_name(std::string_view(name).substr(0, slash)) &&
                is_name(std::string_view(name).substr(slash + 1)),
            "NAMESPACE/NAME of names that objects can have");
  }
}

void check_claim(std::string_view text) {
  const auto requests = parse_device_requests(text);
  if (!requests) return require(!requests.error().message.empty(), "a refusal has a sentence");
  require(!nlohmann::json::parse(text, nullptr, false).is_discarded(),
          "what simdjson accepts, nlohmann accepts");
  require(requests->size() <= 32, "no more requests than Kubernetes allows");
}

void check_command(std::string_view text) {
  Pod pod;
  Container& container = pod.containers.emplace_back();
  container.name = "c";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    container.arguments.push_back(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  for (const auto& policy : sample_policies()) {
    const Plan plan = plan_pod(pod, *policy);
    require(plan.reason == Reason::NotRdma && plan.warnings.size() <= 1, "a launcher is left alone");
    for (const std::string& warning : plan.warnings) {
      require(warning.size() < 4096, "a warning is bounded");
      require(warning.find("NCCL_") != warning.npos, "it names a variable");
    }
  }
}

}  // namespace

FUZZ_TARGET(networks) {
  const unsigned choice = take_byte(input) % (std::size(kAnnotations) + 2);
  if (choice < std::size(kAnnotations)) return check_networks(kAnnotations[choice], input);
  if (choice == std::size(kAnnotations)) return check_claim(input);
  check_command(input);
}

}  // namespace nccl_env::fuzz::networks_fuzz
