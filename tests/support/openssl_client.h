// SPDX-License-Identifier: Apache-2.0
// A blocking client for the server's tests, and the certificates that they use.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace nccl_env::net {

struct TestReply {
  int status = 0;  // 0: the connection ended before a whole reply
  std::string header;
  std::string body;
  [[nodiscard]] bool closes() const { return header.find("Connection: close") != std::string::npos; }
};

// One connection to 127.0.0.1, from 127.0.0.`from`, with as little of a receive buffer as is said. Reads give
// up after 20 seconds.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, bool tls = false, SSL_CTX* context = nullptr, int from = 1,
                      int receive_buffer = 0);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  bool send(std::string_view bytes);  // false: the server closed
  bool update_key();                  // one record of TLS 1.3 without data
  void half_close();
  // Whether the server has closed (or reset) it; what came before is kept for reads.
  [[nodiscard]] bool ended() const;
  // The next reply. A 100 is returned like any other.
  TestReply read_reply(bool head_only = false);
  // Sends what is left of a request, which the server has to take, and reads the reply.
  TestReply ask(std::string_view request);
  // True if the server closes (or resets) before it sends another byte.
  bool at_end();
  [[nodiscard]] std::string peer_fingerprint() const;  // SHA-256, lower-case hex

 private:
  long read(char* data, std::size_t size);
  int fd_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
  std::string unread_;
};

std::string post(std::string_view target, std::string_view body, std::string_view more_fields = {});

void write_text(const std::filesystem::path& path, std::string_view text);

struct CommandResult {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};
CommandResult run_command(const std::string& command);

}  // namespace nccl_env::net
