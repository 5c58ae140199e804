// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/table_changes.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Facts = std::map<std::string, HeldValue>;

// Not facts: names and lists, which are compared on their own; times and counters.
constexpr std::array<std::string_view, 11> kNoFact{
    "hca",   "port", "name",    "stateSince", "gidIndexChanges", "gidRows",
    "pkeys", "time", "summary", "ports",      "interfaces"};
constexpr std::array<std::string_view, 3> kOwnFact{"sysImageGuid", "bootId", "addresses"};

// Facts which say that the table of a node or port knows entries of this kind.
constexpr const char* kGidRows = "GID rows";
constexpr const char* kPartitionKeys = "partition keys";
constexpr const char* kInterfaces = "interfaces";
// The only fact of a port or an interface that the other table does not have.
constexpr const char* kPort = "port";
constexpr const char* kInterface = "interface";

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_fields(const OrderedJson& object, Facts& into) {
  for (const auto& [name, value] : object.items()) {
    if (is_in(kNoFact, name)) continue;
    into[name] = {value.is_string() ? value.get<std::string>() : value.dump(), {}, is_in(kOwnFact, name)};
  }
}

std::string port_place(const Port& port) {
  return port.number == 1 ? port.hca : port.hca + ":" + std::to_string(port.number);
}

// "GID index of RoCEv2 IPv4 eth1": the same for rows that do the same work on different nodes.
std::string work_of(const GidRow& row) {
  return std::string("GID index of ") + (row.type ? std::string(to_string(*row.type)) + " " : "") +
         (row.gid.is_v4_mapped()    ? "IPv4"
          : row.gid.is_link_local() ? "link-local"
                                    : "IPv6") +
         (row.netdev ? " " + *row.netdev : "");
}

void add_rows(const Port& port, Facts& into) {
  if (port.pkeys) into[kPartitionKeys] = {"known"};
  for (const PartitionKey& entry : port.pkeys.value_or(std::vector<PartitionKey>()))
    into["partition key at index " + std::to_string(entry.index)] = {format_partition_key(entry.key)};
  if (port.gids) into[kGidRows] = {"known"};
  for (const GidRow& row : port.gids.value_or(std::vector<GidRow>())) {
    const std::string index = std::to_string(row.index);
    auto& indexes = into[work_of(row)].value;
    indexes = indexes ? *indexes + ", " + index : index;
    into["GID at index " + index] = {format_gid(row.gid), {}, true};
  }
}

HeldValues facts_of(const NodeFabric& table) {
  HeldValues facts;
  const OrderedJson json = to_json(table);
  const OrderedJson& observed = json.at("observed");
  Facts& node = facts.places["node"];
  add_fields(observed, node);
  for (std::size_t i = 0; i < table.ports.size(); ++i) {
    Facts& port = facts.places[port_place(table.ports[i])];
    port[kPort] = {"there"};
    add_fields(observed.at("ports")[i], port);
    add_rows(table.ports[i], port);
  }
  if (!table.interfaces) return facts;
  node[kInterfaces] = {"known"};
  for (const OrderedJson& interface : observed.at("interfaces")) {
    Facts& fact = facts.places[interface.at("name").get<std::string>()];
    fact[kInterface] = {"there"};
    add_fields(interface, fact);
  }
  return facts;
}

// The fact that says that a table knows facts of this kind; "" if the kind has none.
std::string list_of(const std::string& name) {
  if (name.starts_with("GID ")) return kGidRows;
  return name.starts_with("partition key ") ? kPartitionKeys : "";
}

// Notes "none" in the other table for a row that only one table has, if the other table knows rows. A changed
// GID at an index is reported only where both tables have a GID there.
void match_rows(Facts& one, Facts& other) {
  for (auto fact = one.begin(); fact != one.end();) {
    const std::string list = list_of(fact->first);
    const bool lone = !list.empty() && list != fact->first && !other.contains(fact->first);
    const bool told = lone && other.contains(list) && !fact->second.own;
    if (told) other[fact->first] = {"none"};
    fact = lone && !told ? one.erase(fact) : std::next(fact);
  }
}

// Makes a port or an interface that only one table has a single fact, and leaves out an interface where the
// other table does not know interfaces.
void match_places(HeldValues& one, HeldValues& other) {
  for (auto& [place, facts] : one.places) {
    if (const auto found = other.places.find(place); found != other.places.end()) {
      match_rows(facts, found->second);
      continue;
    }
    const bool is_port = facts.contains(kPort);
    facts.clear();
    if (!is_port && !other.places["node"].contains(kInterfaces)) continue;
    const char* const kind = is_port ? kPort : kInterface;
    facts[kind] = {"there"};
    other.places[place][kind] = {"not there"};
  }
}

}  // namespace

std::vector<Change> table_changes(const NodeFabric& then, const NodeFabric& now) {
  HeldValues before = facts_of(then), after = facts_of(now);
  match_places(before, after);
  match_places(after, before);
  return changes_between(before, after);
}

}  // namespace nccl_env
