// SPDX-License-Identifier: Apache-2.0
// A healthy installation, as the API server would give it: the objects of manifests/base with what a cluster
// adds to them.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/cli_run.h"
#include "kube/scripted_server.h"
#include "nccl_env/base/file.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::tests {

inline const std::string kHooksPath =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nccl-env";
inline const std::string kValidatorPath =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/nccl-env";
inline const std::string kBindingsPath = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/nccl-env-";
inline const std::string kSecretRightsPath =
    "/apis/rbac.authorization.k8s.io/v1/namespaces/nccl-env/rolebindings/nccl-env-webhook-tls";
inline const std::string kSecretRolePath =
    "/apis/rbac.authorization.k8s.io/v1/namespaces/nccl-env/roles/nccl-env-webhook-tls";
inline const std::string kRolesPath = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nccl-env-";
inline const std::string kCrdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
inline const std::string kOwnPath = "/api/v1/namespaces/nccl-env/";
inline const std::string kDeploymentPath = "/apis/apps/v1/namespaces/nccl-env/deployments/nccl-env-webhook";
inline const std::string kAgentPods = "/api/v1/namespaces/nccl-env-agent/pods";
inline const std::string kAgentSetPath = "/apis/apps/v1/namespaces/nccl-env-agent/daemonsets/nccl-env-agent";
inline const std::string kPoliciesPath = "/apis/nccl-env.io/v1alpha1/ncclpolicies";
inline const std::string kTablesPath = "/apis/nccl-env.io/v1alpha1/nodefabrics";

inline std::vector<nlohmann::json> base_objects(const std::string& file) {
  return parse_documents(read_file(source_file("manifests/base/" + file), 1 << 20).value(), file).value();
}

inline nlohmann::json base_object(const std::string& file, const std::string& kind) {
  for (const nlohmann::json& object : base_objects(file)) {
    if (object["kind"] == kind) return object;
  }
  return nullptr;
}

inline nlohmann::json list_of_items(nlohmann::json items) {
  for (nlohmann::json& item : items) item["metadata"]["resourceVersion"] = "1";
  return {{"metadata", {{"resourceVersion", "1"}}}, {"items", std::move(items)}};
}

inline nlohmann::json agent_pod_on(const std::string& node, bool ready = true) {
  const nlohmann::json condition{{"type", "Ready"}, {"status", ready ? "True" : "False"}};
  return {{"metadata", {{"name", "nccl-env-agent-" + node}}},
          {"spec", {{"nodeName", node}}},
          {"status", {{"conditions", nlohmann::json::array({condition})}}}};
}

inline nlohmann::json table_of(const std::string& node) {
  return {{"metadata", {{"name", node}}}};
}

// A Secret whose certificate was issued at `now` for 90 days.
inline nlohmann::json certificate_secret(std::chrono::system_clock::time_point now,
                                         const std::string& name = "nccl-env-webhook.nccl-env.svc") {
  const auto pair =
      net::issue_server_certificate(test_ca(), {name}, now, std::chrono::hours(24 * 90)).value();
  return {{"data", {{"tls.crt", kube::encode_base64(pair.certificate)}}}};
}

// By path; lists without their query.
inline std::map<std::string, nlohmann::json> installed_objects(std::chrono::system_clock::time_point now) {
  std::map<std::string, nlohmann::json> objects;
  objects["/version"] = {{"major", "1"}, {"minor", "36"}, {"gitVersion", "v1.36.3"}};
  for (const char* plural : {"ncclpolicies", "nodefabrics"}) {
    nlohmann::json crd = base_objects(std::string("crds/") + plural + ".yaml").at(0);
    crd["status"]["conditions"] = nlohmann::json::array({{{"type", "Established"}, {"status", "True"}}});
    objects[kCrdPath + plural + ".nccl-env.io"] = crd;
  }
  objects[kHooksPath] = base_object("hooks.yaml", "MutatingWebhookConfiguration");
  objects[kValidatorPath] = base_object("hooks.yaml", "ValidatingWebhookConfiguration");
  for (const std::string& path : {kHooksPath, kValidatorPath}) {
    for (nlohmann::json& hook : objects[path]["webhooks"])
      hook["clientConfig"]["caBundle"] = kube::encode_base64(test_ca().certificate);
  }
  for (const char* part : {"webhook", "agent"}) {
    objects[kBindingsPath + part] = base_object(part + std::string("-rbac.yaml"), "ClusterRoleBinding");
    objects[kRolesPath + part] = base_object(part + std::string("-rbac.yaml"), "ClusterRole");
  }
  const std::vector<nlohmann::json> rights = base_objects("webhook-rbac.yaml");
  objects[kSecretRightsPath] = rights.back();
  objects[kSecretRolePath] = *(rights.end() - 2);
  objects[kOwnPath + "services/nccl-env-webhook"] = base_object("webhook.yaml", "Service");
  objects[kOwnPath + "secrets/nccl-env-webhook-tls"] = certificate_secret(now);
  for (const nlohmann::json& space : base_objects("namespace.yaml"))
    objects["/api/v1/namespaces/" + space["metadata"]["name"].get<std::string>()] = space;
  nlohmann::json& deployment = objects[kDeploymentPath];
  deployment = base_object("webhook.yaml", "Deployment");
  deployment["status"] = {{"replicas", 2}, {"readyReplicas", 2}, {"updatedReplicas", 2}};
  nlohmann::json& agents = objects[kAgentSetPath];
  agents = base_object("agent.yaml", "DaemonSet");
  agents["status"] = {{"observedGeneration", 1},
                      {"desiredNumberScheduled", 2},
                      {"numberReady", 2},
                      {"updatedNumberScheduled", 2}};
  objects["/apis/apps/v1/daemonsets"] = list_of_items(nlohmann::json::array({agents}));
  objects[kAgentPods] = list_of_items(nlohmann::json::array({agent_pod_on("gpu-1"), agent_pod_on("gpu-2")}));
  objects[kTablesPath] = list_of_items(nlohmann::json::array({table_of("gpu-1"), table_of("gpu-2")}));
  objects["/api/v1/namespaces"] = list_of_items(nlohmann::json::array());
  objects[kPoliciesPath] = list_of_items(nlohmann::json::array());
  return objects;
}

}  // namespace nccl_env::tests
