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

int parameter(const RailInputs& inputs, std::string_view name) {
  return static_cast<int>(nccl_parameter(inputs.env, name, 0));
}

// Where NCCL finds the partition; -1 for a port that does not have it.
int partition_of(const Port& port, const RailInputs& inputs) {
  const int key = parameter(inputs, variable::kIbPkeyValue);
  if (key <= 0 || inputs.version < nccl_since::kPartitionByValue) return parameter(inputs, variable::kIbPkey);
  for (const PartitionKey& entry : port.pkeys.value_or(std::vector<PartitionKey>{})) {
    if ((entry.key & 0x7fff) == (key & 0x7fff)) return entry.index;
  }
  return -1;
}

OwnRail describe(const RailInputs& inputs, const Port& port, std::optional<int> index) {
  OwnRail rail{{.hca = port.hca, .port = port.number, .link_layer = link_layer_of(port)},
               partition_of(port, inputs),
               parameter(inputs, variable::kIbTc),
               parameter(inputs, variable::kIbSl)};
  ProofRail& told = rail.told;
  const bool infiniband = told.link_layer == LinkLayer::InfiniBand;
  if (!infiniband) told.gid_index = index;
  if (const GidRow* row = find_row(&port, infiniband ? 0 : index)) told.gid = row->gid;
  const GidRow* own = find_row(find_port(inputs.own, port.hca, port.number), index);
  std::optional<Cidr> network;
  if (infiniband && told.gid) network = Cidr{told.gid->address(), 64}.network();
  if (!infiniband && own && own->gid == told.gid) network = InterfaceIndex(inputs.own).network_of(*own);
  if (network) told.network = format_cidr(*network);
  return rail;
}

// The earliest of steps that fail is told.
void try_alone(OwnRail& rail, const MakeQueuePair& make) {
  ProofRail& told = rail.told;
  const MadeQueuePair made = make(rail);
  if (const auto* fault = std::get_if<RailFault>(&made)) {
    told.step = fault->step;
    told.error = fault->error;
  } else {
    LinkWord described;
    std::get<std::unique_ptr<QueuePair>>(made)->describe(described);
    told.mtu = described.mtu;
  }
  const Gid gid = told.gid.value_or(Gid());
  const bool unusable = gid.is_zero() || (told.gid_index && gid.is_link_local());
  if (!unusable || (told.step && *told.step < ProofStep::Row)) return;
  told.step = ProofStep::Row;
  told.error = gid.is_zero() ? std::optional(ENODATA) : std::nullopt;
}

}  // namespace

OwnRails find_rails(const RailInputs& inputs, const MakeQueuePair& make) {
  NodeFabric all_up = inputs.seen;
  for (Port& port : all_up.ports) port.state = PortState::Active;
  NcclSelection selection = nccl_select(all_up, inputs.env, inputs.version);
  const std::string_view list = nccl_getenv_or_empty(inputs.env, variable::kIbHca);
  const bool named = !list.empty() && list.front() != '^';
  OwnRails found{{}, std::move(selection.notes)};
  for (const NcclSelection::ChosenPort& chosen : selection.ports) {
    const Port& port = *find_port(inputs.seen, chosen.hca, chosen.port);
    OwnRail rail = describe(inputs, port, chosen.gid_index);
    const bool down = port.state && *port.state != PortState::Active;
    if (down && !named && !rail.told.network) continue;
    if (found.rails.size() == kMaxProofRails) break;
    try_alone(rail, make);
    found.rails.push_back(std::move(rail));
  }
  return found;
}

}  // namespace nccl_env::packets
