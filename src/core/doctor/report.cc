// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "doctor/checks.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

std::optional<Severity> worse(std::optional<Severity> left, Severity right) {
  return left ? std::min(*left, right) : right;
}

// Where the list is refused, no port counts as fabric.
void refuse_all(PortChoice& choice) {
  for (PortVerdict& verdict : choice.verdicts) {
    if (verdict.fabric) verdict.why = std::string(to_string(*choice.reason)) + ": " + choice.detail;
    verdict.fabric = false;
  }
}

struct Verdict {
  PortVerdict of;
  const NcclPolicy* policy = nullptr;  // that takes the port; else the first
};

// As the doctor chooses: what hostNetwork pods get, else what pods with sub-interfaces do.
std::vector<Verdict> judge_ports(const NodeFabric& table, const DoctorInput& input) {
  std::vector<Verdict> verdicts(table.ports.size());
  for (const NcclPolicy* policy : doctor::policies_of(input)) {
    PortChoice choice = choose_policy_ports(table, *policy, Exposure::Host, input.now);
    if (choice.reason) choice = choose_policy_ports(table, *policy, Exposure::SubInterface, input.now);
    if (choice.reason) refuse_all(choice);
    for (std::size_t i = 0; i < choice.verdicts.size(); ++i) {
      if (!verdicts[i].policy || (choice.verdicts[i].fabric && !verdicts[i].of.fabric))
        verdicts[i] = {std::move(choice.verdicts[i]), policy};
    }
  }
  return verdicts;
}

void judge_gid(const NodeState& state, PortReport& report) {
  const Port& port = *report.port;
  if (doctor::is_down(port)) {
    report.gid = PortGid::PortDown;
  } else if (!is_roce(port)) {
    report.gid = link_layer_of(port) ? PortGid::NotRoCE : PortGid::RowsUnknown;
  } else if (port.gids) {
    report.gid = PortGid::NoUsableRow;
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
      if (!report.rows[i].known) report.gid = PortGid::RowsUnknown;
      const int index = (*port.gids)[i].index;
      if (report.rows[i].usable && (!report.gid_index || index == state.gid_index)) report.gid_index = index;
    }
    if (report.gid_index) report.gid = PortGid::Index;
  }
}

void report_ports(const DoctorInput& input, NodeReport& node) {
  std::vector<Verdict> verdicts = judge_ports(*node.table, input);
  const InterfaceIndex interfaces(*node.table);
  for (std::size_t i = 0; i < node.table->ports.size(); ++i) {
    PortReport& report = node.ports.emplace_back();
    report.port = &node.table->ports[i];
    report.name = doctor::port_name(*node.table, *report.port);
    report.fabric = verdicts[i].of.fabric;
    if (!report.fabric) report.why = std::move(verdicts[i].of.why);
    if (report.port->gids) {
      const std::vector<Cidr>& subnets = fabric_subnets(*verdicts[i].policy, *node.table);
      for (const GidRow& row : *report.port->gids)
        report.rows.push_back(judge_row(interfaces, *report.port, row, subnets));
    }
    judge_gid(*node.state, report);
  }
}

void add_node_findings(const Diagnosis& diagnosis, NodeReport& node) {
  for (const std::size_t i : node.findings) {
    const Finding& finding = diagnosis.findings[i];
    node.severity = worse(node.severity, finding.severity);
    for (PortReport& port : node.ports) {
      const std::vector<std::string>& named = finding.subject.parts;
      if (std::ranges::find(named, port.name) != named.end())
        port.severity = worse(port.severity, finding.severity);
    }
  }
}

void count_rail_ports(const Diagnosis& diagnosis, FabricReport& report) {
  std::map<std::string_view, const Pool*> pools;
  for (const Pool& pool : diagnosis.pools) pools[pool.name] = &pool;
  for (const NodeReport& node : report.nodes) {
    const auto pool = pools.find(node.state->pool);
    if (pool == pools.end()) continue;
    for (std::size_t rail = 0; rail < pool->second->rails.size(); ++rail) {
      if (!pool->second->rails[rail].fabric) continue;
      ++report.rail_ports;
      const int port = node.state->rail_ports[rail];
      const Port* there = port < 0 ? nullptr : &node.table->ports[static_cast<std::size_t>(port)];
      if (!there || doctor::is_down(*there)) {
        ++report.failed_rail_ports;
      } else if (!there->state) {
        ++report.unknown_rail_ports;
      }
    }
  }
}

int rank_of(const NodeReport& node) {
  return FabricReport::is_odd(node) ? static_cast<int>(*node.severity) : static_cast<int>(Severity::Info);
}

}  // namespace

std::string_view to_string(PortGid value) {
  constexpr std::array<std::string_view, 5> kNames{"index", "notRoCE", "portDown", "rowsUnknown",
                                                   "noUsableRow"};
  return name_in(kNames, value);
}

bool FabricReport::is_odd(const NodeReport& node) {
  return node.severity && *node.severity != Severity::Info;
}

FabricReport report_fabric(const DoctorInput& input, const Diagnosis& diagnosis) {
  FabricReport report;
  report.diagnosis = &diagnosis;
  report.time = input.now;
  report.max_table_age = input.max_table_age;
  for (const auto& policy : input.policies) report.policies.push_back(policy->name);
  std::map<std::string_view, const NodeFabric*> tables;
  for (const auto& table : input.tables) tables[table->name] = table.get();
  auto findings = findings_by_node(diagnosis);
  report.nodes.reserve(diagnosis.nodes.size());
  for (std::size_t i = 0; i < diagnosis.nodes.size(); ++i) {
    const NodeState& state = diagnosis.nodes[i];
    const auto table = tables.find(state.node);
    if (table == tables.end()) continue;  // the findings name it
    NodeReport& node = report.nodes.emplace_back();
    node.table = table->second;
    node.state = &state;
    report_ports(input, node);
    node.findings = std::move(findings[i]);
    add_node_findings(diagnosis, node);
  }
  // The diagnosis has them in the order of their names.
  std::ranges::stable_sort(report.nodes, {}, rank_of);
  count_rail_ports(diagnosis, report);
  return report;
}

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
       {"$name", "$pool", "severity", "findings", "$hcaList", "$reason", "gidIndex", "rates", "expected",
        "age", "stale", "$time", "$interface", "$namespaceMode", "$agent", "rails", "ports", "interfaces"}},
      {"port", {"$name",  "$state",   "rate",       "gidIndex", "$gid",        "severity", "fabric", "$why",
                "$since", "$link",    "$transport", "mtu",      "$driver",     "$board",   "$pci",   "$pf",
                "$lag",   "$netdevs", "numa",       "$guid",    "tableLength", "$more",    "rows"}},
      {"row", {"index", "$gid", "$address", "$type", "$netdev", "usable", "$why"}},
      {"interface", {"$name", "up", "mtu", "$master", "$addresses"}}};
}

class Writer {
 public:
  explicit Writer(const FabricReport& report) : report_(report) {}

  OrderedJson findings() {
    OrderedJson all = OrderedJson::array();
    for (const Finding& finding : report_.diagnosis->findings) {
      const auto& [kind, name_space, name, path, file, line, parts] = finding.subject;
      all.push_back(list_(to_string(finding.code), static_cast<int>(finding.severity), kind, name,
                          doctor::some_of(parts), finding.sentence, remedy_of(finding)));
    }
    return all;
  }

  OrderedJson pools() {
    OrderedJson all = OrderedJson::array();
    for (const Pool& pool : report_.diagnosis->pools) {
      OrderedJson rails = OrderedJson::array();
      for (const PoolRail& rail : pool.rails) rails.push_back(list_(rail.name, rail.fabric));
      all.push_back(list_(pool.name, pool.shape, pool.nodes.size(), pool.by_name, rails));
    }
    return all;
  }

  OrderedJson nodes() {
    OrderedJson all = OrderedJson::array();
    for (const NodeReport& node : report_.nodes) all.push_back(node_list(node));
    return all;
  }

  [[nodiscard]] OrderedJson strings() const { return list_.texts(); }

 private:
  OrderedJson node_list(const NodeReport& node) {
    const NodeFabric& table = *node.table;
    const NodeState& state = *node.state;
    OrderedJson ports = OrderedJson::array();
    for (const PortReport& port : node.ports) ports.push_back(port_list(port));
    OrderedJson interfaces;
    if (table.interfaces) {
      interfaces = OrderedJson::array();
      for (const Interface& interface : *table.interfaces) interfaces.push_back(interface_list(interface));
    }
    const auto age = state.age ? OrderedJson(state.age->count()) : OrderedJson();
    return list_(state.node, state.pool, value_or_null(node.severity), node.findings, state.hca_list,
                 state.reason, state.gid_index, state.rates, state.expected, age, state.stale, table.time,
                 table.node_interface, table.rdma_namespace_mode, table.agent_version, state.rail_ports,
                 ports, interfaces);
  }

  OrderedJson port_list(const PortReport& report) {
    const Port& port = *report.port;
    OrderedJson rows;
    if (port.gids) {
      rows = OrderedJson::array();
      for (std::size_t i = 0; i < report.rows.size(); ++i)
        rows.push_back(row_list((*port.gids)[i], report.rows[i]));
    }
    return list_(report.name, port.state, port.rate_gbps, report.gid_index, report.gid,
                 value_or_null(report.severity), report.fabric, report.why, port.state_since,
                 link_layer_of(port), port.transport, port.active_mtu, port.driver, port.board_id,
                 port.pci_address, port.pf_pci_address, port.lag, join(netdevs_of(port), " "), port.numa_node,
                 port.sys_image_guid, port.gid_table_length, join(other_facts(port), ", "), rows);
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

  const FabricReport& report_;
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

std::string to_page_json(const FabricReport& report, std::string_view version) {
  Writer writer(report);
  OrderedJson json = OrderedJson::object();
  json["version"] = version;
  json["title"] = report.title;
  json["time"] = format_timestamp(report.time);
  json["maxTableAge"] = report.max_table_age.count();
  json["policies"] = report.policies;
  json["railPorts"] = report.rail_ports;
  json["failedRailPorts"] = report.failed_rail_ports;
  json["unknownRailPorts"] = report.unknown_rail_ports;
  json["codes"] = code_meanings(*report.diagnosis);
  json["reasons"] = reason_words(*report.diagnosis);
  json["fields"] = fields();
  json["findings"] = writer.findings();
  json["pools"] = writer.pools();
  json["nodes"] = writer.nodes();
  json["strings"] = writer.strings();
  const std::string plain = json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  std::string text;
  text.reserve(plain.size());
  // Only strings can hold a '<'.
  for (const char c : plain) c == '<' ? text.append("\\u003c") : text.append(1, c);
  return text;
}

}  // namespace nccl_env
