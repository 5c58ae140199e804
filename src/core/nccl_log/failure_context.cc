// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/failure_context.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_log/log_facts.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr std::size_t kMostHosts = 3;

// True if all versions that the log tells are older; false where it tells none.
bool is_older(const NcclLog& log, NcclVersion than) {
  return !log.versions.empty() && std::ranges::all_of(log.versions, [&](const auto& each) {
    const std::optional<NcclVersion> version = logged_version(each.first);
    // Versions before kOldestNccl have no rules here, and are older than all that are asked for.
    return version ? *version < than : each.first.starts_with("2.");
  });
}

std::string interface_context(const NcclFailure& failure, const NcclLog& log) {
  const auto own = log.interfaces.find(address_of_peer(failure.peer));
  if (!failure.peer.empty() && own != log.interfaces.end() && is_inside_host(own->second))
    return own->first + " is on this host, too, on " + own->second +
           ": such a bridge has the same address on each host.";
  if (const std::string hosts = hosts_with(failure.peer, log); !hosts.empty())
    return std::string(address_of_peer(failure.peer)) + " is the address of " + hosts + ".";
  if (failure.peer.starts_with("172."))
    return "Docker gives " + std::string(address_of_peer(failure.peer)) + " to its bridge on each host.";
  return {};
}

std::string connection_context(const NcclFailure& failure) {
  if (has(failure.error_text, "refused") || has(failure.text, "refused"))
    return "Refused: the host answers, and nobody listens there (a rank that ended, or an address of another "
           "machine).";
  if (has(failure.error_text, "timed out"))
    return "Timed out: nothing answers. NCCL takes random ports, so a firewall has to let all of them "
           "through between the nodes.";
  return {};
}

// The third byte and those before it, of "::ffff:10.65.5.11": a rail often has such a subnet.
std::string subnet_of(const std::string& gid) {
  constexpr string_view kMapped = "::ffff:";
  const std::size_t last = gid.rfind('.');
  return gid.starts_with(kMapped) && last != gid.npos ? gid.substr(kMapped.size(), last - kMapped.size())
                                                      : std::string();
}

std::string route_context(const NcclFailure& failure) {
  const std::string local = subnet_of(failure.local_gid), remote = subnet_of(failure.remote_gid);
  if (failure.local_gid.empty() && failure.code == Code::NoRoute)
    return "The line does not tell the GID: a GID index (NCCL_IB_GID_INDEX) whose row is link-local or of "
           "another "
           "subnet fails so, too.";
  if (local.empty() || remote.empty() || local == remote) return {};
  return "If " + local + ".* and " + remote +
         ".* are two rails that are not connected with each other, NCCL_CROSS_NIC=0 keeps each to its own.";
}

// Row 0 on RoCE is mostly RoCE v1 or link-local. NCCL takes it before 2.21, where no index is set.
std::string index_context(const NcclLog& log) {
  const bool roce = log.links.contains("RoCE") && !log.links.contains("InfiniBand");
  const NcclLog::Facts& read = log.read(variable::kIbGidIndex);
  if (!roce || (read.empty() ? !is_older(log, {2, 21, 0}) : !read.contains("0"))) return {};
  return (read.empty() ? "NCCL " + names_in(log.versions) +
                             " takes GID index 0 on RoCE where no NCCL_IB_GID_INDEX is read, as here"
                       : "NCCL takes GID index 0 on RoCE, as NCCL_IB_GID_INDEX says") +
         ": mostly RoCE v1 or a link-local row. Name the row of RoCE v2 with the address (show_gids).";
}

std::string mtu_context(const NcclLog& log) {
  if (log.mtus.size() < 2) return {};
  return "The ports differ in MTU: " +
         join(log.mtus, ", ",
              [&](const auto& each) {
                const std::set<std::string> hosts = log.hosts_of(each.second.processes);
                return bytes_of_mtu(each.first) +
                       (hosts.empty() ? "" : " on " + join_some(hosts, kMostHosts));
              }) +
         ". Give both the same.";
}

}  // namespace

std::string bytes_of_mtu(string_view number) {
  const int value = static_cast<int>(nccl_integer(number).value_or(0));
  return value >= 1 && value <= 5 ? std::to_string(128 << value) : std::string(number);
}

bool is_inside_host(string_view interface) {
  return interface == "lo" ||
         begins_with_any(interface, {"br-", "docker", "virbr", "veth", "lxc", "lxdbr", "podman"});
}

std::optional<NcclVersion> logged_version(std::string_view text) {
  constexpr string_view kRccl = "RCCL ";
  if (text.starts_with(kRccl)) text.remove_prefix(kRccl.size());
  const auto known = parse_nccl_version(text.substr(0, text.find_first_of("+-")));
  return known ? std::optional(*known) : std::nullopt;
}

std::string value_read(const NcclLog& log, string_view name) {
  const NcclLog::Facts& read = log.read(name);
  if (read.empty()) return {};
  const auto& [value, fact] = *read.begin();
  return std::string(name) + "=\"" + value + "\" (line " + std::to_string(fact.line) + ")";
}

std::string bridges_text(const NcclLog& log) {
  if (!log.networks.contains("Socket") || log.is_of_one_node() || log.interfaces.size() < 2) return {};
  std::set<std::string> inside;
  for (const auto& [address, interface] : log.interfaces) {
    if (is_inside_host(interface)) inside.insert(interface);
  }
  if (inside.empty()) return {};
  return "NCCL's sockets also take " + join_some(inside, kMostHosts) +
         ", which other hosts hardly reach: name one interface in NCCL_SOCKET_IFNAME";
}

std::string hosts_with(std::string_view peer, const NcclLog& log) {
  // Each host has such an address.
  if (is_of_this_host(peer)) return {};
  const auto own = log.addresses.find(address_of_peer(peer));
  if (own == log.addresses.end()) return {};
  const std::set<std::string> hosts = log.hosts_of(own->second.processes);
  return hosts.size() < 2 ? "" : join_some(hosts, kMostHosts);
}

std::string_view version_number(std::string_view version) {
  return version.substr(0, version.find_first_of("+-"));
}

NcclFailure seen_in(const NcclLog& log, NcclFailure failure) {
  // All found an interface: then the address that another one sent has no family for another reason.
  const std::size_t found = processes_in(log.bootstrap).size();
  if (failure.code == Code::NoInterface && found > 0 && found == log.processes &&
      has(failure.text, "is neither AF_INET"))
    failure.code = Code::UnknownWarning;
  const bool connects = failure.code == Code::NoConnection || failure.code == Code::UnreachableInterface;
  if (!connects || failure.peer.empty()) return failure;
  const auto own = log.interfaces.find(address_of_peer(failure.peer));
  if (own != log.interfaces.end() && is_inside_host(own->second)) {
    failure.code = Code::UnreachableInterface;
    failure.device = own->second;
  } else if (!hosts_with(failure.peer, log).empty()) {
    failure.code = Code::UnreachableInterface;
  } else if (failure.peer.starts_with("172.") && failure.code == Code::UnreachableInterface) {
    failure.device.clear();  // the peer's is at fault, which this log does not name
  }
  return failure;
}

std::string context_of(const NcclFailure& failure, const NcclLog& log) {
  const std::string bridges = bridges_text(log);
  switch (failure.code) {
    case Code::UnreachableInterface:
      return interface_context(failure, log);
    case Code::NoConnection:
      return connection_context(failure);
    case Code::NoRoute:
      return route_context(failure);
    case Code::NoAnswer:
      return mtu_context(log) + index_context(log);
    case Code::RemoteAccess:
    case Code::TransferFailed:
    case Code::ConnectFailed:
      return mtu_context(log);
    case Code::TimedOut:
      return bridges.empty() ? bridges : bridges + ".";
    default:
      return {};
  }
}

std::string hosts_of(const NcclFailure& failure, const NcclLog& log) {
  return join_some(log.hosts_of(failure.processes), kMostHosts);
}

}  // namespace nccl_env
