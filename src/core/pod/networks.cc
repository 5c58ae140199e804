// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/networks.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/fabric/node_fabric.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/json_cost.h"
#include "nccl_env/core/text/strict.h"
#include "text/json_fields.h"

namespace nccl_env {
namespace {

using json::each_item;
using json::Element;
using json::Failure;
using json::Path;
using json::pick;
using std::string_view;
using Keys = std::string_view;

// Sixteen rails are the most that is seen; an annotation with them and their addresses is 4 KiB.
constexpr std::size_t kMaxNetworks = 64;
constexpr std::size_t kMaxListBytes = 64u << 10;

class Reader {
 public:
  explicit Reader(const Pod& pod) : pod_(pod) {}

  PodNetworks read() {
    const string_view name_space = pod_.name_space.empty() ? "default" : pod_.name_space;
    // Multus looks for a default network in its own namespace, which is kube-system.
    read_multus("v1.multus-cni.io/default-network", "kube-system");
    read_word("cni.spidernet.io/rdma-resource-inject");
    read_word("cni.spidernet.io/network-resource-inject");
    const std::size_t before = networks_.names.size();
    read_multus("k8s.v1.cni.cncf.io/networks", name_space);
    read_gke();
    read_volcengine();
    networks_.attached = networks_.names.size() - before;
    return std::move(networks_);
  }

  // [{"name": "kindnet", "interface": "eth0", "default": true}, {"name": "ml/rail-0", "interface": "net1"}]
  std::vector<std::string> read_status() {
    constexpr string_view kKey = "k8s.v1.cni.cncf.io/network-status";
    std::vector<std::string> names;
    const auto value = value_of(kKey);
    if (!value) return names;
    each_of_list(kKey, *value, [&](Element item, const Path& path, Failure& failure) {
      const auto [interface] = pick(item, path, std::array<Keys, 1>{"interface"}, failure);
      const string_view name = json::text(interface, path.field("interface"), failure);
      if (!is_netdev_name(name)) return fail(kKey, "does not name every interface");
      if (names.size() == kMaxNetworks) return fail(kKey, "names more than 64 interfaces");
      names.emplace_back(name);
    });
    return networks_.problem.empty() ? names : std::vector<std::string>();
  }

 private:
  void fail(string_view key, string_view what) {
    if (networks_.problem.empty()) networks_.problem = std::string(key).append(": ").append(what);
  }

  // Both parts are names of objects; another text cannot name a network.
  void add(string_view key, string_view domain, string_view name) {
    if (!is_dns_subdomain(domain) || !is_dns_subdomain(name)) return fail(key, "holds what can't be a name");
    if (networks_.names.size() == kMaxNetworks) return fail(key, "asks for more than 64 networks");
    networks_.names.push_back(std::string(domain).append("/").append(name));
  }

  [[nodiscard]] std::optional<string_view> value_of(string_view key) {
    const auto value = pod_.annotation(key);
    if (!value || value->find_first_not_of(" \t\r\n") == string_view::npos) return std::nullopt;
    if (value->size() <= kMaxListBytes) return value;
    fail(key, "is larger than 64 KiB");
    return std::nullopt;
  }

  // Calls visit(item, path, failure) for the items of a JSON list.
  template <class Visit>
  void each_of_list(string_view key, string_view text, Visit visit) {
    simdjson::dom::parser parser(kMaxListBytes);
    const Result<Element> root = json::parse(parser, text);
    if (!root) return fail(key, holds_costly_numbers(text) ? kCostlyNumbers : "is not JSON");
    Failure failure;
    const Path top;
    each_item(*root, top, failure, [&](Element item, const Path& here) { visit(item, here, failure); });
    if (failure.failed()) fail(key, failure.error().message);
  }

  // A list of NAME, NAMESPACE/NAME, each also with @INTERFACE; or the same as JSON objects.
  void read_multus(string_view key, string_view default_namespace) {
    const auto value = value_of(key);
    if (!value) return;
    if (value->find_first_of("[{\"") == string_view::npos)
      return read_multus_names(key, *value, default_namespace);
    each_of_list(key, *value, [&](Element item, const Path& path, Failure& failure) {
      const auto [name, name_space] = pick(item, path, std::array<Keys, 2>{"name", "namespace"}, failure);
      const string_view given = json::text(name_space, path.field("namespace"), failure);
      const string_view text = json::text(name, path.field("name"), failure);
      if (!failure.failed()) add(key, given.empty() ? default_namespace : given, text);
    });
  }

  void read_multus_names(string_view key, string_view list, string_view default_namespace) {
    while (!list.empty()) {
      string_view entry = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), entry.size() + 1));
      const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
      while (!entry.empty() && blank(entry.front())) entry.remove_prefix(1);
      while (!entry.empty() && blank(entry.back())) entry.remove_suffix(1);
      entry = entry.substr(0, entry.find('@'));
      const std::size_t slash = entry.find('/');
      if (slash == string_view::npos) {
        add(key, default_namespace, entry);
      } else {
        add(key, entry.substr(0, slash), entry.substr(slash + 1));
      }
      if (!networks_.problem.empty()) return;
    }
  }

  // Under this word Spiderpool looks up the networks and resources that it adds.
  void read_word(string_view key) {
    if (const auto value = value_of(key)) add(key, "cni.spidernet.io", *value);
  }

  // [{"interfaceName": "eth1", "network": "rdma-0"}]; "default" is every pod's own network.
  void read_gke() {
    constexpr string_view kKey = "networking.gke.io/interfaces";
    const auto value = value_of(kKey);
    if (!value) return;
    each_of_list(kKey, *value, [&](Element item, const Path& path, Failure& failure) {
      const auto [network] = pick(item, path, std::array<Keys, 1>{"network"}, failure);
      const string_view name = json::text(network, path.field("network"), failure);
      if (!failure.failed() && name != "default") add(kKey, "networking.gke.io", name);
    });
  }

  // [{"cniConf": {"name": "rdma"}}]
  void read_volcengine() {
    constexpr string_view kKey = "k8s.volcengine.com/pod-networks";
    const auto value = value_of(kKey);
    if (!value) return;
    each_of_list(kKey, *value, [&](Element item, const Path& path, Failure& failure) {
      const auto [conf] = pick(item, path, std::array<Keys, 1>{"cniConf"}, failure);
      if (!conf) return;
      const Path at = path.field("cniConf");
      const auto [name] = pick(*conf, at, std::array<Keys, 1>{"name"}, failure);
      const string_view text = json::text(name, at.field("name"), failure);
      if (!failure.failed()) add(kKey, "k8s.volcengine.com", text);
    });
  }

  const Pod& pod_;
  PodNetworks networks_;
};

}  // namespace

PodNetworks networks_of(const Pod& pod) {
  if (pod.host_network) return {};
  return Reader(pod).read();
}

std::vector<std::string> interfaces_of(const Pod& pod) {
  if (pod.host_network) return {};
  return Reader(pod).read_status();
}

NetworkMatch match_networks(const Pod& pod, const NcclPolicy& policy) {
  PodNetworks networks = networks_of(pod);
  NetworkMatch match;
  match.problem = std::move(networks.problem);
  match.any = !networks.names.empty();
  const std::size_t before = networks.names.size() - networks.attached;
  for (std::size_t i = 0; i < networks.names.size(); ++i) {
    const auto entry = std::find_if(
        policy.networks.begin(), policy.networks.end(),
        [&](const NetworkRule& candidate) { return glob_matches(candidate.name, networks.names[i]); });
    if (entry == policy.networks.end()) continue;
    match.exposure = std::max(match.exposure.value_or(entry->exposure), entry->exposure);
    if (i >= before) ++match.rails;
  }
  if (match.rails == 0) match.rails = networks.attached;
  return match;
}

}  // namespace nccl_env
