// SPDX-License-Identifier: Apache-2.0
// The report as the page reads it. 2,000 nodes of nine ports are 72,000 GID rows: lists instead of objects
// and each text once make 4 MB of what would be 20.
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "nccl_env/core/doctor/report.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string_view text_of(const std::string& text) {
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

// Every text once.
class Strings {
 public:
  OrderedJson operator()(std::string_view text) {
    const auto [found, added] = places_.try_emplace(std::string(text), all_.size());
    if (added) all_.push_back(found->first);
    return found->second;
  }
  template <class T>
  OrderedJson maybe(const std::optional<T>& value) {
    return value ? (*this)(text_of(*value)) : OrderedJson();
  }
  [[nodiscard]] OrderedJson all() const { return all_; }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> all_;
};

template <class T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson place(const std::optional<Severity>& severity) {
  return severity ? OrderedJson(static_cast<int>(*severity)) : OrderedJson();
}

// The lists below are in this order.
OrderedJson fields() {
  return {
      {"finding", {"$check", "severity", "$pool", "$node", "$hca", "$evidence"}},
      {"pool", {"$name", "$shape", "nodes", "rails"}},
      {"rail", {"$name", "fabric", "column"}},
      {"node",
       {"$name", "$pool", "severity", "findings", "$hcaList", "$reason", "gidIndex", "rates", "expected",
        "age", "stale", "$time", "$interface", "$namespaceMode", "$agent", "rails", "ports", "interfaces"}},
      {"port", {"$name",  "$state",   "rate",       "gidIndex", "$gid",        "severity", "fabric", "$why",
                "$since", "$link",    "$transport", "mtu",      "$driver",     "$board",   "$pci",   "$pf",
                "$lag",   "$netdevs", "numa",       "$guid",    "tableLength", "rows"}},
      {"row", {"index", "$gid", "$address", "$type", "$netdev", "usable", "$why"}},
      {"interface", {"$name", "up", "mtu", "$master", "$addresses"}}};
}

template <class Names>
std::string joined(const Names& names, const char* between) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : between).append(name);
  return text;
}

class Writer {
 public:
  explicit Writer(const FabricReport& report) : report_(report) {}

  OrderedJson findings() {
    OrderedJson list = OrderedJson::array();
    for (const Finding& finding : report_.diagnosis->findings) {
      list.push_back({strings_(to_string(finding.check)), static_cast<int>(finding.severity),
                      strings_(finding.pool), strings_(finding.node), strings_(finding.hca),
                      strings_(finding.evidence)});
    }
    return list;
  }

  OrderedJson pools() {
    OrderedJson list = OrderedJson::array();
    for (std::size_t i = 0; i < report_.diagnosis->pools.size(); ++i) {
      const Pool& pool = report_.diagnosis->pools[i];
      OrderedJson rails = OrderedJson::array();
      for (std::size_t rail = 0; rail < pool.rails.size(); ++rail) {
        rails.push_back(
            {strings_(pool.rails[rail].name), pool.rails[rail].fabric, report_.pool_columns[i][rail]});
      }
      list.push_back({strings_(pool.name), strings_(pool.shape), pool.nodes.size(), std::move(rails)});
    }
    return list;
  }

  OrderedJson nodes() {
    OrderedJson list = OrderedJson::array();
    for (const NodeReport& node : report_.nodes) list.push_back(node_list(node));
    return list;
  }

  [[nodiscard]] OrderedJson strings() const { return strings_.all(); }

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
    return OrderedJson::array({strings_(state.node), strings_(state.pool), place(node.severity),
                               node.findings, strings_(state.hca_list), strings_(state.reason),
                               or_null(state.gid_index), state.rates, state.expected, age, state.stale,
                               strings_.maybe(table.time), strings_.maybe(table.node_interface),
                               strings_.maybe(table.rdma_namespace_mode), strings_.maybe(table.agent_version),
                               state.rail_ports, std::move(ports), std::move(interfaces)});
  }

  OrderedJson port_list(const PortReport& report) {
    const Port& port = *report.port;
    OrderedJson rows;
    if (port.gids) {
      rows = OrderedJson::array();
      for (std::size_t i = 0; i < report.rows.size(); ++i)
        rows.push_back(row_list((*port.gids)[i], report.rows[i]));
    }
    return OrderedJson::array({strings_(report.name),
                               strings_.maybe(port.state),
                               or_null(port.rate_gbps),
                               or_null(report.gid_index),
                               strings_(to_string(report.gid)),
                               place(report.severity),
                               report.fabric,
                               strings_(report.why),
                               strings_.maybe(port.state_since),
                               strings_.maybe(link_layer_of(port)),
                               strings_.maybe(port.transport),
                               or_null(port.active_mtu),
                               strings_.maybe(port.driver),
                               strings_.maybe(port.board_id),
                               strings_.maybe(port.pci_address),
                               strings_.maybe(port.pf_pci_address),
                               strings_.maybe(port.lag),
                               strings_(joined(netdevs_of(port), " ")),
                               or_null(port.numa_node),
                               strings_.maybe(port.sys_image_guid),
                               or_null(port.gid_table_length),
                               std::move(rows)});
  }

  OrderedJson row_list(const GidRow& row, const RowVerdict& verdict) {
    const OrderedJson usable = verdict.known ? OrderedJson(verdict.usable) : OrderedJson();
    return OrderedJson::array({row.index, strings_(format_gid(row.gid)), strings_.maybe(row.address),
                               strings_.maybe(row.type), strings_.maybe(row.netdev), usable,
                               strings_(verdict.why)});
  }

  OrderedJson interface_list(const Interface& interface) {
    std::optional<std::string> addresses;
    if (interface.addresses) {
      std::vector<std::string> texts;
      for (const InterfaceAddress& each : *interface.addresses)
        texts.push_back(format_cidr({each.address, each.prefix}));
      addresses = joined(texts, ", ");
    }
    return OrderedJson::array({strings_(interface.name), or_null(interface.up), or_null(interface.mtu),
                               strings_.maybe(interface.master), strings_.maybe(addresses)});
  }

  const FabricReport& report_;
  Strings strings_;
};

OrderedJson check_words(const Diagnosis& diagnosis) {
  OrderedJson words = OrderedJson::object();
  for (const Finding& finding : diagnosis.findings)
    words[std::string(to_string(finding.check))] = {meaning(finding.check), remedy(finding.check)};
  return words;
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
  json["time"] = format_timestamp(report.time);
  json["maxTableAge"] = report.max_table_age.count();
  json["policies"] = report.policies;
  json["railPorts"] = report.rail_ports;
  json["failedRailPorts"] = report.failed_rail_ports;
  json["checks"] = check_words(*report.diagnosis);
  json["reasons"] = reason_words(*report.diagnosis);
  json["columns"] = report.columns;
  json["fields"] = fields();
  json["findings"] = writer.findings();
  json["pools"] = writer.pools();
  json["nodes"] = writer.nodes();
  json["strings"] = writer.strings();
  const std::string plain = json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  std::string text;
  text.reserve(plain.size());
  // Only strings can hold one.
  for (const char c : plain) c == '<' ? text.append("\\u003c") : text.append(1, c);
  return text;
}

}  // namespace nccl_env
