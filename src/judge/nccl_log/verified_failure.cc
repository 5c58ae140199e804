// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/verified_failure.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/log_line.h"
#include "nccl_log/value_verdict.h"

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

// The interface of this host that has the peer's address and reaches no other host; "" if there is none.
std::string bridge_with(string_view peer, const NcclLog& log) {
  const auto own = log.interfaces.find(address_of_peer(peer));
  return own != log.interfaces.end() && is_inside_host(own->second) ? own->second : std::string();
}

std::string interface_context(const NcclFailure& failure, const NcclLog& log) {
  const std::string address(address_of_peer(failure.peer));
  if (const std::string bridge = bridge_with(failure.peer, log); !bridge.empty())
    return address + " is on this host, too, on " + bridge +
           ": such a bridge has the same address on each host.";
  if (const std::string hosts = hosts_with(failure.peer, log); !hosts.empty())
    return address + " is the address of " + hosts + ".";
  return address.starts_with("172.") ? "Docker gives " + address + " to its bridge on each host." : "";
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
           "another subnet fails so, too.";
  if (local.empty() || remote.empty() || local == remote) return {};
  return "If " + local + ".* and " + remote +
         ".* are two rails that are not connected with each other, NCCL_CROSS_NIC=0 keeps each to its own.";
}

// Row 0 on RoCE is mostly RoCE v1 or link-local.
std::string index_context(const NcclLog& log) {
  const bool by_value = log.is_of_roce() && log.read(variable::kIbGidIndex).contains("0");
  if (!by_value && !takes_row_zero(log)) return {};
  return (by_value ? std::string("NCCL takes GID index 0 on RoCE, as NCCL_IB_GID_INDEX says")
                   : "NCCL " + names_in(log.versions) +
                         " takes GID index 0 on RoCE where no NCCL_IB_GID_INDEX is read, as here") +
         ": mostly RoCE v1 or a link-local row. Name the row of RoCE v2 with the address (show_gids).";
}

// "4096" of "5", ibv_mtu's number.
std::string bytes_of_mtu(string_view number) {
  const int value = static_cast<int>(nccl_integer(number).value_or(0));
  return value >= 1 && value <= 5 ? std::to_string(128 << value) : std::string(number);
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

// A run of which the log shows one host alone, and that it came to channels inside it or to its end: most
// likely nothing went over a network.
bool ran_on_one_host(const NcclLog& log) {
  return log.is_inside_node() || (log.ended && log.hosts <= 1 && log.nodes < 2 && log.transports.empty());
}

using Failures = std::vector<NcclFailure>;

bool has_failed_connection(const Failures& all) {
  return std::ranges::any_of(all, [](const NcclFailure& each) {
    return each.code == Code::NoConnection || (each.code == Code::UnreachableInterface && !each.peer.empty());
  });
}

// Ranks that met over an interface reach each other by it. One beside the first is the lead where no
// connection failed.
bool is_unreachable(const NcclFailure& failure, const NcclLog& log, const Failures& all) {
  if (!failure.peer.empty()) return true;
  if (log.initialised > 0 || log.is_of_one_node() || ran_on_one_host(log)) return false;
  return !failure.text.starts_with("NET/Socket") || !has_failed_connection(all);
}

// True if a line behind the port's last error tells that it is active again.
bool came_back(const NcclFailure& failure, const NcclLog& log) {
  // NCCL up to 2.18 does not always name the port.
  return std::ranges::any_of(log.ports_back, [&](const auto& each) {
    return (failure.device.empty() || failure.device == each.first) && each.second > failure.last_line;
  });
}

bool names(string_view list, string_view device) {
  return parse_nccl_name_list(list, kNewestNccl, kMostListed).selects(device, -1);
}

// NCCL opens each device before it looks at its list: one that is not named is not missed.
bool is_unlisted(const NcclFailure& failure, const NcclLog& log) {
  const auto names_it = [&](const auto& list) { return names(list.first, failure.device); };
  const NcclLog::Facts& lists = log.read(variable::kIbHca);
  return !failure.device.empty() && !lists.empty() && !log.devices.empty() &&
         std::ranges::none_of(lists, names_it);
}

// True if the log shows that the run did without what failed.
bool is_survived(const NcclFailure& failure, const NcclLog& log, const Failures& all) {
  if (failure.code == Code::DeviceNotOpened) return is_unlisted(failure, log);
  if (!log.ended) return false;
  // UCX asks each adapter at its start, also one that nothing needs.
  if (failure.code == Code::MemoryLock) return has(failure.text, "ulimit -l");
  // NCCL tells of the ports that it uses, and of each that comes back.
  return failure.code == Code::LinkDown && came_back(failure, log) &&
         std::ranges::none_of(all, &NcclFailure::is_of_transfer);
}

// True if NCCL ends, hangs or is slow because of the failure. `all`: of the log; `follows`: follows_gids().
bool counts(const NcclFailure& failure, const NcclLog& log, const Failures& all, bool follows) {
  if (failure.retried || is_survived(failure, log, all)) return false;
  if (failure.code == Code::GidTableChanged) return !follows;
  if (failure.code == Code::NoVerbsLibrary)
    return !turned_off(log) && !uses_other_network(log) && !log.is_of_one_node() && !ran_on_one_host(log);
  if (failure.code == Code::UnreachableInterface) return is_unreachable(failure, log, all);
  if (failure.nearness() < Nearness::Consequence) return true;
  // A failure that names the cause says more.
  return std::ranges::none_of(all, [&](const NcclFailure& other) {
    return other.nearness() < Nearness::Slows && counts(other, log, all, follows);
  });
}

// True if this value may have caused the failure: its index is the one that failed, or its list has the
// device.
bool may_cause(const NcclFailure& failure, std::string_view value) {
  if (value.empty()) return false;
  if (blamed_variable(failure.code) == variable::kIbGidIndex)
    return is_index(value) && (!failure.gid_index || nccl_integer(value) == *failure.gid_index);
  if (failure.code == Code::DeviceNotOpened && !failure.device.empty()) return names(value, failure.device);
  return true;
}

}  // namespace

bool is_inside_host(string_view interface) {
  return interface == "lo" ||
         begins_with_any(interface, {"br-", "docker", "virbr", "veth", "lxc", "lxdbr", "podman"});
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

NcclFailure seen_in(const NcclLog& log, NcclFailure failure) {
  // All found an interface: then the address that another one sent has no family for another reason.
  const std::size_t found = processes_in(log.bootstrap).size();
  if (failure.code == Code::NoInterface && found > 0 && found == log.processes &&
      has(failure.text, "is neither AF_INET"))
    failure.code = Code::UnknownWarning;
  const bool connects = failure.code == Code::NoConnection || failure.code == Code::UnreachableInterface;
  if (!connects || failure.peer.empty()) return failure;
  if (const std::string bridge = bridge_with(failure.peer, log); !bridge.empty()) {
    failure.code = Code::UnreachableInterface;
    failure.device = bridge;
  } else if (!hosts_with(failure.peer, log).empty()) {
    failure.code = Code::UnreachableInterface;
  } else if (failure.peer.starts_with("172.") && failure.code == Code::UnreachableInterface) {
    failure.device.clear();  // the peer's is at fault, which this log does not name
  }
  return failure;
}

std::string context_of(const NcclFailure& failure, const NcclLog& log) {
  const auto is = [&](Code code) { return failure.code == code; };
  if (is(Code::UnreachableInterface)) return interface_context(failure, log);
  if (is(Code::NoConnection)) return connection_context(failure);
  if (is(Code::NoRoute)) return route_context(failure);
  if (is(Code::NoAnswer)) return mtu_context(log) + index_context(log);
  if (is(Code::RemoteAccess) || is(Code::TransferFailed) || is(Code::ConnectFailed)) return mtu_context(log);
  const std::string bridges = is(Code::TimedOut) ? bridges_text(log) : "";
  return bridges.empty() ? bridges : bridges + ".";
}

std::string hosts_of(const NcclFailure& failure, const NcclLog& log) {
  return join_some(log.hosts_of(failure.processes), kMostHosts);
}

bool takes_row_zero(const NcclLog& log) {
  return log.is_of_roce() && log.read(variable::kIbGidIndex).empty() &&
         is_older(log, nccl_since::kDynamicGid);
}

bool follows_gids(const NcclLog& log, const std::vector<VerifiedValue>& values) {
  const auto forces = [](const VerifiedValue& value) {
    return value.name == variable::kIbGidIndex && value.verdict != LogVerdict::Overridden &&
           is_index(*value.value);
  };
  return !log.versions.empty() &&
         std::ranges::all_of(log.versions,
                             [](const auto& each) {
                               const auto version = logged_version(each.first);
                               return version && *version >= NcclVersion{2, 31, 0};
                             }) &&
         !says(log, variable::kIbGidIndex, is_index) && std::ranges::none_of(values, forces);
}

VerifiedFailure verify_failure(const NcclFailure& failure, const NcclLog& log,
                               const std::vector<NcclFailure>& all, bool follows,
                               std::vector<VerifiedValue>& values) {
  VerifiedFailure verified{failure, counts(failure, log, all, follows), {}, {}, false, !values.empty()};
  const std::string_view blamed = blamed_variable(failure.code);
  if (blamed.empty()) return verified;
  for (VerifiedValue& value : values) {
    if (value.name != blamed) continue;
    if (value.verdict == LogVerdict::Overridden || !may_cause(failure, *value.value)) continue;
    verified.variable = value.name;
    verified.value = *value.value;
    verified.of_pod = true;
    // A connection fails for many reasons.
    if (!verified.counts || is_bad(value.verdict) || failure.code == Code::NoConnection) continue;
    value.verdict = LogVerdict::Failed;
    value.line = failure.line;
    value.evidence = describe(failure) + ": " + std::string(words_of(failure).meaning);
  }
  if (verified.of_pod) return verified;
  for (const std::string& value : keys_of(log.read(blamed))) {
    if (!may_cause(failure, value)) continue;
    verified.variable = blamed;
    verified.value = value;
    break;
  }
  return verified;
}

std::string cause_of(const VerifiedFailure& failure) {
  if (failure.variable.empty()) return {};
  return failure.variable + "=\"" + failure.value + "\" " +
         (failure.of_pod  ? "is what the pod was given."
          : failure.given ? "is what NCCL reads, and is not among the values that nccl-env gave the pod."
                          : "is what NCCL reads, and nothing shows that it is nccl-env's.");
}

std::string how_often(const NcclFailure& failure) {
  const std::string until = failure.last_time.empty() || failure.last_time == failure.first_time
                                ? std::string()
                                : " to " + failure.last_time;
  std::string text = failure.times > 1 ? std::to_string(failure.times) + " times" : std::string();
  if (!failure.first_time.empty()) text += (text.empty() ? "at " : ", ") + failure.first_time + until;
  return text.empty() ? "" : " (" + text + ")";
}

Bond bond_of(const NcclFailure& event, const NcclFailure& error, const NcclLog& log) {
  if (!event.is_port_event() || !error.is_of_transfer() || event.line > error.line) return Bond::None;
  const bool known = !event.device.empty() && !error.device.empty();
  if ((!known || event.device == error.device) && meet(event.processes, error.processes))
    return known ? Bond::Port : Bond::Process;
  return meet(event.processes, log.processes_of(error.peer)) ? Bond::Peer : Bond::None;
}

bool is_of_another_port(const NcclFailure& event, const NcclFailure& error) {
  return event.is_port_event() && error.is_of_transfer() && !event.device.empty() && !error.device.empty() &&
         event.device != error.device;
}

std::optional<std::size_t> find_cause(const std::vector<VerifiedFailure>& failures, const NcclLog& log) {
  std::optional<std::size_t> cause;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!failures[i].counts) continue;
    if (!cause || failures[i].failure.nearness() < failures[*cause].failure.nearness()) cause = i;
  }
  if (!cause) return cause;
  // A rank that ended for what an unknown line says is silent, too, and refuses connections.
  if (failures[*cause].failure.may_follow_end()) {
    const auto unknown = std::ranges::find_if(failures, [&](const VerifiedFailure& each) {
      return each.counts && each.failure.code == Code::UnknownWarning &&
             each.failure.line < failures[*cause].failure.line;
    });
    if (unknown != failures.end()) return static_cast<std::size_t>(unknown - failures.begin());
  }
  if (!failures[*cause].failure.is_port_event()) return cause;
  for (std::size_t i = *cause; i < failures.size(); ++i) {
    const auto belongs = [&](const VerifiedFailure& error) {
      return bond_of(failures[i].failure, error.failure, log) != Bond::None;
    };
    if (failures[i].counts && std::ranges::any_of(failures, belongs)) return i;
  }
  return cause;
}

}  // namespace nccl_env
