// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/packets/rails.h"

#include <algorithm>
#include <cerrno>

#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env::packets {
namespace {

const Port* find_port(const NodeFabric& table, const std::string& hca, int number) {
  const auto found = std::ranges::find_if(
      table.ports, [&](const Port& port) { return port.hca == hca && port.number == number; });
  return found == table.ports.end() ? nullptr : &*found;
}

const GidRow* find_row(const Port* port, std::optional<int> index) {
  if (!port || !port->gids || !index) return nullptr;
  const auto found = std::ranges::find(*port->gids, *index, &GidRow::index);
  return found == port->gids->end() ? nullptr : &*found;
}

// Where NCCL finds the partition; -1 for a port that does not have it.
int partition_of(const Port& port, const RailInputs& inputs) {
  const auto key = nccl_parameter(inputs.env, variable::kIbPkeyValue, 0);
  if (key <= 0 || inputs.version < nccl_since::kPartitionByValue)
    return static_cast<int>(nccl_parameter(inputs.env, variable::kIbPkey, 0));
  for (const PartitionKey& entry : port.pkeys.value_or(std::vector<PartitionKey>{})) {
    if ((entry.key & 0x7fff) == (key & 0x7fff)) return entry.index;
  }
  return -1;
}

class RailFinder {
 public:
  RailFinder(const RailInputs& inputs, Verbs& verbs) : inputs_(inputs), verbs_(verbs) {}

  OwnRails find() {
    NodeFabric all_up = inputs_.seen;
    for (Port& port : all_up.ports) port.state = PortState::Active;
    NcclSelection selection = nccl_select(all_up, inputs_.env, inputs_.version);
    const std::string_view list = nccl_getenv_or_empty(inputs_.env, variable::kIbHca);
    const bool named = !list.empty() && list.front() != '^';
    OwnRails found{{}, std::move(selection.notes)};
    for (const NcclSelection::ChosenPort& chosen : selection.ports) {
      const Port& port = *find_port(inputs_.seen, chosen.hca, chosen.port);
      OwnRail rail = describe(port, chosen.gid_index);
      const bool down = port.state && *port.state != PortState::Active;
      if (down && !named && !rail.told.network) continue;
      if (found.rails.size() == kMaxProofRails) break;
      try_alone(rail);
      found.rails.push_back(std::move(rail));
    }
    return found;
  }

 private:
  OwnRail describe(const Port& port, std::optional<int> index) const {
    OwnRail rail{.told = {.hca = port.hca, .port = port.number, .link_layer = link_layer_of(port)},
                 .settings = {.port = port.number}};
    const bool infiniband = rail.told.link_layer == LinkLayer::InfiniBand;
    if (infiniband) index = 0;
    if (const GidRow* row = find_row(&port, index)) rail.told.gid = row->gid;
    if (infiniband && rail.told.gid)
      rail.told.network = format_cidr(Cidr{rail.told.gid->address(), 64}.network());
    if (!infiniband) rail.told.gid_index = index;
    const Port* own = find_port(inputs_.own, port.hca, port.number);
    const GidRow* row = find_row(own, index);
    if (!infiniband && row && row->gid == rail.told.gid) {
      const auto network = InterfaceIndex(inputs_.own).network_of(*row);
      if (network) rail.told.network = format_cidr(*network);
    }
    rail.settings.gid_index = index.value_or(0);
    rail.settings.gid = rail.told.gid.value_or(Gid{});
    rail.settings.partition = partition_of(port, inputs_);
    rail.settings.traffic_class = static_cast<int>(nccl_parameter(inputs_.env, variable::kIbTc, 0));
    rail.settings.service_level = static_cast<int>(nccl_parameter(inputs_.env, variable::kIbSl, 0));
    return rail;
  }

  void try_alone(OwnRail& rail) {
    auto device = verbs_.open(rail.told.hca);
    if (const auto* fault = std::get_if<RailFault>(&device)) return refuse(rail, *fault);
    rail.device = std::get<std::shared_ptr<Device>>(std::move(device));
    const auto queried = rail.device->query_port(rail.told.port);
    if (const auto* fault = std::get_if<RailFault>(&queried)) return refuse(rail, *fault);
    const PortStatus& port = std::get<PortStatus>(queried);
    rail.told.mtu = port.mtu;
    rail.lid = port.lid;
    if (!port.active) return refuse(rail, {ProofStep::Port, std::nullopt});
    if (rail.settings.gid.is_zero()) return refuse(rail, {ProofStep::Row, ENODATA});
    if (rail.told.gid_index && rail.settings.gid.is_link_local())
      return refuse(rail, {ProofStep::Row, std::nullopt});
    const auto made = rail.device->make_queue_pair(rail.settings);
    if (const auto* fault = std::get_if<RailFault>(&made)) refuse(rail, *fault);
  }

  static void refuse(OwnRail& rail, const RailFault& fault) {
    rail.told.step = fault.step;
    rail.told.error = fault.error;
    rail.device.reset();
  }

  const RailInputs& inputs_;
  Verbs& verbs_;
};

}  // namespace

OwnRails find_rails(const RailInputs& inputs, Verbs& verbs) {
  return RailFinder(inputs, verbs).find();
}

}  // namespace nccl_env::packets
