// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/link_events.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "netlink.h"

namespace nccl_env::node {
namespace {

bool is_veth(const NetlinkMessage& message) {
  if (message.type != RTM_NEWLINK && message.type != RTM_DELLINK) return false;
  const Attributes attributes = message.attributes<ifinfomsg>();
  return Attributes(attributes.find(IFLA_LINKINFO)).text(IFLA_INFO_KIND) == "veth";
}

}  // namespace

struct LinkEvents::Body {
  Netlink netlink;
};

LinkEvents::LinkEvents(std::unique_ptr<Body> body) : body_(std::move(body)) {}
LinkEvents::~LinkEvents() = default;

Result<std::unique_ptr<LinkEvents>> LinkEvents::open() {
  auto netlink = Netlink::open(NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
  if (!netlink) return netlink.error();
  return std::unique_ptr<LinkEvents>(new LinkEvents(std::make_unique<Body>(Body{std::move(*netlink)})));
}

int LinkEvents::descriptor() const {
  return body_->netlink.descriptor();
}

bool LinkEvents::take() {
  bool concerns = false;
  const bool complete = body_->netlink.receive_events(
      [&](const NetlinkMessage& message) { concerns = concerns || !is_veth(message); });
  return concerns || !complete;
}

}  // namespace nccl_env::node
