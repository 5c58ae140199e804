// SPDX-License-Identifier: Apache-2.0
// Pods with nccl.conf as they look after admission, and the API server's changes to them in between.
#pragma once

#include <string>
#include <vector>

#include "core/builders.h"
#include "core/pods.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env::tests {

inline PlanOptions with_resolver(const std::string& image = "registry.example/agent@sha256:" +
                                                            std::string(64, 'a')) {
  PlanOptions options;
  options.resolver.emplace().image = image;
  return options;
}

inline NcclPolicy file_policy(Exposure exposure) {
  NcclPolicy policy = policy_for("rdma/hca*", exposure);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

// With a process whose children see nothing of the env: its file has the constants, too.
inline Json running_sshd(Json pod) {
  for (Json& container : pod["spec"]["containers"]) container["command"] = {"/usr/sbin/sshd", "-De"};
  return pod;
}

inline Json mount(const std::string& path, const std::string& volume = "mine") {
  return {{"name", volume}, {"mountPath", path}};
}

inline Json conf_mount(const char* path) {
  return {{"name", "nccl-env-conf"}, {"mountPath", path}, {"subPath", "nccl.conf"}, {"readOnly", true}};
}
// One file where NCCL and where RCCL read it.
inline const Json kConfMounts = Json::array({conf_mount("/etc/nccl.conf"), conf_mount("/etc/rccl.conf")});

inline bool has_file(const Json& container) {
  const Json mounts = container.value("volumeMounts", Json::array());
  return std::count(mounts.begin(), mounts.end(), kConfMounts[0]) == 1 &&
         std::count(mounts.begin(), mounts.end(), kConfMounts[1]) == 1;
}

inline std::vector<std::string> names(const Json& list) {
  std::vector<std::string> found;
  for (const Json& item : list) found.push_back(item["name"]);
  return found;
}

inline std::vector<std::string> init_names(const Json& pod) {
  return names(pod["spec"].value("initContainers", Json::array()));
}

// As far as it matters here: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go, and the token's mount.
inline Json with_api_defaults(Json pod) {
  Json& spec = pod["spec"];
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec.contains(list)) continue;
    for (Json& container : spec[list]) {
      container["imagePullPolicy"] = "IfNotPresent";
      container["terminationMessagePath"] = "/dev/termination-log";
      container["terminationMessagePolicy"] = "File";
      if (!container.contains("volumeMounts")) continue;
      const bool token = container["volumeMounts"].dump().find("serviceaccount") != std::string::npos;
      if (!token)
        container["volumeMounts"].push_back(mount("/var/run/secrets/kubernetes.io/serviceaccount", "t"));
    }
  }
  if (!spec.contains("volumes")) return pod;
  for (Json& volume : spec["volumes"]) {
    if (volume.contains("downwardAPI")) volume["downwardAPI"]["defaultMode"] = 420;
  }
  return pod;
}

// "Node", "UserSet", …: what the status says of a variable of one container.
inline std::string told(const Json& pod, const std::string& container, const std::string& variable) {
  const Json status = Json::parse(pod["metadata"]["annotations"]["nccl-env.io/status"].get<std::string>());
  const Json& entry = status["containers"].at(container);
  for (const char* list : {"set", "omitted"}) {
    if (entry.contains(list) && entry[list].contains(variable)) return entry[list][variable];
  }
  return "";
}

}  // namespace nccl_env::tests
