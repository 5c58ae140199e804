// SPDX-License-Identifier: Apache-2.0
// Checks that compare a port's rate and MTU with those of its rail.
#include <algorithm>
#include <set>
#include <sstream>

#include "doctor/checks.h"
#include "nccl_env/core/choose/ports.h"

namespace nccl_env::doctor {
namespace {

struct Sample {
  const NodeView* node;
  const Port* port;
  double value;
};

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

std::optional<double> usual(const std::vector<Sample>& samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.value);
  return majority(values);
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
  std::map<const Rail*, std::vector<Sample>> by_rail;
  std::map<std::string, std::vector<Sample>> by_kind;
  each_fabric_port(report.pool, [&](const NodeView& node, const Rail& rail, const Port& port) {
    const auto value = quantity.of(node, port);
    if (!value || told.contains(&port)) return;
    by_rail[&rail].push_back({&node, &port, *value});
    by_kind[rail.kind].push_back({&node, &port, *value});
  });
  for (const auto& [kind, all] : by_kind) {
    const auto kinds_value = usual(all);
    for (const Rail& rail : report.pool.rails) {
      if (rail.kind != kind || !by_rail.contains(&rail)) continue;
      const auto& samples = by_rail[&rail];
      const auto rails_own = usual(samples);
      const auto rails_value = rails_own ? rails_own : kinds_value;
      if (!rails_value) continue;
      for (const Sample& sample : samples) {
        if (sample.value == *rails_value || (quantity.only_low && sample.value > *rails_value)) continue;
        report.add(quantity.code, quantity.severity, sample.node,
                   {port_name(*sample.node->table, *sample.port)},
                   text_of(sample.value, quantity.unit) +
                       (report.pool.small() || rails_own ? "; most of its pool's have "
                                                         : "; most ports of the pool's rails have ") +
                       text_of(*rails_value, quantity.unit),
                   remedy_for(quantity, *sample.port));
        told.insert(sample.port);
      }
    }
  }
}

// `told`: ports that are known to be slow.
void check_fallen(Report& report, const std::set<const Port*>& told) {
  each_fabric_port(report.pool, [&](const NodeView& node, const Rail&, const Port& port) {
    if (!has_slowed(port) || told.contains(&port)) return;
    report.add(Code::RateLow, Severity::Warning, node, port,
               text_of(*port.rate_gbps, " Gb/s") + ", after " + text_of(*port.max_rate_gbps, " Gb/s") +
                   " earlier, since the node booted");
  });
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
