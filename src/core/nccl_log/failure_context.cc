// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/failure_context.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <vector>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/unknown_failure.h"

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

// True if the versions have different numbers.
bool has_several_versions(const NcclLog& log) {
  std::set<string_view> numbers;
  for (const auto& [version, fact] : log.versions) numbers.insert(version_number(version));
  return numbers.size() > 1;
}

std::string versions_in(const NcclLog& log) {
  return join(log.versions, ", ", [](const auto& each) -> const std::string& { return each.first; });
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
  if (failure.error_text.find("refused") != std::string::npos ||
      failure.text.find("refused") != std::string::npos)
    return "Refused: the host answers, and nobody listens there (a rank that ended, or an address of another "
           "machine).";
  if (failure.error_text.find("timed out") != std::string::npos)
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
  const auto read = log.values.find(variable::kIbGidIndex);
  if (!roce || (read == log.values.end() ? !is_older(log, {2, 21, 0}) : !read->second.contains("0")))
    return {};
  return (read == log.values.end()
              ? "NCCL " + versions_in(log) +
                    " takes GID index 0 on RoCE where no NCCL_IB_GID_INDEX is read, as here"
              : std::string("NCCL takes GID index 0 on RoCE, as NCCL_IB_GID_INDEX says")) +
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

// False where the group's name is a number that each rank counts for itself, or is not told.
bool is_one_group(const WaitingRank& call) {
  return call.group.find("GUID ") != std::string::npos || call.group.find("default_pg") != std::string::npos;
}

// "No time-out is of rank 2 of 4: …": of one that most others, with lines in the same log, waited for.
std::string late_text(const NcclLog& log) {
  std::set<int> waiting;
  for (const auto& [rank, call] : log.waiting) waiting.insert(static_cast<int>(rank));
  const std::size_t all = log.own_ranks.size();
  const bool most = 4 * waiting.size() >= 3 * all && all == static_cast<std::size_t>(log.ranks);
  const std::string missing = most ? missing_ranks(waiting, log.ranks) : "";
  return missing.empty()
             ? ""
             : "No time-out is of " + missing +
                   ": most likely the others waited for it. See what it does there, or does before "
                   "(its lines, py-spy dump --pid PID).";
}

std::string timeout_context(const NcclFailure& failure, const NcclLog& log) {
  if (std::string bridges = bridges_text(log); !bridges.empty()) return bridges;
  if (std::string step = step_text(log); !step.empty()) return step;
  if (std::string late = late_text(log); !late.empty()) return late;
  if (!failure.sequence) return {};
  if (*failure.sequence <= 1) {
    if (log.is_of_one_node() && log.local_transports.contains("P2P"))
      return "It is the first collective, on one node, over P2P: try NCCL_P2P_DISABLE=1 once. If it runs "
             "then, PCIe ACS or the IOMMU breaks P2P.";
    return "It is the first collective: nothing shows that data ever passed between the ranks.";
  }
  const bool barrier = failure.elements && *failure.elements == 1 && failure.operation == "ALLREDUCE";
  const std::uint64_t before = *failure.sequence - 1;
  const std::string end = barrier ? "; one element may be a barrier()." : ".";
  if (log.completed.contains(before))
    return "The " + std::to_string(before) +
           " before it ended well, so the network worked until then: look first for a call that only some "
           "ranks "
           "make (a checkpoint's, a test's)" +
           end;
  return "It is number " + std::to_string(*failure.sequence) +
         " of its group: look first for a rank that prepares data longer than the time-out, or a call that "
         "only "
         "some ranks make (a checkpoint's, a test's); nothing tells what the others did" +
         end;
}

// Text in a number that a stranger sent: "GET " of an HTTP client.
std::string text_in(std::uint64_t number) {
  std::string text;
  for (; number > 0; number >>= 8) text += static_cast<char>(number & 0xff);
  const bool words = text.size() >= 4 && std::ranges::all_of(text.substr(0, 4), [](char c) {
                       return is_alphanumeric(c) || c == ' ' || c == '/';
                     });
  return words ? text.substr(0, 4) : std::string();
}

std::string stranger_text(const NcclFailure& failure) {
  for (const auto& [mark, base] : {std::pair<string_view, int>{"wrong magic ", 16}, {" received ", 10}}) {
    const std::size_t at = failure.text.find(mark);
    if (at == failure.text.npos) continue;
    const char* begin = failure.text.data() + at + mark.size();
    std::uint64_t number = 0;
    std::from_chars(begin, failure.text.data() + failure.text.size(), number, base);
    if (std::string text = text_in(number); !text.empty()) return text;
  }
  return {};
}

// "NCCL 2.26.2+cuda12.2, CUDA driver 12.2": beside what may be a fault of theirs.
std::string versions_context(const NcclLog& log) {
  std::string text = log.versions.empty() ? "" : "NCCL " + versions_in(log);
  if (log.driver > 0)
    text += (text.empty() ? "" : ", ") + std::string("CUDA driver ") + std::to_string(log.driver / 1000) +
            "." + std::to_string(log.driver % 1000 / 10);
  return text.empty() ? "" : "The log has " + text + ".";
}

// "2.14.3 and 2.19.3; networks: FastSocket on gpu-1, Socket on gpu-2."
std::string mixed_context(const NcclLog& log) {
  std::string text = has_several_versions(log) ? "The log has " + versions_in(log) + "." : "";
  if (log.networks.size() < 2) return text;
  return text + (text.empty() ? "" : " ") + "Networks differ: " +
         join(log.networks, ", ",
              [&](const auto& each) {
                const std::set<std::string> hosts = log.hosts_of(each.second.processes);
                return each.first + (hosts.empty() ? "" : " on " + join_some(hosts, kMostHosts));
              }) +
         ".";
}

bool all_found_interfaces(const NcclLog& log) {
  std::set<std::uint32_t> found;
  for (const auto& [interface, fact] : log.bootstrap)
    found.insert(fact.processes.begin(), fact.processes.end());
  return !log.bootstrap.empty() && found.size() == log.processes;
}

// True of a line that says who was asked to end: a launcher asks the others, too, once one of them failed.
bool is_request_behind_failure(const NcclFailure& failure, const NcclLog& log) {
  constexpr string_view kRequests[] = {"SIGTERM", "15 death signal", "got signal: 15"};
  const bool request = failure.code == Code::Killed && failure.nearness() == Nearness::Symptom &&
                       std::ranges::any_of(kRequests, [&](string_view words) {
                         return failure.text.find(words) != std::string::npos;
                       });
  return request && std::ranges::any_of(log.failures, [&](const NcclFailure& other) {
           return other.line < failure.line && other.code != Code::Killed && !other.retried;
         });
}

std::string fallback_context(const NcclLog& log) {
  if (log.cumem_fallbacks.empty()) return {};
  return "Line " + std::to_string(log.cumem_fallbacks.begin()->second.line) +
         " says that one process falls back from cuMem to /dev/shm: ranks of a node have to agree.";
}

}  // namespace

std::string bytes_of_mtu(string_view number) {
  const int value = static_cast<int>(nccl_integer(number).value_or(0));
  return value >= 1 && value <= 5 ? std::to_string(128 << value) : std::string(number);
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> out_of_step(const NcclLog& log) {
  std::map<string_view, std::uint64_t> first;  // rank of each group
  for (const auto& [rank, call] : log.waiting) {
    const std::uint64_t other = first.emplace(call.group, rank).first->second;
    const WaitingRank& of_other = log.waiting.at(other);
    if (call != of_other)
      return call.number < of_other.number ? std::pair(rank, other) : std::pair(other, rank);
  }
  return std::nullopt;
}

std::string step_text(const NcclLog& log) {
  const auto two = out_of_step(log);
  if (!two) return {};
  const auto text = [&](std::uint64_t rank) {
    const WaitingRank& call = log.waiting.at(rank);
    return "rank " + std::to_string(rank) + " waits in number " + std::to_string(call.number) +
           (call.operation.empty() ? "" : " (" + call.operation + ")");
  };
  const bool behind = log.waiting.at(two->first).number < log.waiting.at(two->second).number;
  const std::string both = text(two->first) + ", " + text(two->second);
  const std::string odd = behind ? "rank " + std::to_string(two->first) + " is behind" : "their calls differ";
  return is_one_group(log.waiting.at(two->first))
             ? "Of one group, " + both + ": " + odd + "."
             : "If these are of one process group (" + both + "), " + odd + ".";
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
  const auto found = log.values.find(name);
  if (found == log.values.end()) return {};
  return std::string(name) + "=\"" + found->second.begin()->first + "\" (line " +
         std::to_string(found->second.begin()->second.line) + ")";
}

std::string bridges_text(const NcclLog& log) {
  if (!log.networks.contains("Socket") || log.is_of_one_node() || log.interfaces.size() < 2) return {};
  std::set<std::string> inside;
  for (const auto& [address, interface] : log.interfaces) {
    if (is_inside_host(interface)) inside.insert(interface);
  }
  if (inside.empty()) return {};
  return "NCCL's sockets also take " + join_some(inside, kMostHosts) +
         ", which other hosts hardly reach: name one interface in NCCL_SOCKET_IFNAME.";
}

std::string hosts_with(std::string_view peer, const NcclLog& log) {
  // Each host has such an address.
  if (begins_with_any(peer, {"127.", "169.254.", "fe80:", "FE80:", "[fe80:"})) return {};
  const auto own = log.addresses.find(address_of_peer(peer));
  if (own == log.addresses.end()) return {};
  const std::set<std::string> hosts = log.hosts_of(own->second.processes);
  return hosts.size() < 2 ? "" : join_some(hosts, kMostHosts);
}

bool shares_host_name(const NcclLog& log) {
  // One launcher starts a node's processes together.
  constexpr std::int64_t kFarApart = 1000;
  const bool repeats = log.gpu_ranks.size() > 1 && std::ranges::any_of(log.gpu_ranks, [](const auto& each) {
                         return each.second.size() > 1;
                       });
  if (!repeats || log.hosts != 1) return false;
  std::set<std::int64_t> numbers;
  for (const std::string& name : log.process_names)
    numbers.insert(nccl_integer(name.substr(name.rfind(':') + 1)).value_or(0));
  return std::ranges::adjacent_find(numbers, [](std::int64_t left, std::int64_t right) {
           return right - left > kFarApart;
         }) != numbers.end();
}

std::string limit_text(const NcclLog& log) {
  const auto limit = std::ranges::find_if(log.failures, &NcclFailure::is_time_limit);
  return limit == log.failures.end()
             ? ""
             : "the job's time limit ended it (line " + std::to_string(limit->line) + ")";
}

std::string_view version_number(std::string_view version) {
  return version.substr(0, version.find_first_of("+-"));
}

NcclFailure seen_in(const NcclLog& log, NcclFailure failure) {
  const auto is_other = [&](const NcclFailure& each) {
    return each.nearness() < Nearness::Consequence && each.line != failure.line;
  };
  if (failure.code == Code::SegmentMissing && !log.cumem_fallbacks.empty()) failure.code = Code::CumemHost;
  // cuMem gives host memory from 2.23 on.
  if (failure.code == Code::CumemHost && is_older(log, {2, 23, 0})) failure.code = Code::NotTheNetwork;
  const bool connects = failure.code == Code::NoConnection || failure.code == Code::UnreachableInterface;
  if (connects && !failure.peer.empty()) {
    const auto own = log.interfaces.find(address_of_peer(failure.peer));
    if (own != log.interfaces.end() && is_inside_host(own->second)) {
      failure.code = Code::UnreachableInterface;
      failure.device = own->second;
    } else if (!hosts_with(failure.peer, log).empty()) {
      failure.code = Code::UnreachableInterface;
    } else if (failure.peer.starts_with("172.") && failure.code == Code::UnreachableInterface) {
      failure.device.clear();  // the peer's is at fault, which this log does not name
    }
  }
  // All found an interface: then the address that another one sent has no family for another reason.
  const bool no_family = failure.text.find("is neither AF_INET") != std::string::npos;
  if (failure.code == Code::NoInterface && no_family && all_found_interfaces(log))
    failure.code = Code::UnknownWarning;
  if (failure.code == Code::CallsDiffer && !stranger_text(failure).empty())
    failure.code = Code::StrangerConnected;
  // Versions exchange other structures, of other sizes.
  const bool exchange = no_family || failure.code == Code::CallsDiffer || failure.code == Code::SizesDiffer;
  if (exchange && has_several_versions(log)) failure.code = Code::NcclVersionsDiffer;
  const bool own = failure.peer.empty() || failure.peer.starts_with("127.") || failure.peer == "::1";
  if (own && failure.text.find("Gloo ") != std::string::npos && log.gloo_loopback > 0)
    failure.code = Code::UnreachableInterface;
  const auto two = out_of_step(log);
  if (failure.code == Code::TimedOut && failure.sequence && two && is_one_group(log.waiting.at(two->first)))
    failure.code = Code::CallsDiffer;
  // NCCL's result 1 alone: CUDA failed, and nothing says how.
  if (failure.code == Code::GaveUp && failure.error == 1 && std::ranges::none_of(log.failures, is_other))
    failure.code = Code::NotTheNetwork;
  if (is_request_behind_failure(failure, log)) failure.known = &asked_to_end();
  failure.follows =
      failure.is_time_limit() && std::ranges::any_of(log.failures, [&](const NcclFailure& other) {
        // Slurm tells the end of the step in several lines.
        const bool end =
            other.nearness() >= Nearness::Consequence && other.text.find("srun: ") != std::string::npos;
        return other.line < failure.line && !other.retried && !end;
      });
  return failure;
}

std::string context_of(const NcclFailure& failure, const NcclLog& log) {
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
      return timeout_context(failure, log);
    case Code::CallsDiffer:
      return step_text(log);
    case Code::CumemHost:
      return fallback_context(log);
    case Code::NvlinkFabric:
      return failure.text.find("invalid argument") == std::string::npos ? "" : versions_context(log);
    case Code::NcclVersionsDiffer:
      return mixed_context(log);
    case Code::UnknownWarning:
      return failure.text.find("is neither AF_INET") == std::string::npos ? "" : mixed_context(log);
    case Code::PluginFailed:
      return failure.text.find("nable to register") == std::string::npos ? "" : versions_context(log);
    case Code::NoPath:
      return log.versions.empty() ? "" : "The log's NCCL is " + versions_in(log) + ".";
    case Code::NoAlgorithm: {
      const std::string value = value_read(log, "NCCL_PROTO");
      return value.empty() ? "" : "NCCL reads " + value + ".";
    }
    case Code::PortTaken: {
      const std::string value = value_read(log, "NCCL_PXN_DISABLE");
      return value.empty() ? "" : value + ": without PXN an all-to-all has many times the connections.";
    }
    case Code::DeviceNotAvailable: {
      // UCX names what it has: "'mlx5_0:1'(ib)".
      const bool none = failure.text.find("use one or more of") != std::string::npos &&
                        failure.text.find("(ib)") == std::string::npos && failure.text.size() < 512;
      return none ? "UCX sees no HCA at all: no /dev/infiniband in the container, or a UCX that was built "
                    "without verbs."
                  : "";
    }
    case Code::StrangerConnected: {
      const std::string text = stranger_text(failure);
      return text.empty() ? "" : "Its first bytes are \"" + text + "\", which no rank sends.";
    }
    default:
      return {};
  }
}

std::string hosts_of(const NcclFailure& failure, const NcclLog& log) {
  return join_some(log.hosts_of(failure.processes), kMostHosts);
}

}  // namespace nccl_env
