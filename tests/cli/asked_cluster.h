// SPDX-License-Identifier: Apache-2.0
// A cluster that the command line asks: an API server that answers each path as the test says and forbids
// the rest, and a kubeconfig for it.
#pragma once

#include <map>
#include <mutex>

#include "cli/cli_inputs.h"
#include "kube/scripted_server.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::testing {

class AskedCluster : public Cli {
 protected:
  using Json = nlohmann::json;

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

  // `target`: with its query, as it is sent.
  void serve(const std::string& target, const Json& object) {
    const std::lock_guard lock(mutex_);
    answers_[target] = object.dump();
  }
  void serve_text(const std::string& target, const std::string& text) {
    const std::lock_guard lock(mutex_);
    answers_[target] = text;
  }
  void serve_none(const std::string& target) {
    const std::lock_guard lock(mutex_);
    answers_[target] = "";
  }
  [[nodiscard]] std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  [[nodiscard]] CliResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--kubeconfig", path("config"), "--at", "2026-11-20T08:00:00Z"});
    return run_cli(arguments);
  }

 private:
  void answer(ScriptedConnection& connection, const ScriptedRequest& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.target);
    const auto found = answers_.find(request.target);
    if (found == answers_.end()) {
      connection.reply(403, R"({"kind":"Status","message":"u is not allowed"})");
    } else if (found->second.empty()) {
      connection.reply(404, R"({"kind":"Status","message":"not found"})");
    } else {
      connection.reply(200, found->second);
    }
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::vector<std::string> asked_;
  ScriptedServer server_{[this](ScriptedConnection& c, const ScriptedRequest& r) { answer(c, r); },
                         test_certificate({"127.0.0.1"}), ""};
};

// A bound pod of policy p with values of the table kTable.
inline nlohmann::json given_pod(const std::string& name, const std::string& node = "gpu-1",
                                const std::string& hcas = "=mlx5_0") {
  const auto field = [](const std::string& variable) {
    return nlohmann::json{
        {"name", variable},
        {"valueFrom",
         {{"fieldRef", {{"fieldPath", "metadata.annotations['host.nccl-env.io/" + variable + "']"}}}}}};
  };
  nlohmann::json pod = nlohmann::json::parse(kPod);
  pod["metadata"] = {{"name", name}, {"namespace", "ml"}, {"resourceVersion", "1"}};
  pod["metadata"]["annotations"] = {
      {"nccl-env.io/status",
       R"({"v":1,"policy":"p","generation":1,"exposure":"Host","form":"Binding","containers":{"c":{"set":)"
       R"({"NCCL_IB_HCA":"Node","NCCL_IB_GID_INDEX":"Node"},"omitted":{"NCCL_SOCKET_IFNAME":"OmittedByPolicy"}}}})"},
      {"nccl-env.io/node", R"({"v":1,"node":")" + node + R"(","policy":"p","generation":1})"},
      {"host.nccl-env.io/NCCL_IB_HCA", hcas},
      {"host.nccl-env.io/NCCL_IB_GID_INDEX", "3"}};
  pod["spec"]["nodeName"] = node;
  pod["spec"]["containers"][0]["env"] = {field("NCCL_IB_HCA"), field("NCCL_IB_GID_INDEX")};
  pod["status"]["phase"] = "Running";
  return pod;
}

}  // namespace nccl_env::testing
