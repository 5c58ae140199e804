// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/node_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "described/reader.h"
#include "described/writer.h"
#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "text/managed_fields.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMaxTableBytes = 8u << 20;  // as a file's; the API server takes objects of 3 MiB

// Looks at entries that are sorted; a negative index was refused.
template <class Entry>
void check_indexes(const json::Fields& fields, std::string_view list, const std::vector<Entry>& entries) {
  for (std::size_t at = 1; at < entries.size(); ++at) {
    if (entries[at].index >= 0 && entries[at - 1].index == entries[at].index)
      fields.refuse(list, "index " + std::to_string(entries[at].index) + " stands twice");
  }
}

// The field of a port that holds its GID rows, and the older form.
constexpr std::string_view kRowTexts = "gidRows";
constexpr const char* kRowObjects = "gids";

void check_rows(const json::Fields& fields, const Port& port) {
  const std::vector<GidRow>& rows = *port.gids;
  const std::string_view list = fields.find(kRowTexts) ? kRowTexts : kRowObjects;
  check_indexes(fields, list, rows);
  if (!rows.empty() && port.gid_table_length && rows.back().index >= *port.gid_table_length)
    fields.refuse(list, "index " + std::to_string(rows.back().index) + " is beyond gidTableLength " +
                            std::to_string(*port.gid_table_length));
}

void check_labels(const json::Fields& observed, const std::vector<NodeLabel>& labels) {
  std::set<std::string_view> keys;
  for (std::size_t at = 0; at < labels.size(); ++at) {
    const std::string& key = labels[at].key;
    if (key.empty() || keys.insert(key).second) continue;
    observed.refuse("nodeLabels[" + std::to_string(at) + "].key", key + " stands twice");
  }
}

void check_unique(const json::Fields& observed, const NodeFabric& table) {
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

void check_rows_of_all(const json::Fields& observed, const NodeFabric& table) {
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

template <class Entry>
void sort_by_index(std::vector<Entry>& entries) {
  const auto before = [](const Entry& a, const Entry& b) { return a.index < b.index; };
  if (!std::is_sorted(entries.begin(), entries.end(), before))  // which allocates nothing
    std::stable_sort(entries.begin(), entries.end(), before);
}

bool is_accepted_gid(std::optional<json::Element> value) {
  std::string_view text;
  return value && value->get(text) == simdjson::SUCCESS && parse_gid(text).ok();
}

}  // namespace

namespace described {

template <>
struct Rules<GidRow> {
  static void check(const json::Fields& fields, std::string_view /*list*/, const GidRow& row) {
    if (row.address && *row.address != row.gid.address() && is_accepted_gid(fields.find("gid")))
      fields.refuse("address", format_ip(*row.address) + " contradicts the GID " + format_gid(row.gid));
  }
};

template <>
struct Rules<Port> {
  static void check(const json::Fields& fields, std::string_view list, Port& port) {
    if (list == kRowTexts && port.gids) {
      sort_by_index(*port.gids);
      check_rows(fields, port);
    } else if (list == "pkeys" && port.pkeys) {
      sort_by_index(*port.pkeys);
      check_indexes(fields, list, *port.pkeys);
    }
  }
};

template <>
struct Rules<NodeFabric> {
  static void check(const json::Fields& observed, std::string_view list, const NodeFabric& table) {
    if (list == "nodeLabels" && table.node_labels) check_labels(observed, *table.node_labels);
    if (list == "ports") check_rows_of_all(observed, table);
    if (list.empty()) check_unique(observed, table);
  }
};

}  // namespace described

namespace {

void require_text(const json::Fields& fields, std::string_view name, std::string_view expected) {
  fields.require(name);
  const auto text = fields.text(name);
  if (text && *text != expected) {
    fields.refuse(name, in_quotes(*text) + " is not " + std::string(expected));
  }
}

constexpr std::string_view kAgent = "nccl-env-agent";  // as its writes say, src/agent/table_cluster.cc

}  // namespace

Result<NodeFabric> read_node_fabric(std::string_view text) {
  if (text.size() > kMaxTableBytes)
    return Error{"the document is larger than " + std::to_string(kMaxTableBytes >> 20U) + " MiB"};
  simdjson::dom::parser parser(kMaxTableBytes);
  if (parser.allocate(text.size(), kMaxJsonDepth) != simdjson::SUCCESS) return Error{"there is no memory"};
  const auto object = json::parse(parser, text);
  if (!object) return object.error();

  std::string name;
  std::optional<Timestamp> written;
  NodeFabric table;
  json::Sentence refusals;
  const json::Fields fields(*object, {}, refusals);
  require_text(fields, "apiVersion", "nccl-env.io/v1alpha1");
  require_text(fields, "kind", "NodeFabric");

  for (const char* field : {"metadata", "observed"}) fields.require(field);
  if (const auto value = fields.find("metadata")) {
    const json::Fields metadata(*value, fields.path("metadata"), refusals);
    metadata.require("name");
    if (const auto given = metadata.text("name")) {
      name = *given;
      if (!is_dns_subdomain(name))
        metadata.refuse("name", in_quotes(name) + " is not a DNS-1123 subdomain of at most 253 characters");
    }
    written = json::newest_write(*value, kAgent);
  }
  if (const auto value = fields.find("observed"))
    table = described::read_object<NodeFabric>(json::Fields(*value, fields.path("observed"), refusals));
  table.name = std::move(name);
  table.written = written;
  if (refusals.empty()) return table;
  return Error{refusals.text()};
}

Result<NodeFabric> parse_node_fabric(const nlohmann::json& object) {
  return read_node_fabric(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool has_row_objects(const nlohmann::json& object) {
  const nlohmann::json& ports = items_at(member(object, "observed"), "ports");
  return std::any_of(ports.begin(), ports.end(),
                     [](const nlohmann::json& port) { return !member(port, kRowObjects).is_null(); });
}

nlohmann::ordered_json to_json(const NodeFabric& table, RowsForm rows) {
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NodeFabric"},
          {"metadata", {{"name", table.name}}},
          {"observed", described::write_object(table, rows == RowsForm::Objects)}};
}

}  // namespace nccl_env
