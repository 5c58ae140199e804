// SPDX-License-Identifier: Apache-2.0
// ClientTls: how a client checks a server, and which certificate it shows.
#pragma once

#include <memory>
#include <string>

#include "nccl_env/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace nccl_env::net {

struct ClientTlsPem {
  std::string ca;           // authorities that may sign the server's certificate; "": the system's
  std::string certificate;  // the client's own, with its chain; "": none
  std::string key;          // its key, unencrypted
};

// Settings of a TLS client, immutable: TLS 1.2 and 1.3, HTTP/1.1 only in ALPN, the server's certificate and
// name always checked.
class ClientTls {
 public:
  static Result<std::shared_ptr<const ClientTls>> make(const ClientTlsPem& pem);
  [[nodiscard]] ssl_ctx_st* native() const { return context_.get(); }

 private:
  explicit ClientTls(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}
  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace nccl_env::net
