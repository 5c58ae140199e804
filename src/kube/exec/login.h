// SPDX-License-Identifier: Apache-2.0
// Who we are by a credential plugin: runs it, keeps what it says until shortly before that expires. All
// members from any thread; who asks while it runs, waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "exec/credential.h"
#include "nccl_env/base/log.h"
#include "nccl_env/kube/config.h"
#include "nccl_env/net/client/http_client.h"

namespace nccl_env::kube {

class Login {
 public:
  using Clock = std::chrono::system_clock;  // that of expirationTimestamp
  // A request that leaves now has to arrive before.
  static constexpr std::chrono::seconds kEarly{10};
  // After a failure: what asks again and again must not start it each time.
  static constexpr std::chrono::seconds kRetry{10};

  struct Limits {
    std::chrono::milliseconds alone = std::chrono::seconds(60);
    std::chrono::milliseconds with_person =
        std::chrono::minutes(10);  // at a terminal: a browser, a second factor
  };
  struct Granted {
    ExecCredential credential;
    std::uint64_t number = 0;  // of the run, from 1
  };
  using GrantedPtr = std::shared_ptr<const Granted>;

  // `config.exec` is set.
  Login(ClientConfig config, std::shared_ptr<Logger> log, std::shared_ptr<const net::StopSignal> stop,
        Limits limits)
      : config_(std::move(config)), log_(std::move(log)), stop_(std::move(stop)), limits_(limits) {}

  // Runs the plugin if that is due; where it fails, the old credential stays for as long as it is valid.
  Result<GrantedPtr> at(Clock::time_point now);
  // The server refused the credential of run `used`: runs the plugin unless that has happened since.
  Result<GrantedPtr> renewed(std::uint64_t used, Clock::time_point now);

 private:
  Result<GrantedPtr> run(Clock::time_point now);
  Result<ExecCredential> ask() const;

  const ClientConfig config_;
  const std::shared_ptr<Logger> log_;
  const std::shared_ptr<const net::StopSignal> stop_;
  const Limits limits_;
  std::mutex mutex_;  // guards all below
  GrantedPtr granted_;
  std::string problem_;  // of the last run; "": none
  Clock::time_point failed_at_;
  std::uint64_t runs_ = 0;
};

}  // namespace nccl_env::kube
