// SPDX-License-Identifier: Apache-2.0
// ClientSocket: a TCP connection that waits until a deadline at most, and not at all once stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/net/client/stop_signal.h"
#include "nccl_env/result.h"

struct sockaddr;

namespace nccl_env::net {

class ClientSocket {
 public:
  static Result<ClientSocket> connect(const std::string& host, std::uint16_t port,
                                      std::shared_ptr<const StopSignal> stop, Deadline deadline);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // Waits until the socket can be read from (or written to), or has failed.
  [[nodiscard]] Status wait(bool to_write, Deadline deadline) const;

 private:
  ClientSocket(int descriptor, std::shared_ptr<const StopSignal> stop)
      : descriptor_(descriptor), stop_(std::move(stop)) {}
  Status connect_to(const sockaddr* address, unsigned int length, Deadline deadline);

  Descriptor descriptor_;
  std::shared_ptr<const StopSignal> stop_;
};

// An address of a name, in the kernel's form.
using RawAddress = std::vector<unsigned char>;
// Resolves an address at once, and a name on a thread that may outlive the call: getaddrinfo has no deadline.
Result<std::vector<RawAddress>> resolve(const std::string& host, std::uint16_t port, const StopSignal& stop,
                                        Deadline deadline);

}  // namespace nccl_env::net
