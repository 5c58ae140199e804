// SPDX-License-Identifier: Apache-2.0
// HttpConnection: a client's connection, HTTP/1.1 over TLS, blocking with deadlines. For the few calls and
// streams of a program that asks a server it trusts, each on its own thread; not for serving.
//
//   [ HttpConnection ] ----> [ ClientSocket ] ----> [ Descriptor ]
//      |         |                 |
//      |         +--> [ ClientTls ]|  shared: the same for all connections to one server
//      v                           v
//   [ ResponseReader ]        [ StopSignal ]  shared: one for all that a program asks; ends their waits
//
// A connection belongs to one thread. The signal is the only part that another thread may touch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nccl_env/net/client/client_tls.h"
#include "nccl_env/net/client/stop_signal.h"
#include "nccl_env/result.h"

namespace nccl_env::net {

struct HttpsServer {
  std::string host;  // a DNS name or an address, IPv6 without brackets
  std::uint16_t port = 443;
  std::string tls_name;  // name in its certificate; "": the host

  [[nodiscard]] std::string authority() const;  // HOST:PORT, IPv6 in brackets
};

// One thread at a time. After an error the connection is useless. The process has to ignore SIGPIPE.
class HttpConnection {
 public:
  // Resolves, connects, shakes hands. Errors name the server.
  static Result<std::unique_ptr<HttpConnection>> open(const HttpsServer& server,
                                                      std::shared_ptr<const ClientTls> tls,
                                                      std::shared_ptr<const StopSignal> stop,
                                                      Deadline deadline);
  ~HttpConnection();

  // Between two requests: false if the server has closed it.
  [[nodiscard]] bool still_open() const;

  // A whole request, header and body.
  Status send(std::string_view request, Deadline deadline);
  // True if no byte of the last request was sent: the server cannot have acted on it.
  [[nodiscard]] bool sent_nothing() const;

  // The status of the response, once its header is there.
  Result<int> read_status(Deadline deadline);
  // Appends the next part of the body; false: nothing came, the body is complete.
  Result<bool> read_body(std::string& body, Deadline deadline);
  // True if any byte of the response has come.
  [[nodiscard]] bool answered() const;
  // True if the response is complete and the server keeps the connection.
  [[nodiscard]] bool reusable() const;

 private:
  struct Body;
  explicit HttpConnection(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace nccl_env::net
