// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::node {

// The kernel's word (a uevent) that an RDMA device came or went, which for a soft device changes no
// interface. Only the host's network namespace hears it. Needs no privilege.
class DeviceEvents {
 public:
  // What changes after this returns can't be missed.
  static Result<std::unique_ptr<DeviceEvents>> open();
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;
  ~DeviceEvents();

  // Readable when something came, of any subsystem.
  [[nodiscard]] int descriptor() const;
  // Takes what came, without waiting; true if RDMA devices were among it, or if something was lost.
  bool take();

 private:
  struct Body;
  explicit DeviceEvents(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// Whether a uevent, "add@/devices/…" and KEY=VALUE fields that end in a zero byte each, is of an RDMA device.
bool is_rdma_uevent(std::string_view datagram);

}  // namespace nccl_env::node
