// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/doctor/report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string_view text_of(std::string_view text) {
  return text;
}
std::string text_of(Timestamp time) {
  return format_timestamp(time);
}
std::string text_of(const IpAddress& address) {
  return format_ip(address);
}
template <class Enum>
requires std::is_enum_v<Enum> std::string_view text_of(Enum value) {
  return to_string(value);
}

// Makes lists of values, in which a number stands for each text.
class Lists {
 public:
  template <class... Values>
  OrderedJson operator()(const Values&... values) {
    return OrderedJson::array({cell(values)...});
  }
  [[nodiscard]] OrderedJson texts() const { return all_; }

 private:
  template <class T>
  OrderedJson cell(const T& value) {
    if constexpr (std::is_same_v<T, OrderedJson>) {
      return value;
    } else if constexpr (std::is_same_v<T, Severity>) {
      return static_cast<int>(value);
    } else if constexpr (requires { value.has_value(); }) {
      return value ? cell(*value) : OrderedJson();
    } else if constexpr (requires { text_of(value); }) {
      const auto [found, added] = places_.try_emplace(std::string(text_of(value)), all_.size());
      if (added) all_.push_back(found->first);
      return found->second;
    } else {
      return value;
    }
  }

  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> all_;
};

// The lists below are in this order.
OrderedJson fields() {
  return {
      {"finding", {"$code", "severity", "$kind", "$name", "$parts", "$sentence", "$remedy", "$meaning"}},
      {"pool", {"$name", "$shape", "nodes", "byName", "rails"}},
      {"rail", {"$name", "fabric"}},
      {"node",
       {"$name", "$pool", "severity", "findings", "$hcaList", "$reason", "$reasonWords", "gidIndex",
        "gidSearched", "rates", "age", "stale", "$time", "$interface", "$namespaceMode", "$agent", "rails",
        "ports", "interfaces"}},
      {"port", {"$name",  "$state",   "rate",       "gidIndex", "$gid",        "severity", "fabric", "$why",
                "$since", "$link",    "$transport", "mtu",      "$driver",     "$board",   "$pci",   "$pf",
                "$lag",   "$netdevs", "numa",       "$guid",    "tableLength", "$more",    "rows"}},
      {"row", {"index", "$gid", "$address", "$type", "$netdev", "usable", "$why"}},
      {"interface", {"$name", "up", "mtu", "$master", "$addresses"}}};
}

// The port's GID index: the node's, where it is usable here, else the port's lowest; and what there is to say
// of it.
struct PortGid {
  std::string_view word;
  std::optional<int> index;
};

PortGid gid_of(const doctor::NodeView& node, const Port& port) {
  const doctor::Rows rows = doctor::rows_of(node, port);
  if (doctor::is_down(port)) return {"portDown", {}};
  if (!is_roce(port)) return {link_layer_of(port) ? "notRoCE" : "rowsUnknown", {}};
  if (rows.usable.empty()) return {rows.known ? "noUsableRow" : "rowsUnknown", {}};
  const bool serves = node.served_index && std::ranges::count(rows.usable, *node.served_index) > 0;
  return {"index", serves ? *node.served_index : rows.usable.front()};
}

class Writer {
 public:
  Writer(const DoctorInput& input, const Diagnosis& diagnosis) : input_(input), diagnosis_(diagnosis) {}

  OrderedJson findings() {
    return array_of(diagnosis_.findings, [&](const Finding& finding) {
      const auto& [code, severity, subject, sentence, remedy, clause, slight] = finding;
      return list_(code, severity, subject.kind, subject.name, doctor::some_of(subject.parts), sentence,
                   remedy_of(finding), words_of(code).meaning);
    });
  }

  OrderedJson pools() {
    return array_of(diagnosis_.pools, [&](const Pool& pool) {
      const auto rail_list = [&](const PoolRail& rail) { return list_(rail.name, rail.fabric); };
      return list_(pool.name, pool.shape, pool.nodes.size(), pool.by_name, array_of(pool.rails, rail_list));
    });
  }

  // Those with an error, with a warning, then others, as an info does not make a node odd; by name.
  OrderedJson nodes() {
    std::map<std::string_view, const NodeFabric*> tables;
    for (const auto& table : input_.tables) tables[table->name] = table.get();
    FindingsByNode findings = findings_by_node(diagnosis_);
    OrderedJson all = OrderedJson::array();
    for (const Severity rank : {Severity::Error, Severity::Warning, Severity::Info}) {
      for (const NodeState& state : diagnosis_.nodes) {
        const auto table = tables.find(state.node);
        if (table == tables.end()) continue;  // the findings name it
        const Found& found = findings[state.node];
        if (severity_of(found).value_or(Severity::Info) == rank)
          all.push_back(node_list(state, *table->second, found));
      }
    }
    return all;
  }

  [[nodiscard]] OrderedJson strings() const { return list_.texts(); }

 private:
  using Found = std::vector<const Finding*>;  // the most urgent come first

  // Returns the severity of the first, or of the first that is about the port.
  [[nodiscard]] static std::optional<Severity> severity_of(const Found& findings,
                                                           std::string_view port = {}) {
    for (const Finding* finding : findings) {
      if (port.empty() || std::ranges::count(finding->subject.parts, port) > 0) return finding->severity;
    }
    return std::nullopt;
  }

  OrderedJson node_list(const NodeState& state, const NodeFabric& table, const Found& findings) {
    const doctor::NodeView node = doctor::view_node(table, input_);
    const OrderedJson ports =
        array_of(table.ports, [&](const Port& port) { return port_list(node, port, findings); });
    const OrderedJson places =
        array_of(findings, [&](const Finding* each) { return each - diagnosis_.findings.data(); });
    OrderedJson interfaces;
    if (table.interfaces)
      interfaces = array_of(*table.interfaces, [&](const Interface& each) { return interface_list(each); });
    const auto age = state.age ? OrderedJson(state.age->count()) : OrderedJson();
    const auto reason = parse_reason(state.reason);
    const std::string reason_words =
        reason ? std::string(meaning(*reason)).append(" ").append(remedy(*reason)) : "";
    return list_(state.node, state.pool, severity_of(findings), places, state.hca_list, state.reason,
                 reason_words, state.gid_index, state.gid_searched, state.rates, age, state.stale, table.time,
                 table.node_interface, table.rdma_namespace_mode, table.agent_version, state.rail_ports,
                 ports, interfaces);
  }

  OrderedJson port_list(const doctor::NodeView& node, const Port& port, const Found& findings) {
    const doctor::PortJudgement& judged =
        node.judged[static_cast<std::size_t>(&port - node.table->ports.data())];
    const std::string name = doctor::port_name(node, port);
    OrderedJson rows;
    if (port.gids) {
      const std::vector<Cidr>& subnets = fabric_subnets(*judged.policy, *node.table);
      rows = array_of(*port.gids, [&](const GidRow& row) {
        const RowVerdict verdict = judge_row(node.interfaces, port, row, subnets);
        return list_(row.index, format_gid(row.gid), row.address, row.type, row.netdev,
                     verdict.known ? std::optional(verdict.usable) : std::nullopt, verdict.why);
      });
    }
    const auto [gid, index] = gid_of(node, port);
    return list_(name, port.state, port.rate_gbps, index, gid, severity_of(findings, name), judged.fabric,
                 judged.why, port.state_since, link_layer_of(port), port.transport, port.active_mtu,
                 port.driver, port.board_id, port.pci_address, port.pf_pci_address, port.lag,
                 join(netdevs_of(port), " "), port.numa_node, port.sys_image_guid, port.gid_table_length,
                 join(other_facts(port), ", "), rows);
  }

  OrderedJson interface_list(const Interface& interface) {
    const auto text = [](const InterfaceAddress& each) { return format_cidr({each.address, each.prefix}); };
    std::optional<std::string> addresses;
    if (interface.addresses) addresses = join(*interface.addresses, ", ", text);
    return list_(interface.name, interface.up, interface.mtu, interface.master, addresses);
  }

  const DoctorInput& input_;
  const Diagnosis& diagnosis_;
  Lists list_;
};

}  // namespace

std::string to_page_json(const DoctorInput& input, const Diagnosis& diagnosis, std::string_view title,
                         std::string_view version) {
  Writer writer(input, diagnosis);
  const OrderedJson policies =
      array_of(input.policies, [](const auto& policy) { return policy->name; });  // none: inference
  const OrderedJson findings = writer.findings(), pools = writer.pools(), nodes = writer.nodes();
  const OrderedJson json{{"version", version},
                         {"title", title},
                         {"time", format_timestamp(input.now)},
                         {"maxTableAge", input.max_table_age.count()},
                         {"policies", policies},
                         {"fields", fields()},
                         {"findings", findings},
                         {"pools", pools},
                         {"nodes", nodes},
                         {"strings", writer.strings()}};
  const std::string plain = json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  std::string text;
  text.reserve(plain.size());
  // Only strings can hold a '<'.
  for (const char c : plain) c == '<' ? text.append("\\u003c") : text.append(1, c);
  return text;
}

}  // namespace nccl_env
