// SPDX-License-Identifier: Apache-2.0
// Nodes of one shape, with their ports matched to each other: what the doctor's checks compare.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/fabric/interface_index.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/judge/cohort/cohort.h"
#include "nccl_env/judge/doctor/input.h"

namespace nccl_env::doctor {

// From this many on, the majority is the rule; a smaller pool is measured by its nodes' own ports alone.
inline constexpr std::size_t kPoolMajority = 3;

using Shape = std::map<std::string, std::size_t>;  // kind of port -> how many

// How the policies judge a port: the first that takes it, else the first of all.
struct PortJudgement {
  const NcclPolicy* policy = nullptr;
  bool fabric = false;
  std::string why;  // one clause: why no policy takes it
};

struct NodeView {
  explicit NodeView(const NodeFabric& of) : table(&of), interfaces(of) {}

  const NodeFabric* table;
  InterfaceIndex interfaces;
  std::vector<const Port*> parts;     // hardware ports: neither soft devices nor VFs of a PF in the table
  std::vector<const Port*> fabric;    // whatever its state
  std::vector<const Port*> offered;   // of these, what hostNetwork pods get, else pods with sub-interfaces
  std::vector<const Port*> on_host;   // what hostNetwork pods get
  std::optional<Reason> reason;       // why none is offered
  std::optional<Reason> host_reason;  // why on_host is empty, where others get some
  std::string detail;
  const NcclPolicy* policy = nullptr;  // the first that chose ports, else the first; never null
  GidChoice given;                     // the GID index that the node's pods get; without policies: by Auto
  std::vector<const Port*> served;     // of the fabric, with a usable row
  std::optional<int> served_index;     // one that serves all of them
  bool uniform = true;                 // false: there is none
  bool few = false;                    // fewer serve than a policy expects
  Shape shape;
  std::vector<PortJudgement> judged;  // as the table's ports
};

// What the rows of a port are good for.
struct Rows {
  std::vector<int> usable;      // indexes
  std::optional<int> first;     // the lowest of these; of IPv4, where there is one
  bool known = false;           // false: nothing may be concluded from their absence
  bool only_v1 = true;          // all that are filled
  bool v4 = false, v6 = false;  // of the usable ones
  bool v1_address = false;      // a row of RoCE v1 has an address
  std::string why;              // where none is usable: why the last row is not
};

// Ports of the pool's nodes that belong together, one of each node.
struct Rail {
  std::string name;                // the model node's: "mlx5_1", "mlx4_0:2"
  std::string kind;                // what most nodes have there
  bool fabric = false;             // on most nodes that have it, and not spare there
  std::vector<const Port*> ports;  // per node of the pool; null where it has none
  Members members;                 // of a rail of the fabric: places in the pool's `ports`
};

// Counts what `of` returns for its ports, by their nodes.
template <class Of>
Shares<std::string> rail_shares(const Rail& rail, const Of& of) {
  Shares<std::string> shares;
  for (std::size_t i = 0; i < rail.ports.size(); ++i) {
    if (rail.ports[i]) shares.add(i, of(*rail.ports[i]));
  }
  return shares;
}

// An existing port of the fabric.
struct FabricPort {
  const NodeView& node;
  const Rail& rail;
  const Port& port;
  Rows rows;
};

// A port under a name that its pool does not have.
struct Stray {
  const NodeView* node;
  const Rail* rail;  // where it stands; null: it is no rail
  const Port* port;
};

struct PoolView {
  std::string name;
  std::vector<const NodeView*> nodes;
  std::vector<Rail> rails;
  bool by_name = true;  // false: no two nodes share names, rails are matched by position
  std::vector<Stray> strays;
  std::vector<FabricPort> ports;  // rail by rail
  [[nodiscard]] bool small() const { return nodes.size() < kPoolMajority; }
  [[nodiscard]] std::size_t expected() const;  // fabric rails
};

std::string port_name(const NodeView& node, const Port& port);  // "mlx5_1", "mlx4_0:2"
// "Ethernet mlx5_core MT_0000000223": what is known of the three, else the family of the name.
std::string kind_of(const Port& port);
std::string shape_text(const Shape& shape);
bool is_down(const Port& port);  // known not to be Active
bool has(const std::vector<const Port*>& ports, const Port* port);

Rows rows_of(const NodeView& node, const Port& port);
NodeView view_node(const NodeFabric& table, const DoctorInput& input);
// Every node with hardware ports is in one pool; largest pool first.
std::vector<PoolView> make_pools(const std::vector<NodeView>& nodes, Timestamp now);

}  // namespace nccl_env::doctor
