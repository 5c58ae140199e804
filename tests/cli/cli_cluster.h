// SPDX-License-Identifier: Apache-2.0
// nccl-env run as a function, with an API server on loopback that answers as the test says.
#pragma once

#include <gmock/gmock.h>

#include <functional>

#include "cli/cli_inputs.h"
#include "kube/scripted_server.h"
#include "nccl_env/kube/base64.h"

namespace nccl_env::testing {

class ClusterCli : public Cli {
 protected:
  struct Answer {
    int status = 404;
    std::string body;
  };
  std::map<std::string, Answer> answers;  // by "METHOD PATH", without the query; other requests get 404
  std::function<std::optional<Answer>(const ScriptedRequest&)> instead;  // asked first
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  // The command with --kubeconfig. It asks from another process, which orders nothing between the test and
  // the server's threads: the lock does.
  [[nodiscard]] CliResult ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", write("kubeconfig", kubeconfig())});
    { const std::lock_guard lock(mutex_); }
    CliResult result = run_cli(arguments);
    const std::lock_guard lock(mutex_);
    return result;
  }
  void put(const std::string& path, const std::string& body) { answers["GET " + path] = {200, body}; }
  static Answer forbidden(const std::string& what) {
    return {403, nlohmann::json{{"kind", "Status"}, {"message", what}}.dump()};
  }

 private:
  [[nodiscard]] std::string kubeconfig() const {
    const nlohmann::json config{
        {"apiVersion", "v1"},
        {"kind", "Config"},
        {"current-context", "t"},
        {"contexts", {{{"name", "t"}, {"context", {{"cluster", "c"}, {"user", "u"}, {"namespace", "ml"}}}}}},
        {"clusters",
         {{{"name", "c"},
           {"cluster",
            {{"server", "https://127.0.0.1:" + std::to_string(server_.port())},
             {"certificate-authority-data", kube::encode_base64(test_ca().certificate)}}}}}},
        {"users", {{{"name", "u"}, {"user", {{"token", "secret"}}}}}}};
    return config.dump();
  }
  [[nodiscard]] Answer answer(const ScriptedRequest& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request.method + " " + request.target);
    if (instead) {
      if (const auto made = instead(request)) return *made;
    }
    const auto found =
        answers.find(request.method + " " + request.target.substr(0, request.target.find('?')));
    return found == answers.end() ? Answer{404, R"({"kind": "Status", "message": "not found"})"}
                                  : found->second;
  }

  mutable std::mutex mutex_;  // of what threads of the server read or write
  std::vector<std::string> requests_;
  ScriptedServer server_{[this](ScriptedConnection& connection, const ScriptedRequest& request) {
    const Answer made = answer(request);
    connection.reply(made.status, made.body);
  }};
};

}  // namespace nccl_env::testing
