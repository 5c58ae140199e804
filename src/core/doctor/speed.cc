// SPDX-License-Identifier: Apache-2.0
// Checks that compare a port's rate and MTU with those of its rail.
#include <algorithm>
#include <set>
#include <sstream>

#include "doctor/checks.h"
#include "nccl_env/core/choose/ports.h"

namespace nccl_env::doctor {
namespace {

struct Quantity {
  Code code;
  Severity severity;  // between nodes
  std::string unit;
  bool only_low;  // more than the others is no fault
  std::optional<double> (*of)(const NodeView&, const Port&);
};

std::string text_of(double value, const std::string& unit) {
  std::ostringstream text;
  text << value << unit;
  return text.str();
}

std::optional<double> active_rate(const NodeView&, const Port& port) {
  return rate_of(port);
}

std::optional<double> active_mtu(const NodeView&, const Port& port) {
  if (is_down(port) || !port.active_mtu) return std::nullopt;
  return *port.active_mtu;
}

std::optional<double> netdev_mtu(const NodeView& node, const Port& port) {
  if (is_down(port)) return std::nullopt;
  for (const std::string_view netdev : netdevs_of(port)) {
    const Interface* interface = node.interfaces.find(netdev);
    if (interface && interface->mtu) return *interface->mtu;
  }
  return std::nullopt;
}

constexpr const char* kInfiniBandMtu =
    "The subnet manager sets the MTU of an InfiniBand link to what both of its ends can do: compare MtuCap "
    "and "
    "NeighborMTU of the port and its switch port with a good one's (`smpquery portinfo LID PORT`), and the "
    "manager's settings; the netdev's MTU (IPoIB) is at most that of its partition less 4.";

// "": the code's.
std::string remedy_for(const Quantity& quantity, const Port& port) {
  const bool told = quantity.code == Code::MtuDiffers && link_layer_of(port) == LinkLayer::InfiniBand;
  return told ? kInfiniBandMtu : "";
}

// `told`: ports of which another quantity has told the same.
void compare(Report& report, const Quantity& quantity, std::set<const Port*>& told) {
  const auto value_of = [&](const FabricPort& at) {
    return told.contains(&at.port) ? std::nullopt : quantity.of(at.node, at.port);
  };
  std::map<std::string, Shares<double>> of_kind;
  for (std::size_t i = 0; i < report.pool.ports.size(); ++i) {
    const FabricPort& at = report.pool.ports[i];
    if (const auto value = value_of(at)) of_kind[at.rail.kind].add(i, *value);
  }
  const auto usual = [&](const Shares<double>& shares, const Rail& rail) {
    const auto own = shares.majority(kPoolMajority);
    return own ? own : of_kind[rail.kind].majority(kPoolMajority);
  };
  const auto tell = [&](const FabricPort& at, const Odd<double>& odd, const Shares<double>& shares) {
    if (quantity.only_low && odd.value > *odd.usual) return;
    const bool of_all = report.pool.small() || shares.majority(kPoolMajority);
    report.add(quantity.code, quantity.severity, at,
               text_of(odd.value, quantity.unit) +
                   (of_all ? "; most of its pool's have " : "; most ports of the pool's rails have ") +
                   text_of(*odd.usual, quantity.unit),
               remedy_for(quantity, at.port));
    told.insert(&at.port);
  };
  compare_ports(report.pool, false, value_of, usual, tell);
}

// `told`: ports that are known to be slow.
void check_fallen(Report& report, const std::set<const Port*>& told) {
  for (const FabricPort& at : report.pool.ports) {
    if (!has_slowed(at.port) || told.contains(&at.port)) continue;
    report.add(Code::RateLow, Severity::Warning, at,
               text_of(*at.port.rate_gbps, " Gb/s") + ", after " + text_of(*at.port.max_rate_gbps, " Gb/s") +
                   " earlier, since the node booted");
  }
}

}  // namespace

void check_speed(Report& report) {
  std::set<const Port*> slow, told;
  compare(report, {Code::RateLow, Severity::Warning, " Gb/s", true, active_rate}, slow);
  check_fallen(report, slow);
  // Queue pairs take the smaller MTU of the two sides, but traffic hangs if the fabric drops larger packets.
  compare(report, {Code::MtuDiffers, Severity::Error, " bytes of active MTU", false, active_mtu}, told);
  compare(report, {Code::MtuDiffers, Severity::Warning, " bytes of netdev MTU", false, netdev_mtu}, told);
}

}  // namespace nccl_env::doctor
