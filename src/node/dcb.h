// SPDX-License-Identifier: Apache-2.0
// Data center bridging (IEEE 802.1Q) of the interfaces of RoCE ports: which priorities have flow control, and
// into which one a packet goes. Over rtnetlink; needs no privilege.
#pragma once

#include "nccl_env/core/fabric/node_table.h"
#include "netlink.h"

namespace nccl_env::node {

// Fills in what the interface's driver tells; leaves absent what it does not, as those of bonds, VLANs and
// virtual functions.
void read_dcb(Netlink& netlink, Port& port);
void read_dcb(NodeFabric& table);

}  // namespace nccl_env::node
