// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/node_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "fabric/fields.h"
#include "nccl_env/core/fabric/gid_row.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

// Words of the enumerations, for reading and for writing.
template <class Enum, std::size_t N>
using Words = std::array<std::pair<std::string_view, Enum>, N>;

template <class Enum>
inline constexpr auto words = nullptr;
template <>
inline constexpr Words<LinkLayer, 3> words<LinkLayer> = {{{"Ethernet", LinkLayer::Ethernet},
                                                          {"InfiniBand", LinkLayer::InfiniBand},
                                                          {"Unspecified", LinkLayer::Unspecified}}};
template <>
inline constexpr Words<Transport, 4> words<Transport> = {{{"InfiniBand", Transport::InfiniBand},
                                                          {"RoCE", Transport::RoCE},
                                                          {"iWARP", Transport::iWARP},
                                                          {"eRDMA", Transport::eRDMA}}};
template <>
inline constexpr Words<PortState, 4> words<PortState> = {{{"Active", PortState::Active},
                                                          {"Armed", PortState::Armed},
                                                          {"Init", PortState::Init},
                                                          {"Down", PortState::Down}}};
template <>
inline constexpr Words<GidType, 3> words<GidType> = {
    {{"IB", GidType::IB}, {"RoCEv1", GidType::RoCEv1}, {"RoCEv2", GidType::RoCEv2}}};
template <>
inline constexpr Words<RdmaNamespaceMode, 2> words<RdmaNamespaceMode> = {
    {{"shared", RdmaNamespaceMode::Shared}, {"exclusive", RdmaNamespaceMode::Exclusive}}};

}  // namespace

namespace {

template <class Enum>
std::string_view word_of(Enum value) {
  for (const auto& [word, meaning] : words<Enum>) {
    if (meaning == value) return word;
  }
  return "";
}

}  // namespace

std::string_view to_string(LinkLayer value) {
  return word_of(value);
}
std::string_view to_string(Transport value) {
  return word_of(value);
}
std::string_view to_string(PortState value) {
  return word_of(value);
}
std::string_view to_string(GidType value) {
  return word_of(value);
}
std::string_view to_string(RdmaNamespaceMode value) {
  return word_of(value);
}

bool is_hca_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alphanumeric(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

std::optional<std::uint16_t> parse_pkey(std::string_view text) {
  std::uint16_t key = 0;
  const std::string_view digits = text.starts_with("0x") ? text.substr(2) : "";
  const auto* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, key, 16);
  return digits.size() == 4 && read.ec == std::errc() && read.ptr == end ? std::optional(key) : std::nullopt;
}

Result<std::uint16_t> parse_partition_key(std::string_view text) {
  if (const auto key = parse_pkey(text); key && (*key & 0x7fffU) != 0) return *key;
  return Error{in_quotes(text) + " is not a partition key such as 0x8001"};
}

std::string format_partition_key(std::uint16_t key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) text += kDigits[(key >> shift) & 0xfU];
  return text;
}

bool is_netdev_name(std::string_view name) {
  constexpr std::string_view kRefused = "/,:^=";
  return !name.empty() && name.size() <= 15 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return c > ' ' && c <= '~' && kRefused.find(c) == kRefused.npos; });
}

namespace {

// A name in a label: at most 63 letters, digits, '_', '.', '-', the first and the last a letter or a digit.
bool is_label_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alphanumeric(name.front()) &&
         is_alphanumeric(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_alphanumeric(c) || c == '_' || c == '.' || c == '-';
         });
}

}  // namespace

bool is_label_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == key.npos) return is_label_name(key);
  return is_dns_subdomain(key.substr(0, slash)) && is_label_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) {
  return value.empty() || is_label_name(value);
}

namespace {

constexpr std::size_t kMaxTableBytes = 8u << 20;  // as a file's; the API server takes objects of 3 MiB
constexpr std::size_t kMaxText = 128;             // versions, ids
constexpr int kMaxNumaNode = 1023;                // Linux: MAX_NUMNODES is at most 1 << 10
constexpr double kMaxRateGbps = 100'000;          // fifty times a port of XDR with twelve lanes

bool all_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

Result<std::string> parse_printable(std::string_view text) {
  if (is_printable_ascii(text) && !text.empty() && text.size() <= kMaxText) return std::string(text);
  return Error{in_quotes(text) + " is not 1 to " + std::to_string(kMaxText) + " printable ASCII characters"};
}

Result<std::string> parse_hca(std::string_view text) {
  if (is_hca_name(text)) return std::string(text);
  return Error{in_quotes(text) + " is not an RDMA device name: letters, digits, '_', '.', '-', at most 63"};
}

Result<std::string> parse_netdev(std::string_view text) {
  if (is_netdev_name(text)) return std::string(text);
  return Error{in_quotes(text) +
               " is not an interface name: 1 to 15 characters without blanks or any of / , : ^ ="};
}

}  // namespace

// DDDD:BB:DD.F, as Linux writes it; a domain beyond 16 bits (VMD) has more digits.
Result<std::string> parse_pci_address(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view domain = text.substr(0, colon);
  const std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  const bool shape = domain.size() >= 4 && domain.size() <= 8 && all_hex(domain) && rest.size() == 7 &&
                     all_hex(rest.substr(0, 2)) && rest[2] == ':' && all_hex(rest.substr(3, 2)) &&
                     rest[3] <= '1' && rest[5] == '.' && rest[6] >= '0' && rest[6] <= '7';
  if (shape) return lower_case(text);
  return Error{in_quotes(text) + " is not a PCI address such as 0000:53:00.0"};
}

Result<std::string> parse_guid(std::string_view text) {
  bool shape = text.size() == 19;
  for (std::size_t at = 0; shape && at < text.size(); ++at) {
    shape = at % 5 == 4 ? text[at] == ':' : all_hex(text.substr(at, 1));
  }
  if (shape) return lower_case(text);
  return Error{in_quotes(text) + " is not a GUID such as b83f:d203:00b4:f5a2"};
}

namespace {

Result<std::string> parse_label_key(std::string_view text) {
  if (is_label_key(text)) return std::string(text);
  return Error{in_quotes(text) + " is not a label's key such as topology.kubernetes.io/zone"};
}

Result<std::string> parse_label_value(std::string_view text) {
  if (is_label_value(text)) return std::string(text);
  return Error{in_quotes(text) + " is not a label's value: letters, digits, '_', '.', '-', at most 63"};
}

// For fields in which "" means that it is known that there is none.
template <Result<std::string> (*parse)(std::string_view)>
Result<std::string> parse_or_none(std::string_view text) {
  return text.empty() ? Result<std::string>(std::string()) : parse(text);
}

template <class Enum>
Result<Enum> parse_word(std::string_view text) {
  for (const auto& [word, meaning] : words<Enum>) {
    if (word == text) return meaning;
  }
  std::string accepted;
  for (const auto& [word, meaning] : words<Enum>) accepted.append(accepted.empty() ? "" : ", ").append(word);
  return Error{in_quotes(text) + " is none of " + accepted};
}

PartitionKey read_key(const FabricFields& fields) {
  for (const char* name : {"index", "key"}) fields.require(name);
  return {fields.integer("index", 0, static_cast<int>(kMaxPortKeys) - 1).value_or(-1),
          fields.parsed("key", parse_partition_key).value_or(0)};
}

void check_keys(const FabricFields& fields, const std::vector<PartitionKey>& keys) {
  for (std::size_t at = 1; at < keys.size(); ++at) {
    if (keys[at].index >= 0 && keys[at - 1].index == keys[at].index)
      fields.refuse("pkeys", "index " + std::to_string(keys[at].index) + " stands twice");
  }
}

// The fields of a port that hold its GID rows.
constexpr const char* kRowTexts = "gidRows";
constexpr const char* kRowObjects = "gids";

GidRow read_row(const FabricFields& fields) {
  GidRow row;
  for (const char* name : {"index", "gid"}) fields.require(name);
  row.index = fields.integer("index", 0, kMaxGidIndex).value_or(-1);
  const auto gid = fields.parsed("gid", parse_gid);
  row.gid = gid.value_or(Gid{});
  row.type = fields.parsed("type", parse_word<GidType>);
  row.address = fields.parsed("address", parse_ip);
  row.netdev = fields.parsed("netdev", parse_netdev);
  row.index_since = fields.parsed("indexSince", parse_timestamp);
  if (gid && row.address && *row.address != gid->address()) {
    fields.refuse("address", format_ip(*row.address) + " contradicts the GID " + format_gid(*gid));
  }
  return row;
}

void check_rows(const FabricFields& fields, const char* name, const Port& port) {
  const std::vector<GidRow>& rows = *port.gids;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const int index = rows[at].index;
    if (at > 0 && index >= 0 && rows[at - 1].index == index) {
      fields.refuse(name, "index " + std::to_string(index) + " stands twice");
    }
  }
  if (!rows.empty() && port.gid_table_length && rows.back().index >= *port.gid_table_length) {
    fields.refuse(name, "index " + std::to_string(rows.back().index) + " is beyond gidTableLength " +
                            std::to_string(*port.gid_table_length));
  }
}

Port read_port(const FabricFields& fields) {
  Port port;
  for (const char* name : {"hca", "port"}) fields.require(name);
  port.hca = fields.parsed("hca", parse_hca).value_or("");
  port.number = fields.integer("port", 1, 255).value_or(0);
  port.link_layer = fields.parsed("linkLayer", parse_word<LinkLayer>);
  port.transport = fields.parsed("transport", parse_word<Transport>);
  port.state = fields.parsed("state", parse_word<PortState>);
  port.state_since = fields.parsed("stateSince", parse_timestamp);
  port.rate_gbps = fields.number("rateGbps", 0, kMaxRateGbps);
  port.max_rate_gbps = fields.number("maxRateGbps", 0, kMaxRateGbps);
  port.active_mtu = fields.integer("activeMtu", 256, 65536);
  port.driver = fields.parsed("driver", parse_printable);
  port.pci_address = fields.parsed("pciAddress", parse_pci_address);
  port.pf_pci_address = fields.parsed("pfPciAddress", parse_or_none<parse_pci_address>);
  port.lag = fields.parsed("lag", parse_or_none<parse_netdev>);
  port.netdev = fields.parsed("netdev", parse_netdev);
  port.numa_node = fields.integer("numaNode", 0, kMaxNumaNode);
  port.board_id = fields.parsed("boardId", parse_printable);
  port.sys_image_guid = fields.parsed("sysImageGuid", parse_guid);
  port.gid_table_length = fields.integer("gidTableLength", 0, kMaxGidIndex + 1);
  port.gid_index_changes = fields.integer("gidIndexChanges", 0, kMaxIndexChanges);
  const bool texts = fields.find(kRowTexts).has_value();
  if (texts && fields.find(kRowObjects))
    fields.refuse(kRowObjects, "stands beside gidRows, which takes its place");
  port.gids = texts ? fields.texts(kRowTexts, kMaxTableRows, parse_gid_row)
                    : fields.objects(kRowObjects, kMaxTableRows, read_row);
  if (port.gids) {
    std::stable_sort(port.gids->begin(), port.gids->end(),
                     [](const GidRow& a, const GidRow& b) { return a.index < b.index; });
    check_rows(fields, texts ? kRowTexts : kRowObjects, port);
  }
  port.pkeys = fields.objects("pkeys", kMaxPortKeys, read_key);
  if (port.pkeys) {
    std::stable_sort(port.pkeys->begin(), port.pkeys->end(),
                     [](const PartitionKey& a, const PartitionKey& b) { return a.index < b.index; });
    check_keys(fields, *port.pkeys);
  }
  return port;
}

Result<InterfaceAddress> parse_interface_address(std::string_view text) {
  const auto cidr = parse_cidr(text);
  if (!cidr) return cidr.error();
  return InterfaceAddress{cidr->address, cidr->prefix};
}

Interface read_interface(const FabricFields& fields) {
  Interface interface;
  fields.require("name");
  interface.name = fields.parsed("name", parse_netdev).value_or("");
  interface.addresses = fields.texts("addresses", kMaxInterfaceAddresses, parse_interface_address);
  interface.mtu = fields.integer("mtu", 0, INT_MAX);
  interface.up = fields.boolean("up");
  interface.master = fields.parsed("master", parse_or_none<parse_netdev>);
  return interface;
}

NodeLabel read_label(const FabricFields& fields) {
  fields.require("key");
  return {fields.parsed("key", parse_label_key).value_or(""), fields.parsed("value", parse_label_value)};
}

void check_labels(const FabricFields& observed, const std::vector<NodeLabel>& labels) {
  std::set<std::string_view> keys;
  for (std::size_t at = 0; at < labels.size(); ++at) {
    const std::string& key = labels[at].key;
    if (key.empty() || keys.insert(key).second) continue;
    observed.refuse("nodeLabels[" + std::to_string(at) + "].key", key + " stands twice");
  }
}

void check_unique(const FabricFields& observed, const NodeFabric& table) {
  std::set<std::pair<std::string_view, int>> ports;
  for (std::size_t at = 0; at < table.ports.size(); ++at) {
    const Port& port = table.ports[at];
    if (port.hca.empty() || port.number == 0 || ports.emplace(port.hca, port.number).second) continue;
    observed.refuse("ports[" + std::to_string(at) + "]",
                    port.hca + " port " + std::to_string(port.number) + " stands twice");
  }
  if (!table.interfaces) return;
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < table.interfaces->size(); ++at) {
    const std::string& name = (*table.interfaces)[at].name;
    if (name.empty() || names.insert(name).second) continue;
    observed.refuse("interfaces[" + std::to_string(at) + "].name", name + " stands twice");
  }
}

void check_rows_of_all(const FabricFields& observed, const NodeFabric& table) {
  std::size_t rows = 0;
  std::size_t keys = 0;
  for (const Port& port : table.ports) {
    rows += port.gids ? port.gids->size() : 0;
    keys += port.pkeys ? port.pkeys->size() : 0;
  }
  for (const auto& [count, what] : {std::pair(rows, " GID rows"), std::pair(keys, " partition keys")}) {
    if (count > kMaxTableRows)
      observed.refuse("ports", "hold " + std::to_string(count) + what + " in all, and may hold at most " +
                                   std::to_string(kMaxTableRows));
  }
}

void read_observed(const FabricFields& observed, NodeFabric& table) {
  table.time = observed.parsed("time", parse_timestamp);
  table.boot_id = observed.parsed("bootId", parse_printable);
  table.agent_version = observed.parsed("agentVersion", parse_printable);
  table.rdma_namespace_mode = observed.parsed("rdmaNamespaceMode", parse_word<RdmaNamespaceMode>);
  table.node_interface = observed.parsed("nodeInterface", parse_netdev);
  table.node_labels = observed.objects("nodeLabels", kMaxNodeLabels, read_label);
  if (table.node_labels) check_labels(observed, *table.node_labels);
  observed.require("ports");
  if (auto ports = observed.objects("ports", kMaxTablePorts, read_port)) table.ports = *std::move(ports);
  check_rows_of_all(observed, table);
  table.interfaces = observed.objects("interfaces", kMaxTableInterfaces, read_interface);
  check_unique(observed, table);
}

void require_text(const FabricFields& fields, std::string_view name, std::string_view expected) {
  fields.require(name);
  const auto text = fields.text(name);
  if (text && *text != expected) {
    fields.refuse(name, in_quotes(*text) + " is not " + std::string(expected));
  }
}

}  // namespace

Result<NodeFabric> read_node_fabric(std::string_view text) {
  if (text.size() > kMaxTableBytes)
    return Error{"the document is larger than " + std::to_string(kMaxTableBytes >> 20U) + " MiB"};
  simdjson::dom::parser parser(kMaxTableBytes);
  simdjson::dom::element object;
  auto error = parser.allocate(text.size(), kMaxJsonDepth);
  if (error == simdjson::SUCCESS) error = parser.parse(text.data(), text.size(), true).get(object);
  if (error != simdjson::SUCCESS) return Error{std::string("not JSON: ") + simdjson::error_message(error)};

  NodeFabric table;
  Refusals refusals;
  const FabricFields fields(object, {}, refusals);
  require_text(fields, "apiVersion", "nccl-env.io/v1alpha1");
  require_text(fields, "kind", "NodeFabric");

  for (const char* name : {"metadata", "observed"}) fields.require(name);
  if (const auto value = fields.find("metadata")) {
    const FabricFields metadata(*value, fields.path("metadata"), refusals);
    metadata.require("name");
    if (const auto name = metadata.text("name")) {
      table.name = *name;
      if (!is_dns_subdomain(*name))
        metadata.refuse("name", in_quotes(*name) + " is not a DNS-1123 subdomain of at most 253 characters");
    }
  }
  if (const auto value = fields.find("observed"))
    read_observed(FabricFields(*value, fields.path("observed"), refusals), table);

  if (refusals.empty()) return table;
  return Error{refusals.sentence()};
}

Result<NodeFabric> parse_node_fabric(const nlohmann::json& object) {
  return read_node_fabric(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

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

ordered_json label_json(const NodeLabel& label) {
  ordered_json object = ordered_json::object();
  object["key"] = label.key;
  put(object, "value", label.value);
  return object;
}

ordered_json row_json(const GidRow& row) {
  ordered_json object{{"index", row.index}, {"gid", format_gid(row.gid)}};
  put(object, "type", row.type);
  put(object, "address", row.address);
  put(object, "netdev", row.netdev);
  put(object, "indexSince", row.index_since);
  return object;
}

ordered_json port_json(const Port& port, RowsForm form) {
  ordered_json object{{"hca", port.hca}, {"port", port.number}};
  put(object, "linkLayer", port.link_layer);
  put(object, "transport", port.transport);
  put(object, "state", port.state);
  put(object, "stateSince", port.state_since);
  put(object, "rateGbps", port.rate_gbps);
  put(object, "maxRateGbps", port.max_rate_gbps);
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
  put(object, "gidIndexChanges", port.gid_index_changes);
  if (port.gids) {
    const bool texts = form == RowsForm::Texts;
    ordered_json& rows = object[texts ? kRowTexts : kRowObjects] = ordered_json::array();
    for (const GidRow& row : *port.gids)
      rows.push_back(texts ? ordered_json(format_gid_row(row)) : row_json(row));
  }
  if (port.pkeys) {
    ordered_json& keys = object["pkeys"] = ordered_json::array();
    for (const PartitionKey& entry : *port.pkeys)
      keys.push_back({{"index", entry.index}, {"key", format_partition_key(entry.key)}});
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

bool has_row_objects(const nlohmann::json& object) {
  const nlohmann::json& ports = items_at(member(object, "observed"), "ports");
  return std::any_of(ports.begin(), ports.end(),
                     [](const nlohmann::json& port) { return !member(port, kRowObjects).is_null(); });
}

ordered_json to_json(const NodeFabric& table, RowsForm rows) {
  ordered_json observed = ordered_json::object();
  put(observed, "time", table.time);
  put(observed, "bootId", table.boot_id);
  put(observed, "agentVersion", table.agent_version);
  put(observed, "rdmaNamespaceMode", table.rdma_namespace_mode);
  put(observed, "nodeInterface", table.node_interface);
  if (table.node_labels) {
    ordered_json& labels = observed["nodeLabels"] = ordered_json::array();
    for (const NodeLabel& label : *table.node_labels) labels.push_back(label_json(label));
  }
  observed["ports"] = ordered_json::array();
  for (const Port& port : table.ports) observed["ports"].push_back(port_json(port, rows));
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
