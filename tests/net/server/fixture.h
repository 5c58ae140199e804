// SPDX-License-Identifier: Apache-2.0
// The server that the tests attack: it echoes bodies and knows a few odd paths.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "nccl_env/net/server/server.h"
#include "nccl_env/net/tls/pki.h"
#include "support/openssl_client.h"
#include "support/patience.h"
#include "support/temporary_directory.h"

namespace nccl_env::net {

using tests::eventually;

inline HttpResponse echo(const HttpRequest& request) {
  HttpResponse response;
  if (request.path() == "/throw") throw std::runtime_error("a bug");
  if (request.path() == "/huge") response.body.assign(32u << 20, 'x');
  if (request.path() == "/echo") response.body = request.body;
  if (request.path() == "/size") response.body = std::to_string(request.body.size());
  for (std::size_t i = 0; i < kBodyPadding; ++i) {  // ASan sees it if the padding isn't there
    const volatile char byte = request.body.data()[request.body.size() + i];
    static_cast<void>(byte);
  }
  return response;
}

inline std::optional<HttpResponse> check(const HttpHead& head) {
  if (head.path() == "/nowhere") return error_response(404, "no such path");
  if (head.method == "POST" && !is_json(head.content_type))
    return error_response(415, "send application/json");
  return std::nullopt;
}

// Holds up who passes until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.wait(lock, [this] { return open_; });
  }
  int came() {
    const std::lock_guard lock(mutex_);
    return came_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int came_ = 0;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerOptions options;
  std::unique_ptr<Server> server;

  ServerTest() {
    options.listen = "127.0.0.1:0";
    options.threads = 2;
  }

  void start(const ServerHandlers& handlers = {echo, check}) {
    auto started = Server::start(options, handlers);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
};

class TlsServerTest : public ServerTest {
 protected:
  tests::TemporaryDirectory directory;
  std::shared_ptr<TlsSource> source;

  [[nodiscard]] std::string file(const char* name) const { return (directory.path() / name).string(); }
  // curl asks for a path of the server, and openssl connects to it; with these arguments.
  [[nodiscard]] CommandResult curl(const std::string& arguments, const std::string& path = "/echo") const {
    return run_command("curl -sS --noproxy '*' " + arguments +
                       " https://localhost:" + std::to_string(server->port()) + path);
  }
  [[nodiscard]] std::string trusting() const { return "--cacert " + file("ca.crt") + " "; }
  std::string s_client(const std::string& arguments, const std::string& input = "") const {
    return run_command("printf '" + input + "' | openssl s_client -connect 127.0.0.1:" +
                       std::to_string(server->port()) + " " + arguments)
        .output;
  }

  void start_tls() {
    const auto made =
        make_self_signed(directory.path(), {"localhost", "127.0.0.1"}, std::chrono::system_clock::now());
    ASSERT_TRUE(made.ok()) << made.error().message;
    auto loaded = TlsSource::load({made->certificate, made->key, {}});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    source = *loaded;
    options.tls = source;
    start();
  }
};

}  // namespace nccl_env::net
