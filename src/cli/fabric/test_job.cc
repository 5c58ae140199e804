// SPDX-License-Identifier: Apache-2.0
#include "fabric/test_job.h"

#include <algorithm>
#include <array>
#include <random>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/hex.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr int kPort = 7471;

// Fields that decide where a pod runs, as whom, and on which network.
constexpr std::array<const char*, 9> kOfPod{"hostNetwork",     "hostUsers",          "imagePullSecrets",
                                            "nodeSelector",    "runtimeClassName",   "schedulerName",
                                            "securityContext", "serviceAccountName", "tolerations"};

const Json& container_of(const TestTemplate& from) {
  const Json& all = items_at(member(from.pod, "spec"), "containers");
  const auto found = std::ranges::find_if(
      all, [&](const Json& each) { return text_at(each, "name") == from.container.name; });
  return found == all.end() ? member(Json(), "") : *found;
}

// True for an annotation by which a pod asks for networks.
bool asks_for_network(const std::string& key, const std::string& value) {
  Pod pod;
  pod.annotations.emplace_back(key, value);
  const PodNetworks networks = networks_of(pod);
  return !networks.names.empty() || !networks.problem.empty() || key == "tke.cloud.tencent.com/networks";
}

OrderedJson metadata_of(const TestTemplate& from) {
  OrderedJson kept{{"labels", {{"app.kubernetes.io/name", "nccl-env-fabric-test"}}}};
  for (const char* kind : {"labels", "annotations"}) {
    for (const auto& [name, value] : member(member(from.pod, "metadata"), kind).items()) {
      const bool ours = name == key::kInject || name == key::kResolve;
      if (ours || asks_for_network(name, text_of(value))) kept[kind][name] = value;
    }
  }
  return kept;
}

// Devices as the template asks for them, but for GPUs; little of all else.
OrderedJson resources_of(const TestTemplate& from) {
  OrderedJson resources;
  const Json& asked = member(container_of(from), "resources");
  for (const char* kind : {"limits", "requests"}) {
    OrderedJson& amounts = resources[kind] = {{"cpu", "500m"}, {"memory", "256Mi"}};
    for (const auto& [name, amount] : member(asked, kind).items()) {
      if (may_be_rdma(name)) amounts[name] = amount;
    }
  }
  for (const Json& claim : items_at(asked, "claims")) {
    if (!from.claims.contains(text_at(claim, "name"))) resources["claims"].push_back(OrderedJson(claim));
  }
  return resources;
}

// True for a volume with the host's RDMA devices, for want of a plugin that brings them.
bool is_of_devices(const Json& volume) {
  const std::string path = text_at(member(volume, "hostPath"), "path");
  return path == "/dev" || path == "/dev/" || path.starts_with("/dev/infiniband");
}

OrderedJson env_of(const TestTemplate& from, const TestJob& job) {
  OrderedJson env = {
      {{"name", "FABRIC_TEST_TOKEN"}, {"value", job.token}},
      {{"name", "NODE_NAME"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}}};
  for (const Json& entry : items_at(container_of(from), "env")) {
    const std::string name = text_at(entry, "name");
    const Value* known = from.container.find_in_env(name);
    if (name.starts_with("NCCL_") && (!known || known->state == State::Users))
      env.push_back(OrderedJson(entry));
  }
  return env;
}

// The agent's image has a user who is not root, and for whom added capabilities have no effect: with them a
// job's image is taken to be root's, as most are.
OrderedJson security_of(const TestTemplate& from) {
  const Json &own = member(container_of(from), "securityContext"),
             &common = member(member(from.pod, "spec"), "securityContext");
  OrderedJson security = own.is_object() ? OrderedJson(own) : OrderedJson::object();
  const auto says = [&](const char* field) {
    return !member(own, field).is_null() || !member(common, field).is_null();
  };
  const bool as_root =
      !items_at(member(own, "capabilities"), "add").empty() || member(own, "privileged") == true;
  if (as_root && !says("runAsUser") && !says("runAsNonRoot")) security["runAsUser"] = 0;
  return security;
}

OrderedJson container_object(const TestTemplate& from, const TestJob& job) {
  const auto seconds = [](std::chrono::seconds time) { return std::to_string(time.count()) + "s"; };
  OrderedJson args = {"fabric-test",
                      "--collector=" + job.name + "-0." + job.name,
                      "--port=" + std::to_string(kPort),
                      "--members=" + std::to_string(job.nodes.size()),
                      "--wait=" + seconds(job.wait),
                      "--deadline=" + seconds(job.deadline)};
  if (job.all_pairs) args.push_back("--all-pairs");
  if (job.cross_rails) args.push_back("--cross-rails");
  OrderedJson container{{"name", kTestContainer},
                        {"image", job.image},
                        {"imagePullPolicy", "IfNotPresent"},
                        {"args", args},
                        {"env", env_of(from, job)},
                        {"resources", resources_of(from)},
                        {"terminationMessagePolicy", "FallbackToLogsOnError"}};
  if (OrderedJson security = security_of(from); !security.empty()) container["securityContext"] = security;
  return container;
}

// One pod for each node, and nowhere else.
OrderedJson affinity_of(const TestJob& job) {
  OrderedJson terms = OrderedJson::array();
  for (const std::string& node : job.nodes) {  // matchFields take one value
    const OrderedJson field{
        {"key", "metadata.name"}, {"operator", "In"}, {"values", OrderedJson::array({node})}};
    terms.push_back({{"matchFields", OrderedJson::array({field})}});
  }
  const OrderedJson apart{{"labelSelector", {{"matchLabels", {{kJobLabel, job.name}}}}},
                          {"topologyKey", "kubernetes.io/hostname"}};
  const char* const kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  return {{"nodeAffinity", {{kRequired, {{"nodeSelectorTerms", terms}}}}},
          {"podAntiAffinity", {{kRequired, OrderedJson::array({apart})}}}};
}

void add_devices(const TestTemplate& from, OrderedJson& spec) {
  OrderedJson& container = spec["containers"][0];
  for (const Json& volume : items_at(member(from.pod, "spec"), "volumes")) {
    if (!is_of_devices(volume)) continue;
    spec["volumes"].push_back(OrderedJson(volume));
    for (const Json& mount : items_at(container_of(from), "volumeMounts")) {
      if (text_at(mount, "name") == text_at(volume, "name"))
        container["volumeMounts"].push_back(OrderedJson(mount));
    }
  }
  for (const Json& claim : items_at(member(from.pod, "spec"), "resourceClaims")) {
    if (!from.claims.contains(text_at(claim, "name"))) spec["resourceClaims"].push_back(OrderedJson(claim));
  }
}

OrderedJson spec_of(const TestTemplate& from, const TestJob& job) {
  const Json& given = member(from.pod, "spec");
  OrderedJson spec{{"restartPolicy", "Never"},
                   {"subdomain", job.name},
                   {"automountServiceAccountToken", false},
                   {"enableServiceLinks", false},
                   {"terminationGracePeriodSeconds", 2},
                   {"containers", OrderedJson::array({container_object(from, job)})}};
  for (const char* field : kOfPod) {
    if (const Json& value = member(given, field); !value.is_null()) spec[field] = value;
  }
  if (member(given, "hostNetwork") == true) spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  add_devices(from, spec);
  spec["affinity"] = affinity_of(job);
  return spec;
}

OrderedJson metadata_of(const TestJob& job) {
  return {{"name", job.name},
          {"namespace", job.name_space},
          {"labels", {{"app.kubernetes.io/name", "nccl-env-fabric-test"}}}};
}

}  // namespace

void name_anew(TestJob& job) {
  std::random_device random;  // getrandom() or the processor's
  std::array<std::uint8_t, 32> secret{};
  for (std::uint8_t& byte : secret) byte = static_cast<std::uint8_t>(random());
  job.token = hex_of(secret);
  for (std::uint8_t& byte : secret) byte = static_cast<std::uint8_t>(random());
  job.name = "nccl-env-fabric-" + hex_of(secret).substr(0, 6);
}

OrderedJson pod_object(const TestTemplate& from, const TestJob& job) {
  OrderedJson pod{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata_of(from)}, {"spec", spec_of(from, job)}};
  pod["metadata"]["generateName"] = job.name + "-";
  return pod;
}

// One pod that fails leaves the others: each index fails by itself, and is not tried again.
OrderedJson job_object(const TestTemplate& from, const TestJob& job) {
  const std::size_t nodes = job.nodes.size();
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", metadata_of(job)},
          {"spec",
           {{"completionMode", "Indexed"},
            {"completions", nodes},
            {"parallelism", nodes},
            {"backoffLimitPerIndex", 0},
            {"activeDeadlineSeconds", job.deadline.count()},
            {"ttlSecondsAfterFinished", job.kept.count()},
            {"template", {{"metadata", metadata_of(from)}, {"spec", spec_of(from, job)}}}}}};
}

OrderedJson service_object(const TestJob& job, const std::string& uid) {
  OrderedJson service{
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", metadata_of(job)},
      {"spec",
       {{"clusterIP", "None"}, {"publishNotReadyAddresses", true}, {"selector", {{kJobLabel, job.name}}}}}};
  if (!uid.empty())
    service["metadata"]["ownerReferences"].push_back(
        {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", job.name}, {"uid", uid}});
  return service;
}

}  // namespace nccl_env::cli
