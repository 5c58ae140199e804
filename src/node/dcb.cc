// SPDX-License-Identifier: Apache-2.0
#include "dcb.h"

#include <linux/dcbnl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <string>

#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env::node {
namespace {

// A name of full length ends with zeros, as the kernel takes it.
struct DcbRequest {
  dcbmsg header{AF_UNSPEC, DCB_CMD_IEEE_GET, 0};
  nlattr attribute{NLA_HDRLEN + IFNAMSIZ, DCB_ATTR_IFNAME};
  char name[IFNAMSIZ] = {};
};

char digit_of(int priority) {
  return static_cast<char>('0' + priority);
}

// A driver trusts the DSCP while its table has an entry for one (mlx5, ice, hns3). Nothing is known of a DSCP
// without an entry, and of one with two.
std::string priorities_of_dscps(const Attributes& entries) {
  constexpr char kSeveral = '?';
  std::string priorities;
  for (const auto& [type, bytes] : entries.all()) {
    dcb_app entry{};
    if (type != DCB_ATTR_IEEE_APP || !read_struct(bytes, entry) ||
        entry.selector != IEEE_8021QAZ_APP_SEL_DSCP || entry.protocol >= described::table::kDscps ||
        entry.priority >= IEEE_8021QAZ_MAX_TCS)
      continue;
    priorities.resize(described::table::kDscps, '-');
    char& known = priorities[entry.protocol];
    known = known == '-' || known == digit_of(entry.priority) ? digit_of(entry.priority) : kSeveral;
  }
  std::replace(priorities.begin(), priorities.end(), kSeveral, '-');
  return priorities;
}

void note_dcb(const NetlinkMessage& message, Port& port) {
  dcbmsg header{};
  ieee_pfc pfc{};
  if (message.type != RTM_GETDCB || !message.read(header) || header.cmd != DCB_CMD_IEEE_GET) return;
  const Attributes ieee(message.attributes<dcbmsg>().find(DCB_ATTR_IEEE));
  if (!read_struct(ieee.find(DCB_ATTR_IEEE_PFC), pfc)) return;
  port.lossless_priorities.emplace();
  for (int priority = 0; priority < IEEE_8021QAZ_MAX_TCS; ++priority) {
    if ((pfc.pfc_en >> priority & 1) != 0) *port.lossless_priorities += digit_of(priority);
  }
  port.dscp_priorities = priorities_of_dscps(Attributes(ieee.find(DCB_ATTR_IEEE_APP_TABLE)));
}

}  // namespace

void read_dcb(Netlink& netlink, Port& port) {
  DcbRequest request;
  if (!port.netdev || !is_roce(port)) return;
  port.netdev->copy(request.name, IFNAMSIZ - 1);
  // Most drivers have none, and refuse.
  (void)netlink.request(RTM_GETDCB, bytes_of(request),
                        [&](const NetlinkMessage& message) { note_dcb(message, port); });
}

void read_dcb(NodeFabric& table) {
  auto netlink = Netlink::open(NETLINK_ROUTE);
  if (!netlink) return;
  for (Port& port : table.ports) read_dcb(*netlink, port);
}

}  // namespace nccl_env::node
