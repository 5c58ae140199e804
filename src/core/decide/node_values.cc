// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/node_values.h"

#include <algorithm>
#include <set>

#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/choose/partition.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/engine_values.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/interface_index.h"
#include "nccl_env/core/fabric/port_facts.h"

namespace nccl_env {
namespace {

// How many names NCCL reads from NCCL_SOCKET_IFNAME (MAX_IFS).
constexpr int kMaxInterfaces = 16;

bool may_have_ipv4(const Port& port) {
  const auto is_v4 = [](const GidRow& row) { return row.address.value_or(row.gid.address()).is_v4(); };
  return link_layer_of(port) != LinkLayer::InfiniBand &&
         (!port.gids || std::any_of(port.gids->begin(), port.gids->end(), is_v4));
}

class ValueFinder {
 public:
  // `fabric_unknown`: as in SettledPolicy.
  ValueFinder(const NcclPolicy& policy, std::string_view fabric_unknown, std::string_view node,
              const NodeFabric* table, Exposure exposure, const NodeContext& context)
      : policy_(policy),
        fabric_unknown_(fabric_unknown),
        table_(table),
        exposure_(exposure),
        context_(context) {
    values_.node = node;
  }

  NodeValues find() {
    check_table();
    if (wants_ports()) find_ports();
    if (exposure_ != Exposure::SubInterface) find_socket_interface();
    return std::move(values_);
  }

 private:
  void omit(std::string_view name, Reason reason, const std::string& detail) {
    values_.leave_out(left_out(name, reason, detail));
  }

  void limit(std::optional<Timestamp> until) {
    if (until) values_.valid_until = std::min(values_.valid_until.value_or(*until), *until);
  }

  void check_table() {
    missing_ = missing_table(values_.node, table_, context_);
    if (table_) limit(table_limit(*table_, context_));
    if (missing_) table_ = nullptr;
  }

  [[nodiscard]] bool wants_hca() const { return policy_.hca.kind == HcaRule::Kind::FromNode; }
  [[nodiscard]] bool wants_gid() const {
    using Kind = GidIndexRule::Kind;
    return exposure_ != Exposure::SubInterface && policy_.gid_index.kind != Kind::Omit &&
           policy_.gid_index.kind != Kind::Literal;
  }
  // A partition table is the device's in every network namespace, so pods with sub-interfaces see it, too.
  [[nodiscard]] bool wants_partition() const {
    return policy_.partition_key && policy_.fabric.link_layer != LinkLayer::Ethernet &&
           !policy_.names_partition_by_value();
  }
  [[nodiscard]] bool wants_ports() const { return wants_hca() || wants_gid() || wants_partition(); }

  void omit_port_values(Reason reason, const std::string& detail) {
    if (wants_hca()) omit(variable::kIbHca, reason, detail);
    if (wants_gid()) omit(variable::kIbGidIndex, reason, detail);
    if (wants_partition()) omit(variable::kIbPkey, reason, detail);
  }

  void find_ports() {
    if (!table_) return omit_port_values(missing_->reason, missing_->detail);
    if (exposure_ == Exposure::SubInterface && table_->rdma_namespace_mode == RdmaNamespaceMode::Exclusive) {
      return omit_port_values(
          Reason::PodOwnsDevices,
          values_.node +
              ": RDMA devices are in exclusive namespace mode, so a pod sees only devices of its own.");
    }
    if (!fabric_unknown_.empty())
      return omit_port_values(Reason::ConditionUnknown, std::string(fabric_unknown_));
    PortChoice choice =
        wants_hca() ? choose_ports(*table_, policy_.fabric, exposure_, context_.now) : ports_of_nccl();
    limit(choice.valid_until);
    settle_for_few(choice, policy_);
    if (choice.reason) return omit_port_values(*choice.reason, choice.detail);
    if (!choice.few.empty()) {
      values_.notes.push_back(choice.detail);
      values_.short_list = left_out(variable::kIbHca, Reason::TooFewPorts, choice.detail);
    }
    if (wants_hca()) {
      values_.set.emplace(variable::kIbHca, format_hca_list(*table_, choice.ports));
      values_.plain_hcas = plain_hca_list(*table_, choice.ports);
      for (const Port* port : choice.ports) values_.ports.push_back({port->hca, port->number});
    }
    if (wants_gid()) find_gid(choice.ports);
    if (wants_partition()) find_partition(choice.ports);
  }

  // Where the policy does not take the HCA list from the node, the ports that NCCL itself would take count.
  [[nodiscard]] PortChoice ports_of_nccl() const {
    const NcclNameList list =
        parse_nccl_name_list(policy_.hca.literal, kNewestNccl, nccl_max_hcas(kNewestNccl));
    PortChoice choice;
    std::set<LinkLayer> layers;
    for (const Port& port : table_->ports) {
      if (port.unavailable || port.state.value_or(PortState::Active) != PortState::Active) continue;
      if (link_layer_of(port) == LinkLayer::Unspecified || !list.selects(port.hca, port.number)) continue;
      choice.ports.push_back(&port);
      if (const auto layer = link_layer_of(port)) layers.insert(*layer);
    }
    if (choice.ports.empty()) {
      choice.reason = Reason::NoFabricPort;
      choice.detail = table_->name + ": NCCL finds no active port of its own.";
    } else if (layers.size() > 1) {
      choice.reason = Reason::MixedLinkLayers;
      choice.detail = table_->name + ": NCCL would use InfiniBand and Ethernet ports together.";
    }
    return choice;
  }

  void find_gid(const std::vector<const Port*>& ports) {
    if (policy_.fabric.link_layer == LinkLayer::InfiniBand) {
      return omit(variable::kIbGidIndex, Reason::InfiniBand,
                  values_.node + ": the policy's fabric is InfiniBand, where NCCL needs no GID index.");
    }
    const GidChoice gid = choose_gid(*table_, ports, policy_, exposure_, context_.now);
    limit(gid.valid_until);
    if (!gid.note.empty()) values_.notes.push_back(values_.node + ": " + gid.note);
    if (gid.index && context_.policy_changed) {
      omit(variable::kIbGidIndex, Reason::PolicyChanged,
           "Policy " + policy_.name +
               " was changed after the pod was created, and an index is right beside "
               "its own list alone.");
    } else if (gid.index) {
      values_.set.emplace(variable::kIbGidIndex, std::to_string(*gid.index));
    } else if (gid.reason) {
      omit(variable::kIbGidIndex, *gid.reason, values_.node + ": " + gid.detail);
    }
    if (gid.ipv6 && !policy_.env.contains(variable::kIbAddrFamily)) {
      values_.set.emplace(variable::kIbAddrFamily, "AF_INET6");
      values_.only_ipv6 = std::none_of(table_->ports.begin(), table_->ports.end(), may_have_ipv4);
    }
    if (gid.range && !policy_.env.contains(variable::kIbAddrRange)) {
      values_.set.emplace(variable::kIbAddrRange, format_cidr(*gid.range));
    }
  }

  void find_partition(const std::vector<const Port*>& ports) {
    const PartitionChoice choice = choose_partition(*table_, ports, *policy_.partition_key);
    if (choice.index) {
      values_.set.emplace(variable::kIbPkey, std::to_string(*choice.index));
    } else {
      omit(variable::kIbPkey, *choice.reason, values_.node + ": " + choice.detail);
    }
  }

  void find_socket_interface() {
    using Kind = SocketInterfaceRule::Kind;
    const SocketInterfaceRule& rule = policy_.socket_interface;
    if (rule.kind == Kind::Literal) {
      if (is_absent(rule.literal)) {
        return omit(variable::kSocketIfname, Reason::InterfaceAbsent,
                    values_.node + ": no interface that is up matches " + rule.literal + ".");
      }
      values_.set.emplace(variable::kSocketIfname, rule.literal);
    } else if (rule.kind == Kind::FromNode) {
      if (!table_) return omit(variable::kSocketIfname, missing_->reason, missing_->detail);
      if (!table_->node_interface) {
        return omit(variable::kSocketIfname, Reason::NodeInterfaceUnknown,
                    values_.node + ": its table does not know the node's own interface.");
      }
      values_.set.emplace(variable::kSocketIfname, "=" + *table_->node_interface);
    }
  }

  // Where the table knows the interfaces, one that is up must match.
  [[nodiscard]] bool is_absent(const std::string& literal) const {
    if (!table_ || !table_->interfaces) return false;
    const NcclNameList list = parse_nccl_name_list(literal, kNewestNccl, kMaxInterfaces);
    return std::none_of(table_->interfaces->begin(), table_->interfaces->end(),
                        [&](const Interface& interface) {
                          return interface.up != false && list.selects(interface.name, -1);
                        });
  }

  const NcclPolicy& policy_;
  const std::string_view fabric_unknown_;
  const NodeFabric* table_;
  const Exposure exposure_;
  const NodeContext& context_;
  NodeValues values_;
  std::optional<MissingTable> missing_;
};

}  // namespace

NodeValues node_values(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context) {
  if (!policy.variants.empty())
    return node_values(settle_policy(policy, node, table, context), node, table, exposure, context);
  NodeValues values = ValueFinder(policy, {}, node, table, exposure, context).find();
  find_engine_values(policy, exposure == Exposure::Host, values);
  return values;
}

NodeValues node_values(const SettledPolicy& settled, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context) {
  const NodeValues& constants = settled.constants;
  NodeValues values =
      ValueFinder(settled.policy, settled.fabric_unknown, node, table, exposure, context).find();
  values.why = constants.why;
  if (!settled.fabric_why.empty() && values.set.contains(variable::kIbHca))
    values.why.emplace(variable::kIbHca, settled.fabric_why);
  if (!settled.interface_why.empty() && values.set.contains(variable::kSocketIfname))
    values.why.emplace(variable::kSocketIfname, settled.interface_why);
  // A variable that the policy names is decided by the policy alone.
  for (const auto& [name, value] : constants.set) {
    if (name != variable::kSocketIfname) values.set.insert_or_assign(name, value);
  }
  for (const Value& omission : constants.omitted) {
    if (omission.name == variable::kSocketIfname) continue;
    values.set.erase(omission.name);
    values.omitted.push_back(omission);
  }
  if (settled.no_interface && exposure != Exposure::SubInterface)
    values.omitted.push_back(*settled.no_interface);
  if (!values.deny) values.deny = constants.deny;
  if (constants.valid_until)
    values.valid_until =
        std::min(values.valid_until.value_or(*constants.valid_until), *constants.valid_until);
  find_engine_values(settled.policy, exposure == Exposure::Host, values);
  return values;
}

bool serves_all(const NodeFabric& table, const std::vector<EnginePort>& ports,
                std::optional<std::int64_t> index) {
  const InterfaceIndex interfaces(table);
  return std::ranges::all_of(ports, [&](const EnginePort& listed) {
    return std::ranges::any_of(table.ports, [&](const Port& port) {
      const auto serves = [&](const GidRow& row) {
        return row.index == index && judge_row(interfaces, port, row, {}).usable;
      };
      return port.hca == listed.hca && port.number == listed.number && port.gids &&
             std::ranges::any_of(*port.gids, serves);
    });
  });
}

}  // namespace nccl_env
