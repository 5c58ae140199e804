// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/kernel_events.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "nccl_env/node/netdevs.h"
#include "netlink.h"

namespace nccl_env::node {
namespace {

constexpr std::uint32_t kKernelGroup = 1;  // the kernel's uevents; udev forwards them in group 2

bool concerns_a_pod(const NetlinkMessage& message) {
  if (message.type != RTM_NEWLINK && message.type != RTM_DELLINK) return false;
  const Attributes attributes = message.attributes<ifinfomsg>();
  return leads_to_pod(Attributes(attributes.find(IFLA_LINKINFO)).text(IFLA_INFO_KIND));
}

bool take_links(Netlink& netlink) {
  bool concerns = false;
  const bool complete = netlink.receive_events(
      [&](const NetlinkMessage& message) { concerns = concerns || !concerns_a_pod(message); });
  return concerns || !complete;
}

bool take_devices(Netlink& netlink) {
  bool concerns = false;
  const bool complete = netlink.receive_datagrams([&](std::span<const std::uint8_t> bytes) {
    const std::string text(bytes.begin(), bytes.end());
    concerns = concerns || is_rdma_uevent(text);
  });
  return concerns || !complete;
}

}  // namespace

struct KernelEvents::State {
  Netlink netlink;
  bool (*take)(Netlink& netlink);
};

KernelEvents::KernelEvents(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelEvents::~KernelEvents() = default;

Result<std::unique_ptr<KernelEvents>> KernelEvents::of_links() {
  auto netlink = Netlink::open(NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
  if (!netlink) return netlink.error();
  return std::unique_ptr<KernelEvents>(
      new KernelEvents(std::make_unique<State>(State{std::move(*netlink), take_links})));
}

Result<std::unique_ptr<KernelEvents>> KernelEvents::of_devices() {
  auto netlink = Netlink::open(NETLINK_KOBJECT_UEVENT, kKernelGroup);
  if (!netlink) return netlink.error();
  return std::unique_ptr<KernelEvents>(
      new KernelEvents(std::make_unique<State>(State{std::move(*netlink), take_devices})));
}

int KernelEvents::descriptor() const {
  return state_->netlink.descriptor();
}

bool KernelEvents::take() {
  return state_->take(state_->netlink);
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
