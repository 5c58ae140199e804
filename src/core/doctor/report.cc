// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/fabric/port_facts.h"
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
      {"finding", {"$code", "severity", "$kind", "$name", "$parts", "$sentence", "$remedy"}},
      {"pool", {"$name", "$shape", "nodes", "byName", "rails"}},
      {"rail", {"$name", "fabric"}},
      {"node",
       {"$name", "$pool", "severity", "findings", "$hcaList", "$reason", "gidIndex", "rates", "age", "stale",
        "$time", "$interface", "$namespaceMode", "$agent", "rails", "ports", "interfaces"}},
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
  const bool serves = node.index && std::ranges::count(rows.usable, *node.index) > 0;
  return {"index", serves ? *node.index : rows.usable.front()};
}

OrderedJson null_or_number(std::optional<Severity> severity) {
  return severity ? OrderedJson(static_cast<int>(*severity)) : OrderedJson();
}

std::optional<Severity> worse(std::optional<Severity> left, Severity right) {
  return left ? std::min(*left, right) : right;
}

// An info does not make a node odd.
int rank_of(std::optional<Severity> severity) {
  return static_cast<int>(severity.value_or(Severity::Info));
}

class Writer {
 public:
  Writer(const DoctorInput& input, const Diagnosis& diagnosis) : input_(input), diagnosis_(diagnosis) {
    for (const auto& table : input.tables) tables_[table->name] = table.get();
    for (const Pool& pool : diagnosis.pools) pools_[pool.name] = &pool;
  }

  OrderedJson findings() {
    OrderedJson all = OrderedJson::array();
    for (const Finding& finding : diagnosis_.findings) {
      const Subject& subject = finding.subject;
      all.push_back(list_(to_string(finding.code), static_cast<int>(finding.severity), subject.kind,
                          subject.name, doctor::some_of(subject.parts), finding.sentence,
                          remedy_of(finding)));
    }
    return all;
  }

  OrderedJson pools() {
    OrderedJson all = OrderedJson::array();
    for (const Pool& pool : diagnosis_.pools) {
      OrderedJson rails = OrderedJson::array();
      for (const PoolRail& rail : pool.rails) rails.push_back(list_(rail.name, rail.fabric));
      all.push_back(list_(pool.name, pool.shape, pool.nodes.size(), pool.by_name, rails));
    }
    return all;
  }

  // Those with an error, with a warning, then others; by name. Counts the rails' ports.
  OrderedJson nodes() {
    std::vector<std::pair<int, OrderedJson>> by_rank;
    const auto findings = findings_by_node(diagnosis_);
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const NodeState& state = diagnosis_.nodes[i];
      const auto table = tables_.find(state.node);
      if (table == tables_.end()) continue;  // the findings name it
      count_rails(state, *table->second);
      std::optional<Severity> worst;
      for (const std::size_t at : findings[i]) worst = worse(worst, diagnosis_.findings[at].severity);
      by_rank.emplace_back(rank_of(worst), node_list(state, *table->second, worst, findings[i]));
    }
    std::ranges::stable_sort(by_rank, {}, [](const auto& node) { return node.first; });
    OrderedJson all = OrderedJson::array();
    for (auto& [rank, node] : by_rank) all.push_back(std::move(node));
    return all;
  }

  [[nodiscard]] OrderedJson strings() const { return list_.texts(); }

  std::size_t rail_ports = 0;          // ports that the pools' fabrics should have
  std::size_t failed_rail_ports = 0;   // of these, missing or known not to be Active
  std::size_t unknown_rail_ports = 0;  // of these, present but of unknown state

 private:
  void count_rails(const NodeState& state, const NodeFabric& table) {
    const auto pool = pools_.find(state.pool);
    for (std::size_t rail = 0; rail < state.rail_ports.size(); ++rail) {
      if (!pool->second->rails[rail].fabric) continue;
      const int place = state.rail_ports[rail];
      const Port* port = place < 0 ? nullptr : &table.ports[static_cast<std::size_t>(place)];
      const bool failed = !port || doctor::is_down(*port);
      ++rail_ports;
      failed_rail_ports += failed ? 1 : 0;
      unknown_rail_ports += !failed && !port->state ? 1 : 0;
    }
  }

  OrderedJson node_list(const NodeState& state, const NodeFabric& table, std::optional<Severity> severity,
                        const std::vector<std::size_t>& findings) {
    const doctor::NodeView node = doctor::view_node(table, input_);
    std::map<std::string_view, Severity> of_ports;
    for (const std::size_t i : findings) {
      const Finding& finding = diagnosis_.findings[i];
      for (const std::string& port : finding.subject.parts) {
        Severity& known = of_ports.try_emplace(port, finding.severity).first->second;
        known = std::min(known, finding.severity);
      }
    }
    OrderedJson ports = OrderedJson::array();
    for (std::size_t i = 0; i < table.ports.size(); ++i) {
      const std::string name = doctor::port_name(table, table.ports[i]);
      const auto found = of_ports.find(name);
      ports.push_back(
          port_list(node, i, name, found == of_ports.end() ? std::nullopt : std::optional(found->second)));
    }
    OrderedJson interfaces;
    if (table.interfaces) {
      interfaces = OrderedJson::array();
      for (const Interface& interface : *table.interfaces) interfaces.push_back(interface_list(interface));
    }
    const auto age = state.age ? OrderedJson(state.age->count()) : OrderedJson();
    return list_(state.node, state.pool, null_or_number(severity), findings, state.hca_list, state.reason,
                 state.gid_index, state.rates, age, state.stale, table.time, table.node_interface,
                 table.rdma_namespace_mode, table.agent_version, state.rail_ports, ports, interfaces);
  }

  OrderedJson port_list(const doctor::NodeView& node, std::size_t place, const std::string& name,
                        std::optional<Severity> severity) {
    const Port& port = node.table->ports[place];
    const doctor::PortJudgement& judged = node.judged[place];
    OrderedJson rows;
    if (port.gids) {
      rows = OrderedJson::array();
      const std::vector<Cidr>& subnets = fabric_subnets(*judged.policy, *node.table);
      for (const GidRow& row : *port.gids)
        rows.push_back(row_list(row, judge_row(node.interfaces, port, row, subnets)));
    }
    const PortGid gid = gid_of(node, port);
    return list_(name, port.state, port.rate_gbps, gid.index, gid.word, null_or_number(severity),
                 judged.fabric, judged.why, port.state_since, link_layer_of(port), port.transport,
                 port.active_mtu, port.driver, port.board_id, port.pci_address, port.pf_pci_address, port.lag,
                 join(netdevs_of(port), " "), port.numa_node, port.sys_image_guid, port.gid_table_length,
                 join(other_facts(port), ", "), rows);
  }

  OrderedJson row_list(const GidRow& row, const RowVerdict& verdict) {
    const OrderedJson usable = verdict.known ? OrderedJson(verdict.usable) : OrderedJson();
    return list_(row.index, format_gid(row.gid), row.address, row.type, row.netdev, usable, verdict.why);
  }

  OrderedJson interface_list(const Interface& interface) {
    std::optional<std::string> addresses;
    if (interface.addresses) {
      addresses = join(*interface.addresses, ", ", [](const InterfaceAddress& each) {
        return format_cidr({each.address, each.prefix});
      });
    }
    return list_(interface.name, interface.up, interface.mtu, interface.master, addresses);
  }

  const DoctorInput& input_;
  const Diagnosis& diagnosis_;
  std::map<std::string_view, const NodeFabric*> tables_;
  std::map<std::string_view, const Pool*> pools_;
  Lists list_;
};

OrderedJson code_meanings(const Diagnosis& diagnosis) {
  OrderedJson all = OrderedJson::object();
  for (const Finding& finding : diagnosis.findings) {
    const Named& words = words_of(finding.code);
    all[std::string(words.name)] = words.meaning;
  }
  return all;
}

OrderedJson reason_words(const Diagnosis& diagnosis) {
  OrderedJson words = OrderedJson::object();
  for (const NodeState& node : diagnosis.nodes) {
    if (const auto reason = parse_reason(node.reason))
      words[node.reason] = {meaning(*reason), remedy(*reason)};
  }
  return words;
}

}  // namespace

std::string to_page_json(const DoctorInput& input, const Diagnosis& diagnosis, std::string_view title,
                         std::string_view version) {
  Writer writer(input, diagnosis);
  OrderedJson policies = OrderedJson::array();  // none: inference
  for (const auto& policy : input.policies) policies.push_back(policy->name);
  const OrderedJson findings = writer.findings(), pools = writer.pools(), nodes = writer.nodes();
  const OrderedJson json{{"version", version},
                         {"title", title},
                         {"time", format_timestamp(input.now)},
                         {"maxTableAge", input.max_table_age.count()},
                         {"policies", policies},
                         {"railPorts", writer.rail_ports},
                         {"failedRailPorts", writer.failed_rail_ports},
                         {"unknownRailPorts", writer.unknown_rail_ports},
                         {"codes", code_meanings(diagnosis)},
                         {"reasons", reason_words(diagnosis)},
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
