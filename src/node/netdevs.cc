// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/netdevs.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "netlink.h"
#include "sysfs_values.h"

namespace nccl_env::node {
namespace {

constexpr int kMaxMtu = 1 << 20;
constexpr int kMaxIndex = 1 << 30;

Netdev read_link(const ifinfomsg& header, const Attributes& attributes) {
  Netdev netdev;
  netdev.name = attributes.text(IFLA_IFNAME);
  netdev.index = static_cast<unsigned>(header.ifi_index);
  netdev.master = attributes.u32(IFLA_MASTER);
  netdev.kind = Attributes(attributes.find(IFLA_LINKINFO)).text(IFLA_INFO_KIND);
  netdev.mtu = static_cast<int>(std::min<std::uint32_t>(attributes.u32(IFLA_MTU), kMaxMtu));
  netdev.up = (header.ifi_flags & IFF_UP) != 0;
  netdev.running = (header.ifi_flags & IFF_RUNNING) != 0;
  netdev.addresses.emplace();
  const auto mac = attributes.find(IFLA_ADDRESS);
  if (header.ifi_type == ARPHRD_ETHER && mac.size() == 6) {
    std::copy(mac.begin(), mac.end(), netdev.mac.emplace().begin());
  }
  return netdev;
}

std::optional<InterfaceAddress> read_address(const ifaddrmsg& header, const Attributes& attributes) {
  // IFA_ADDRESS is the peer's on point-to-point links, where IFA_LOCAL is ours.
  auto bytes = attributes.find(IFA_LOCAL);
  if (bytes.empty()) bytes = attributes.find(IFA_ADDRESS);
  InterfaceAddress address;
  address.prefix = header.ifa_prefixlen;
  if (header.ifa_family == AF_INET && bytes.size() == 4) {
    address.address.bytes[10] = address.address.bytes[11] = 0xff;
    std::copy(bytes.begin(), bytes.end(), address.address.bytes.begin() + 12);
    return address;
  }
  if (header.ifa_family == AF_INET6 && bytes.size() == 16) {
    std::copy(bytes.begin(), bytes.end(), address.address.bytes.begin());
    return address;
  }
  return std::nullopt;
}

struct DefaultRoute {
  std::uint32_t metric = 0;
  unsigned index = 0;
};

// Looks at the main table; of several next hops, only a route's first one counts.
std::optional<DefaultRoute> read_route(const rtmsg& header, const Attributes& attributes) {
  if (header.rtm_dst_len != 0 || header.rtm_type != RTN_UNICAST || header.rtm_table != RT_TABLE_MAIN)
    return std::nullopt;
  DefaultRoute route{attributes.u32(RTA_PRIORITY), attributes.u32(RTA_OIF)};
  const auto hops = attributes.find(RTA_MULTIPATH);
  if (route.index == 0 && hops.size() >= sizeof(rtnexthop)) {
    rtnexthop hop;
    std::memcpy(&hop, hops.data(), sizeof hop);
    route.index = static_cast<unsigned>(hop.rtnh_ifindex);
  }
  return route.index == 0 ? std::nullopt : std::optional(route);
}

// The interface of the lowest metric; 0 if two interfaces share it.
unsigned best_of(const std::vector<DefaultRoute>& routes) {
  unsigned best = 0;
  std::uint32_t metric = 0;
  for (const DefaultRoute& route : routes) {
    if (best == 0 || route.metric < metric) {
      best = route.index;
      metric = route.metric;
    } else if (route.metric == metric && route.index != best) {
      return 0;
    }
  }
  return best;
}

Status read_links(Netlink& netlink, Netdevs& into) {
  ifinfomsg all{};
  const auto begin = [&] { into.all.clear(); };
  return netlink.dump(RTM_GETLINK, bytes_of(all), begin, [&](const NetlinkMessage& message) {
    ifinfomsg header{};
    if (message.type != RTM_NEWLINK || !message.read(header) || header.ifi_index <= 0) return;
    into.all.push_back(read_link(header, message.attributes<ifinfomsg>()));
  });
}

Status read_addresses(Netlink& netlink, Netdevs& into) {
  std::map<unsigned, std::vector<InterfaceAddress>> found;
  ifaddrmsg all{};
  const auto begin = [&] { found.clear(); };
  Status read = netlink.dump(RTM_GETADDR, bytes_of(all), begin, [&](const NetlinkMessage& message) {
    ifaddrmsg header{};
    if (message.type != RTM_NEWADDR || !message.read(header) || (header.ifa_flags & IFA_F_DADFAILED)) return;
    if (const auto address = read_address(header, message.attributes<ifaddrmsg>()))
      found[header.ifa_index].push_back(*address);
  });
  for (Netdev& netdev : into.all) {
    if (const auto own = found.find(netdev.index); own != found.end()) netdev.addresses = own->second;
    std::ranges::sort(*netdev.addresses, {},
                      [](const auto& each) { return std::tie(each.address, each.prefix); });
  }
  return read;
}

Status read_default_route(Netlink& netlink, Netdevs& into) {
  // IPv4 first: NCCL's bootstrap and Kubernetes' own default are IPv4 where both are there.
  for (const int family : {AF_INET, AF_INET6}) {
    std::vector<DefaultRoute> routes;
    rtmsg all{};
    all.rtm_family = static_cast<unsigned char>(family);
    const auto begin = [&] { routes.clear(); };
    Status read = netlink.dump(RTM_GETROUTE, bytes_of(all), begin, [&](const NetlinkMessage& message) {
      rtmsg header{};
      if (message.type != RTM_NEWROUTE || !message.read(header) || header.rtm_family != family) return;
      if (const auto route = read_route(header, message.attributes<rtmsg>())) routes.push_back(*route);
    });
    if (!read) return read;
    if (routes.empty()) continue;
    into.default_route = best_of(routes);
    break;
  }
  return done();
}

}  // namespace

const Netdev* Netdevs::find(std::string_view name) const {
  const auto found = std::ranges::find(all, name, &Netdev::name);
  return found == all.end() ? nullptr : &*found;
}

const Netdev* Netdevs::find(unsigned index) const {
  const auto found = std::ranges::find(all, index, &Netdev::index);
  return index == 0 || found == all.end() ? nullptr : &*found;
}

const Netdev* Netdevs::carrier_of(const IpAddress& address) const {
  const Netdev* found = nullptr;
  for (const Netdev& netdev : all) {
    if (!netdev.addresses || std::ranges::count(*netdev.addresses, address, &InterfaceAddress::address) == 0)
      continue;
    if (!found || found->name == "lo") found = &netdev;
  }
  return found;
}

Result<Netdevs> read_netdevs() {
  auto netlink = Netlink::open(NETLINK_ROUTE);
  if (!netlink) return netlink.error();
  Netdevs netdevs;
  if (const Status links = read_links(*netlink, netdevs); !links) return links.error();
  if (const Status addresses = read_addresses(*netlink, netdevs); !addresses) return addresses.error();
  if (const Status route = read_default_route(*netlink, netdevs); !route) return route.error();
  std::ranges::sort(netdevs.all, {}, &Netdev::index);
  return netdevs;
}

Netdevs read_netdevs(const Sysfs& sysfs) {
  Netdevs netdevs;
  netdevs.live = false;
  const auto names = sysfs.list("class/net");
  if (!names) return netdevs;
  unsigned without_index = kMaxIndex;
  std::map<std::string, std::string, std::less<>> masters;
  for (const std::string& name : *names) {
    const std::string base = "class/net/" + name + "/";
    if (!is_netdev_name(name) || !sysfs.resolve("class/net/" + name)) continue;
    Netdev netdev;
    netdev.name = name;
    const auto index = sysfs.read(base + "ifindex");
    const auto number = index ? parse_number(*index, kMaxIndex) : std::nullopt;
    netdev.index = number ? static_cast<unsigned>(*number) : ++without_index;
    const auto mtu = sysfs.read(base + "mtu");
    netdev.mtu = mtu ? parse_number(*mtu, kMaxMtu).value_or(0) : 0;
    const auto state = sysfs.read(base + "operstate");
    netdev.up = !state || *state != "down";
    netdev.running = netdev.up;
    if (sysfs.list(base + "bonding")) netdev.kind = "bond";
    if (const auto master = sysfs.resolve(base + "master"))
      masters[name] = master->substr(master->rfind('/') + 1);
    netdevs.all.push_back(std::move(netdev));
  }
  for (const auto& [name, master] : masters) {
    const Netdev* found = netdevs.find(master);
    for (Netdev& netdev : netdevs.all) {
      if (found && netdev.name == name) netdev.master = found->index;
    }
  }
  std::ranges::sort(netdevs.all, {}, &Netdev::index);
  return netdevs;
}

Result<RdmaNamespaceMode> read_namespace_mode() {
  auto netlink = Netlink::open(NETLINK_RDMA);
  if (!netlink) return netlink.error();
  std::optional<RdmaNamespaceMode> mode;
  const auto type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));
  const Status asked = netlink->request(type, {}, [&](const NetlinkMessage& message) {
    // Without a fixed header. One byte: 1 for shared, 0 for exclusive.
    const auto value = Attributes(message.payload).find(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
    if (!value.empty()) mode = value[0] != 0 ? RdmaNamespaceMode::Shared : RdmaNamespaceMode::Exclusive;
  });
  if (!asked) return asked.error();
  if (!mode) return Error{"netlink: the kernel does not say how RDMA devices share network namespaces"};
  return *mode;
}

}  // namespace nccl_env::node
