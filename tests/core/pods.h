// SPDX-License-Identifier: Apache-2.0
// Pods and reviews for tests, and what becomes of them: patched by an independent implementation of
// RFC 6902 (nlohmann's), env resolved as the kubelet does.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env::tests {

using Json = nlohmann::json;

inline Json container(const std::string& name, std::vector<Json> env = {},
                      const std::string& resource = "rdma/hca") {
  Json made{{"name", name}, {"image", "example.com/x"}};
  if (!resource.empty()) made["resources"] = {{"limits", {{resource, "1"}}}};
  if (!env.empty()) made["env"] = std::move(env);
  return made;
}

inline Json env_literal(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

inline Json pod(std::vector<Json> containers, bool host_network = true) {
  Json made{{"kind", "Pod"}, {"apiVersion", "v1"}, {"metadata", {{"name", "p"}, {"namespace", "ml"}}}};
  made["spec"]["containers"] = std::move(containers);
  if (host_network) made["spec"]["hostNetwork"] = true;
  return made;
}

// With what RDMA needs beside the device: nothing to warn of.
inline Json equipped(Json pod) {
  pod["spec"]["volumes"].push_back({{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}});
  for (Json& container : pod["spec"]["containers"]) {
    container["volumeMounts"].push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
    container["securityContext"]["capabilities"]["add"].push_back("IPC_LOCK");
  }
  return pod;
}

// The plan for a pod and the pod after its patch.
struct Admitted {
  Plan plan;
  std::string patch;
  Json pod;
};

inline Admitted admit(const Json& before, const NcclPolicy& policy, const BindingPlan* binding = nullptr,
                      const PlanOptions& options = {}, const PodClaims* claims = nullptr) {
  ReviewParser parser;
  const std::string text = before.dump();
  const Result<Pod> parsed = parser.parse_pod(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  Admitted result{plan_pod(*parsed, policy, options, claims), {}, before};
  result.patch = render_pod_patch(*parsed, result.plan, binding).text;
  if (!result.patch.empty()) result.pod = before.patch(Json::parse(result.patch));
  return result;
}

// A container's environment by the kubelet's rules: a fieldRef to a missing annotation is "", the last of
// two entries of one name counts.
inline std::map<std::string, std::string> environment(const Json& pod, std::size_t index) {
  std::map<std::string, std::string> env;
  const Json& container = pod["spec"]["containers"][index];
  if (!container.contains("env")) return env;
  for (const Json& entry : container["env"]) {
    const std::string name = entry["name"];
    if (!entry.contains("valueFrom")) {
      env[name] = entry.value("value", "");
      continue;
    }
    const std::string path = entry["valueFrom"]["fieldRef"]["fieldPath"];
    const std::string key = path.substr(22, path.size() - 24);  // metadata.annotations['KEY']
    env[name] = pod["metadata"].contains("annotations") ? pod["metadata"]["annotations"].value(key, "") : "";
  }
  return env;
}

// Returns what NCCL finds set: the container's environment, then the lines of its nccl.conf, as a Binding
// brought them. An empty variable counts, since it hides the line.
inline std::map<std::string, std::string> nccl_environment(const Json& pod, std::size_t index) {
  std::map<std::string, std::string> env = environment(pod, index);
  const Json mounts = pod["spec"]["containers"][index].value("volumeMounts", Json::array());
  const std::string named = env.count("NCCL_CONF_FILE") ? env["NCCL_CONF_FILE"] : "";
  const auto is_file = [&](const Json& mount) {
    return mount["mountPath"] == "/etc/nccl.conf" || (!named.empty() && mount["mountPath"] == named);
  };
  if (std::none_of(mounts.begin(), mounts.end(), is_file)) return env;
  for (const Json& volume : pod["spec"].value("volumes", Json::array())) {
    if (volume["name"] != "nccl-env-conf" || !volume.contains("downwardAPI")) continue;
    const std::string path = volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"];
    std::istringstream text(
        pod["metadata"].value("annotations", Json::object()).value(path.substr(22, path.size() - 24), ""));
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with('#'))
        env.emplace(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
    }
  }
  return env;
}

inline Json bind_to_node(Json bound, const BindingPlan& plan) {
  for (const auto& [key, value] : plan.annotations) bound["metadata"]["annotations"][key] = value;
  return bound;
}

inline std::string reason_of(const Plan& plan, const std::string& name, std::size_t index = 0) {
  for (const Value& omission : plan.containers.at(index).omitted) {
    if (omission.name == name) return std::string(to_string(*omission.reason));
  }
  return {};
}

}  // namespace nccl_env::tests
