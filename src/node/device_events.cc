// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/device_events.h"

#include "netlink.h"

namespace nccl_env::node {
namespace {

constexpr std::uint32_t kKernelGroup = 1;  // what udev sends on is group 2

}  // namespace

struct DeviceEvents::Body {
  Netlink netlink;
};

DeviceEvents::DeviceEvents(std::unique_ptr<Body> body) : body_(std::move(body)) {}
DeviceEvents::~DeviceEvents() = default;

Result<std::unique_ptr<DeviceEvents>> DeviceEvents::open() {
  auto netlink = Netlink::open(NETLINK_KOBJECT_UEVENT, kKernelGroup);
  if (!netlink) return netlink.error();
  return std::unique_ptr<DeviceEvents>(new DeviceEvents(std::make_unique<Body>(Body{std::move(*netlink)})));
}

int DeviceEvents::descriptor() const {
  return body_->netlink.descriptor();
}

bool DeviceEvents::take() {
  bool concerns = false;
  const bool complete = body_->netlink.receive_datagrams([&](std::span<const std::uint8_t> bytes) {
    const std::string text(bytes.begin(), bytes.end());
    concerns = concerns || is_rdma_uevent(text);
  });
  return concerns || !complete;
}

bool is_rdma_uevent(std::string_view datagram) {
  while (!datagram.empty()) {
    const std::string_view field = datagram.substr(0, datagram.find('\0'));
    // infiniband, and infiniband_verbs for the device file that comes after it.
    if (field.starts_with("SUBSYSTEM=infiniband")) return true;
    datagram.remove_prefix(std::min(field.size() + 1, datagram.size()));
  }
  return false;
}

}  // namespace nccl_env::node
