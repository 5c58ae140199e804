// SPDX-License-Identifier: Apache-2.0
// The secrets that a configuration holds or names, with the files' current content. Any thread may call any
// member.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/config.h"
#include "nccl_env/net/client/http_client.h"

namespace nccl_env::kube {

class BearerToken {
 public:
  using Clock = std::chrono::steady_clock;
  // A projected token lives for ten minutes at least; the kubelet renews it when 80 % of that is over.
  static constexpr std::chrono::seconds kKeep{60};

  BearerToken(TextSource source, std::shared_ptr<Logger> log)
      : source_(std::move(source)), log_(std::move(log)) {}

  // Reads it for the first time; an error if it can't be used.
  Status load(Clock::time_point now);
  // Returns the token, read again if that is due; a file that can't be used leaves the old one. "": none.
  std::string at(Clock::time_point now);
  // The server refused `used`: true if the file now holds another.
  bool renewed(const std::string& used, Clock::time_point now);

 private:
  Status read(Clock::time_point now);

  const TextSource source_;
  const std::shared_ptr<Logger> log_;
  std::mutex mutex_;  // guards the two below
  std::string token_;
  Clock::time_point read_at_;
};

class TlsIdentity {
 public:
  TlsIdentity(const ClientConfig& config, std::shared_ptr<Logger> log);

  Status load();
  // Returns the identity in the files; if they can't be used now, the last one that could.
  std::shared_ptr<const net::ClientTls> current();

 private:
  Status reload();

  const TextSource ca_, certificate_, key_;
  const std::shared_ptr<Logger> log_;
  std::mutex mutex_;  // guards all below
  net::ClientTlsPem pem_;
  std::shared_ptr<const net::ClientTls> tls_;
  std::string problem_;  // logged last
};

}  // namespace nccl_env::kube
