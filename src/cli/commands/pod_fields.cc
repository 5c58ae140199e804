// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using Names = std::span<const std::string_view>;

// Kubernetes 1.36, api/openapi-spec: PodSpec, Container, EnvVar, ResourceRequirements, ObjectMeta.
constexpr std::string_view kPod[] = {"apiVersion", "kind", "metadata", "spec", "status"};
constexpr std::string_view kSpec[] = {"activeDeadlineSeconds",
                                      "affinity",
                                      "automountServiceAccountToken",
                                      "containers",
                                      "dnsConfig",
                                      "dnsPolicy",
                                      "enableServiceLinks",
                                      "ephemeralContainers",
                                      "hostAliases",
                                      "hostIPC",
                                      "hostNetwork",
                                      "hostPID",
                                      "hostUsers",
                                      "hostname",
                                      "hostnameOverride",
                                      "imagePullSecrets",
                                      "initContainers",
                                      "nodeName",
                                      "nodeSelector",
                                      "os",
                                      "overhead",
                                      "preemptionPolicy",
                                      "priority",
                                      "priorityClassName",
                                      "readinessGates",
                                      "resourceClaims",
                                      "resources",
                                      "restartPolicy",
                                      "runtimeClassName",
                                      "schedulerName",
                                      "schedulingGates",
                                      "securityContext",
                                      "serviceAccount",
                                      "serviceAccountName",
                                      "setHostnameAsFQDN",
                                      "shareProcessNamespace",
                                      "subdomain",
                                      "terminationGracePeriodSeconds",
                                      "tolerations",
                                      "topologySpreadConstraints",
                                      "volumes",
                                      "workloadRef",
                                      "env"};  // misplaced there, which its own warning tells
constexpr std::string_view kContainer[] = {"args",
                                           "command",
                                           "env",
                                           "envFrom",
                                           "image",
                                           "imagePullPolicy",
                                           "lifecycle",
                                           "livenessProbe",
                                           "name",
                                           "ports",
                                           "readinessProbe",
                                           "resizePolicy",
                                           "resources",
                                           "restartPolicy",
                                           "restartPolicyRules",
                                           "securityContext",
                                           "startupProbe",
                                           "stdin",
                                           "stdinOnce",
                                           "targetContainerName",
                                           "terminationMessagePath",
                                           "terminationMessagePolicy",
                                           "tty",
                                           "volumeDevices",
                                           "volumeMounts",
                                           "workingDir"};
constexpr std::string_view kEnv[] = {"name", "value", "valueFrom"};
constexpr std::string_view kResources[] = {"claims", "limits", "requests"};
constexpr std::string_view kMeta[] = {"annotations",
                                      "creationTimestamp",
                                      "deletionTimestamp",
                                      "deletionGracePeriodSeconds",
                                      "finalizers",
                                      "generateName",
                                      "generation",
                                      "labels",
                                      "managedFields",
                                      "name",
                                      "namespace",
                                      "ownerReferences",
                                      "resourceVersion",
                                      "selfLink",
                                      "uid"};

std::string misspelt_in(const Json& object, const std::string& path, Names names) {
  if (!object.is_object()) return {};
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string_view meant = nearest(key, names, 1);
    if (!meant.empty() && !object.contains(meant))
      return printable(path + key) + " is no field: do you mean " + std::string(meant) + "?";
  }
  return {};
}

std::string text_in(const Json& quantity) {
  return quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
}

// The API server keeps whole numbers of devices, and no request without the same limit: nodes cannot lend
// more of them than they have (validation.go, ValidateContainerResourceRequirements).
std::string quantity_problem(const std::string& name, const Json& value) {
  const std::string text = text_in(value);
  const auto number = parse_quantity(text);
  if (number && *number >= 0 && std::floor(*number) == *number) return {};
  return name + ": " + printable(text) + " is no whole number, which the API server refuses";
}

bool is_of_containers(std::string_view resource) {
  constexpr std::array<std::string_view, 3> kOwn{"cpu", "memory", "ephemeral-storage"};
  return std::ranges::find(kOwn, resource) != kOwn.end() || resource.starts_with("hugepages-");
}

std::string resource_problem(const Json& resources) {
  const Json &limits = member(resources, "limits"), &requests = member(resources, "requests");
  for (const Json* list : {&limits, &requests}) {
    if (!list->is_object()) continue;
    for (const auto& [name, value] : list->items()) {
      if (name.find('/') == name.npos && !is_of_containers(name))
        return printable(name) +
               " is no resource of containers: a device's name has a domain, as in rdma/hca";
      if (!is_extended_resource(name) || value.is_null()) continue;
      if (std::string problem = quantity_problem(name, value); !problem.empty()) return problem;
    }
  }
  if (!requests.is_object()) return {};
  for (const auto& [name, value] : requests.items()) {
    if (!is_extended_resource(name) || value.is_null()) continue;
    const Json& limit = member(limits, name);
    if (parse_quantity(text_in(limit)) != parse_quantity(text_in(value)))
      return name +
             " is requested without the same limit, which the API server refuses: write it into limits";
  }
  return {};
}

std::string container_problem(const Json& container, const std::string& path) {
  std::string problem = misspelt_in(container, path + ".", kContainer);
  const Json& resources = member(container, "resources");
  if (problem.empty()) problem = misspelt_in(resources, path + ".resources.", kResources);
  std::size_t place = 0;
  for (const Json& entry : items_at(container, "env")) {
    const std::string at = path + ".env[" + std::to_string(place++) + "].";
    if (problem.empty()) problem = misspelt_in(entry, at, kEnv);
  }
  if (!problem.empty()) return problem;
  problem = resource_problem(resources);
  return problem.empty() ? problem : path + ".resources: " + problem;
}

}  // namespace

std::string field_problem(const Json& pod) {
  const Json& spec = member(pod, "spec");
  std::string problem = misspelt_in(pod, "", kPod);
  if (problem.empty()) problem = misspelt_in(member(pod, "metadata"), "metadata.", kMeta);
  if (problem.empty()) problem = misspelt_in(spec, "spec.", kSpec);
  for (const char* list : {"initContainers", "containers"}) {
    std::size_t place = 0;
    for (const Json& container : items_at(spec, list)) {
      const std::string path = std::string("spec.") + list + "[" + std::to_string(place++) + "]";
      if (problem.empty()) problem = container_problem(container, path);
    }
  }
  return problem;
}

}  // namespace nccl_env::cli
