// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "kube/scripted_server.h"
#include "nccl_env/kube/client.h"
#include "support/temporary_directory.h"

namespace nccl_env::kube {

using namespace std::chrono_literals;
using tests::ScriptedConnection;
using tests::ScriptedRequest;
using tests::ScriptedServer;
using tests::TemporaryDirectory;

// A client and the server that it talks to.
class KubeClient : public ::testing::Test {
 protected:
  std::ostringstream log;
  std::unique_ptr<ScriptedServer> server;
  std::unique_ptr<Client> client;
  TemporaryDirectory directory;

  void serve(ScriptedServer::Handler handler) {
    server = std::make_unique<ScriptedServer>(std::move(handler));
  }

  [[nodiscard]] ClientConfig config() const {
    ClientConfig made;
    made.host = "127.0.0.1";
    made.port = server->port();
    made.ca.text = tests::test_ca().certificate;
    return made;
  }
  void connect(ClientConfig with) {
    auto made = Client::make(std::move(with), Logger::to_stream(log, LogLevel::Info));
    ASSERT_TRUE(made.ok()) << made.error().message;
    client = std::move(*made);
  }
  void connect() { connect(config()); }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(directory.path() / name, std::ios::binary) << text;
    return directory.path() / name;
  }

  Result<Reply> get(const std::string& target, std::chrono::milliseconds deadline = 20s) {
    return client->call({"GET", target, "", "", deadline});
  }
  // The body, or why there is none.
  static std::string body(const Result<Reply>& reply) {
    return reply ? reply->body : "no answer: " + reply.error().message;
  }
  std::string problem(const Result<Reply>& reply) {
    return reply ? "answered " + std::to_string(reply->status) : reply.error().message;
  }
};

}  // namespace nccl_env::kube
