// SPDX-License-Identifier: Apache-2.0
// Facts of one port and of one GID row, as a table tells them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/interface_index.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// Whether a GID row can carry RoCE v2 traffic of this node's namespace; if not, why (one clause).
struct RowVerdict {
  bool usable = false;
  bool known = true;  // false: the row's type is not known
  std::string why;
};
// `interfaces` indexes the row's table.
RowVerdict judge_row(const InterfaceIndex& interfaces, const GidRow& row, const std::vector<Cidr>& subnets);
// Does so for a row of that port: on InfiniBand a link-local GID is the usual one, and is usable.
RowVerdict judge_row(const InterfaceIndex& interfaces, const Port& port, const GidRow& row,
                     const std::vector<Cidr>& subnets);

// Every netdev name that the table connects with a port: its own, its rows', and its LAG.
std::vector<std::string_view> netdevs_of(const Port& port);
// Returns the known link layer of a port: from its field, else its transport, else its typed rows. Among its
// rows a single RoCE row decides, because the kernel's "IB/RoCE v1" stands for both kinds and is read as IB.
std::optional<LinkLayer> link_layer_of(const Port& port);
bool is_roce(const Port& port);
// True if the port could be a RoCE port, but is known to have not one GID: its netdev is in another network
// namespace, as that of a physical function whose virtual one a pod was given. Nobody here can use it.
bool has_no_gid(const Port& port);
// Returns the rate; none if the port is known not to be Active: such a port reports whatever its driver falls
// back to.
std::optional<double> rate_of(const Port& port);
// True if the port was faster before, since the node booted: its link came up with fewer lanes, or its bond
// lost a member.
bool has_slowed(const Port& port);

// Facts that facts_of() in program/table_view.cc or doctor/report.cc tells in words of its own, or leaves
// out.
inline constexpr std::array<std::string_view, 17> kFactsWithWords{
    "linkLayer",    "transport",      "state",          "stateSince", "rateGbps", "maxRateGbps", "activeMtu",
    "driver",       "pciAddress",     "pfPciAddress",   "lag",        "netdev",   "numaNode",    "boardId",
    "sysImageGuid", "gidTableLength", "gidIndexChanges"};
// Returns the other known facts of a port, but for lists, as "firmware 28.43.1014": what is added to
// NodeFabric is shown, whether or not somebody thinks of it.
std::vector<std::string> other_facts(const Port& port,
                                     std::span<const std::string_view> with_words = kFactsWithWords);

}  // namespace nccl_env
