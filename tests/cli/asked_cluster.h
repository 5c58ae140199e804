// SPDX-License-Identifier: Apache-2.0
// A cluster that the command line asks: an API server on loopback that answers as the test says, and a
// kubeconfig for it.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <mutex>

#include "cli/cli_inputs.h"
#include "kube/scripted_server.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::tests {

inline const std::string kPolicyPath = "/apis/nccl-env.io/v1alpha1/ncclpolicies/p";
inline const std::string kPodsOfMl = "/api/v1/namespaces/ml/pods";

// By which labels the pods of job train are asked for.
inline const std::vector<std::string> kSelectors = [] {
  std::vector<std::string> targets;
  for (const char* label : {"batch.kubernetes.io%2Fjob-name", "job-name", "training.kubeflow.org%2Fjob-name",
                            "jobset.sigs.k8s.io%2Fjobset-name", "leaderworkerset.sigs.k8s.io%2Fname",
                            "volcano.sh%2Fjob-name", "ray.io%2Fcluster"})
    targets.push_back(kPodsOfMl + "?labelSelector=" + label + "%3Dtrain&limit=500");
  return targets;
}();

class AskedCluster : public Cli {
 protected:
  struct Answer {
    int status = 200;
    std::string body;
  };
  // An object of a manifest, as a cluster has it.
  static Json object_of(const std::string& yaml) {
    Json object = parse_documents(yaml, "test")->front();
    object["metadata"]["resourceVersion"] = "1";
    return object;
  }
  static Json list(const std::vector<Json>& items = {}, const std::string& next = "") {
    Json made{{"metadata", {{"resourceVersion", "1"}}}, {"items", items}};
    if (!next.empty()) made["metadata"]["continue"] = next;
    return made;
  }
  static Answer refusal(int status, const std::string& why) {
    return {status, Json{{"kind", "Status"}, {"message", why}}.dump()};
  }

  std::map<std::string, Answer> answers;  // by target with its query as it is sent, else without
  std::function<std::optional<Answer>(const ScriptedRequest&)> instead;  // asked first
  Answer otherwise = refusal(403, "u is not allowed");

  AskedCluster() {
    const auto context = [](const std::string& name, const std::string& name_space) {
      return Json{{"name", name}, {"context", {{"cluster", "c"}, {"user", "u"}, {"namespace", name_space}}}};
    };
    const Json cluster{{"server", "https://127.0.0.1:" + std::to_string(server_.port())},
                       {"certificate-authority-data", kube::encode_base64(test_ca().certificate)}};
    write("config", Json{{"current-context", "here"},
                         {"contexts", {context("here", "ml"), context("other", "elsewhere")}},
                         {"clusters", Json::array({{{"name", "c"}, {"cluster", cluster}}})},
                         {"users", Json::array({{{"name", "u"}, {"user", {{"token", "t"}}}}})}}
                        .dump());
  }

  void serve(const std::string& target, const Json& object) { serve_text(target, object.dump()); }
  void serve_text(const std::string& target, const std::string& text) { answer_with(target, {200, text}); }
  void serve_none(const std::string& target) { answer_with(target, refusal(404, "not found")); }
  [[nodiscard]] std::vector<std::string> asked() const {  // targets
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  // The command with --kubeconfig. It asks from another process, which orders nothing between the test and
  // the server's threads: the lock does.
  [[nodiscard]] CliResult ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--kubeconfig", path("config")});
    { const std::lock_guard lock(mutex_); }
    CliResult result = run_cli(arguments);
    const std::lock_guard lock(mutex_);
    return result;
  }
  [[nodiscard]] CliResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--at", "2026-11-20T08:00:00Z"});
    return ask(std::move(arguments));
  }

 private:
  void answer_with(const std::string& target, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers[target] = std::move(answer);
  }
  Answer answer(const ScriptedRequest& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.target);
    if (instead) {
      if (const auto made = instead(request)) return *made;
    }
    for (const std::string& target : {request.target, request.target.substr(0, request.target.find('?'))}) {
      if (const auto found = answers.find(target); found != answers.end()) return found->second;
    }
    return otherwise;
  }

  mutable std::mutex mutex_;  // of what threads of the server read or write
  std::vector<std::string> asked_;
  ScriptedServer server_{[this](ScriptedConnection& connection, const ScriptedRequest& request) {
    const Answer made = answer(request);
    connection.reply(made.status, made.body);
  }};
};

// A bound pod of policy p with values of the table kTable.
inline nlohmann::json given_pod(const std::string& name, const std::string& node = "gpu-1",
                                const std::string& hcas = "=mlx5_0") {
  const nlohmann::json item = {
      {"path", "nccl.conf"},
      {"fieldRef", {{"fieldPath", "metadata.annotations['host.nccl-env.io/nccl.conf']"}}}};
  nlohmann::json pod = nlohmann::json::parse(kPod);
  pod["metadata"] = {{"name", name}, {"namespace", "ml"}, {"resourceVersion", "1"}};
  pod["metadata"]["annotations"] = {
      {"nccl-env.io/status",
       R"({"v":1,"policy":"p","generation":1,"exposure":"Host","containers":{"c":{"set":)"
       R"({"NCCL_IB_HCA":"File","NCCL_IB_GID_INDEX":"File"},"omitted":{"NCCL_SOCKET_IFNAME":"OmittedByPolicy"}}}})"},
      {"nccl-env.io/node", R"({"v":1,"node":")" + node + R"(","policy":"p","generation":1})"},
      {"host.nccl-env.io/nccl.conf", "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA=" + hcas + "\n"}};
  pod["spec"]["nodeName"] = node;
  pod["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = {"IPC_LOCK"};
  pod["spec"]["containers"][0]["volumeMounts"] = {{{"name", "shm"}, {"mountPath", "/dev/shm"}}};
  for (const char* path : {"/etc/nccl.conf", "/etc/rccl.conf"})
    pod["spec"]["containers"][0]["volumeMounts"].push_back(
        {{"name", "nccl-env-conf"}, {"mountPath", path}, {"subPath", "nccl.conf"}, {"readOnly", true}});
  pod["spec"]["volumes"].push_back(
      {{"name", "nccl-env-conf"}, {"downwardAPI", {{"items", nlohmann::json::array({item})}}}});
  pod["status"]["phase"] = "Running";
  return pod;
}

}  // namespace nccl_env::tests
