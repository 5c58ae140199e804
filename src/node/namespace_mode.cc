// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/namespace_mode.h"

#include <rdma/rdma_netlink.h>

#include "netlink.h"

namespace nccl_env::node {

Result<RdmaNamespaceMode> read_namespace_mode() {
  auto netlink = Netlink::open(NETLINK_RDMA);
  if (!netlink) return netlink.error();
  std::optional<RdmaNamespaceMode> mode;
  const auto type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));
  const Status asked = netlink->request(type, 0, {}, [&](const NetlinkMessage& message) {
    // Without a fixed header. One byte: 1 for shared, 0 for exclusive.
    const auto value = Attributes(message.payload).find(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
    if (!value.empty()) mode = value[0] != 0 ? RdmaNamespaceMode::Shared : RdmaNamespaceMode::Exclusive;
  });
  if (!asked) return asked.error();
  if (!mode) return Error{"netlink: the kernel does not say how RDMA devices share network namespaces"};
  return *mode;
}

}  // namespace nccl_env::node
