// SPDX-License-Identifier: Apache-2.0
// KernelEvents: reports over netlink that the kernel changed something, but not what: the caller reads
// everything again. Needs no privilege.
#pragma once

#include <memory>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::node {

class KernelEvents {
 public:
  // Follows interfaces and addresses of this network namespace, over rtnetlink. Pods come and go with veth
  // pairs, which never concern an HCA: take() leaves them out. What changes after this returns can't be
  // missed.
  static Result<std::unique_ptr<KernelEvents>> of_links();
  // Follows the uevents of RDMA devices that come or go; with a soft device no interface changes. These
  // events reach only the host's network namespace. What changes after this returns can't be missed.
  static Result<std::unique_ptr<KernelEvents>> of_devices();
  KernelEvents(const KernelEvents&) = delete;
  KernelEvents& operator=(const KernelEvents&) = delete;
  ~KernelEvents();

  // Readable when something came, even if take() then leaves it out.
  [[nodiscard]] int descriptor() const;
  // Takes what came, without waiting; true if it may concern an HCA, or if something was lost.
  bool take();

 private:
  struct State;
  explicit KernelEvents(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns true if a uevent is of an RDMA device. A uevent is "add@/devices/…" and then KEY=VALUE fields; each
// of these ends in a zero byte.
bool is_rdma_uevent(std::string_view datagram);

}  // namespace nccl_env::node
