// SPDX-License-Identifier: Apache-2.0
// KernelEvents: the kernel's word that something changed, over netlink. It does not say what changed: whoever
// hears it reads everything again. Needs no privilege.
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
  // Follows RDMA devices that come or go (uevents), which for a soft device changes no interface. Only the
  // host's network namespace hears it. What changes after this returns can't be missed.
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

// Returns true if a uevent, "add@/devices/…" and KEY=VALUE fields that end in a zero byte each, is of an RDMA
// device.
bool is_rdma_uevent(std::string_view datagram);

}  // namespace nccl_env::node
