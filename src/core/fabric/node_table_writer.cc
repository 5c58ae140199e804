// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {
namespace {

using nlohmann::ordered_json;

ordered_json value_of(const std::string& text) {
  return text;
}
ordered_json value_of(int value) {
  return value;
}
ordered_json value_of(bool value) {
  return value;
}
ordered_json value_of(Timestamp time) {
  return format_timestamp(time);
}
ordered_json value_of(const IpAddress& address) {
  return format_ip(address);
}
// 200 rather than 200.0, so that people and other writers see the same text.
ordered_json value_of(double value) {
  const bool whole = std::floor(value) == value && std::abs(value) < 1e15;
  return whole ? ordered_json(static_cast<std::int64_t>(value)) : ordered_json(value);
}
template <class Enum>
requires std::is_enum_v<Enum> ordered_json value_of(Enum value) {
  return to_string(value);
}

template <class T>
void put(ordered_json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = value_of(*value);
}

ordered_json row_json(const GidRow& row) {
  ordered_json object{{"index", row.index}, {"gid", format_gid(row.gid)}};
  put(object, "type", row.type);
  put(object, "address", row.address);
  put(object, "netdev", row.netdev);
  return object;
}

ordered_json port_json(const Port& port) {
  ordered_json object{{"hca", port.hca}, {"port", port.number}};
  put(object, "linkLayer", port.link_layer);
  put(object, "transport", port.transport);
  put(object, "state", port.state);
  put(object, "stateSince", port.state_since);
  put(object, "rateGbps", port.rate_gbps);
  put(object, "activeMtu", port.active_mtu);
  put(object, "driver", port.driver);
  put(object, "pciAddress", port.pci_address);
  put(object, "pfPciAddress", port.pf_pci_address);
  put(object, "lag", port.lag);
  put(object, "netdev", port.netdev);
  put(object, "numaNode", port.numa_node);
  put(object, "boardId", port.board_id);
  put(object, "sysImageGuid", port.sys_image_guid);
  put(object, "gidTableLength", port.gid_table_length);
  if (port.gids) {
    ordered_json& rows = object["gids"] = ordered_json::array();
    for (const GidRow& row : *port.gids) rows.push_back(row_json(row));
  }
  return object;
}

ordered_json interface_json(const Interface& interface) {
  ordered_json object{{"name", interface.name}};
  if (interface.addresses) {
    ordered_json& addresses = object["addresses"] = ordered_json::array();
    for (const InterfaceAddress& each : *interface.addresses) {
      addresses.push_back(format_cidr({each.address, each.prefix}));
    }
  }
  put(object, "mtu", interface.mtu);
  put(object, "up", interface.up);
  put(object, "master", interface.master);
  return object;
}

}  // namespace

ordered_json to_json(const NodeFabric& table) {
  ordered_json observed = ordered_json::object();
  put(observed, "time", table.time);
  put(observed, "bootId", table.boot_id);
  put(observed, "agentVersion", table.agent_version);
  put(observed, "rdmaNamespaceMode", table.rdma_namespace_mode);
  put(observed, "nodeInterface", table.node_interface);
  observed["ports"] = ordered_json::array();
  for (const Port& port : table.ports) observed["ports"].push_back(port_json(port));
  if (table.interfaces) {
    observed["interfaces"] = ordered_json::array();
    for (const Interface& interface : *table.interfaces) {
      observed["interfaces"].push_back(interface_json(interface));
    }
  }
  return ordered_json{{"apiVersion", "nccl-env.io/v1alpha1"},
                      {"kind", "NodeFabric"},
                      {"metadata", {{"name", table.name}}},
                      {"observed", std::move(observed)}};
}

}  // namespace nccl_env
