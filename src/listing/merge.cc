// SPDX-License-Identifier: Apache-2.0
#include "merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "nccl_env/core/text/join.h"

namespace nccl_env::listing {
namespace {

struct ShownTable {
  Place place;
  std::set<int> indexes;
};

struct MergedPort {
  PortFacts facts;                          // without rows
  bool stated = false;                      // by more than rows that could not be read
  std::vector<Stated<std::string>> unread;  // why
  std::map<int, RowFacts> rows;
  std::map<std::string_view, std::vector<ShownTable>> tables;  // by format, in the order of their places
};

template <class T>
void add(std::optional<Stated<T>>& known, const std::optional<Stated<T>>& next, const std::string& what,
         Facts& facts) {
  if (next) state(known, *next, what, facts);
}

std::string name_of(const PortFacts& port) {
  return port.hca + " port " + std::to_string(port.number);
}

void add_port(PortFacts& into, const PortFacts& from, Facts& facts) {
  const std::string of = " of " + name_of(into);
  each_fact([&](const auto& fact) { add(into.*fact.stated, from.*fact.stated, fact.name + of, facts); });
  add(into.port_count, from.port_count, "the number of ports of " + into.hca, facts);
  if (!into.no_gid) into.no_gid = from.no_gid;
  if (!into.device_type) into.device_type = from.device_type;
}

void add_row(MergedPort& port, const RowFacts& next, Facts& facts) {
  const auto [at, is_new] = port.rows.emplace(next.index, next);
  if (is_new) return;
  RowFacts& row = at->second;
  const std::string what = "row " + std::to_string(row.index) + " of " + name_of(port.facts);
  std::optional<Stated<Gid>> gid = row.gid;
  state(gid, next.gid, "the GID in " + what, facts);
  row.masked = row.masked || next.masked;
  if (!row.not_v2) row.not_v2 = next.not_v2;
  add(row.type, next.type, "the type of " + what, facts);
  add(row.netdev, next.netdev, "the netdev of " + what, facts);
}

void add_table(MergedPort& port, const PortFacts& from) {
  if (!from.table) return;
  std::vector<ShownTable>& tables = port.tables[from.table->format];
  const Place& place = from.table->place;
  if (tables.empty() || tables.back().place.line != place.line || tables.back().place.file != place.file)
    tables.push_back({place, {}});
  for (const RowFacts& row : from.rows) tables.back().indexes.insert(row.index);
}

// Two tables of one port, such as those before and after a change, are never both true.
void check_tables(const MergedPort& port, Facts& facts) {
  for (const auto& [format, tables] : port.tables) {
    const ShownTable& first = tables.front();
    for (const ShownTable& table : tables) {
      const auto [here, there] = std::mismatch(table.indexes.begin(), table.indexes.end(),
                                               first.indexes.begin(), first.indexes.end());
      if (here == table.indexes.end() && there == first.indexes.end()) continue;
      const bool added = there == first.indexes.end() || (here != table.indexes.end() && *here < *there);
      facts.problem(table.place, "the GID table of " + name_of(port.facts) + " that begins here has " +
                                     (added ? "a row " : "no row ") + std::to_string(added ? *here : *there) +
                                     ", but that at " + to_string(first.place) +
                                     (added ? " has none" : " has one"));
    }
  }
}

bool is_v2(const RowFacts& row) {
  return row.type && row.type->value == GidType::RoCEv2;
}

void check_row(const PortFacts& port, const RowFacts& row, Facts& facts) {
  const std::string what = "row " + std::to_string(row.index) + " of " + name_of(port);
  if (row.not_v2 && is_v2(row)) {
    facts.problem(row.type->place,
                  "the type of " + what + " is RoCE v2 here, but v1 at " + to_string(*row.not_v2));
  }
  if (port.gid_table_length && row.index >= port.gid_table_length->value) {
    facts.problem(row.gid.place, what + " is outside the table of " + describe(port.gid_table_length->value) +
                                     " rows that " + to_string(port.gid_table_length->place) + " states");
  }
}

// Returns the type that the listing names, else the only one that the port allows.
std::optional<GidType> type_of(const Port& port, const RowFacts& row) {
  if (row.type) return row.type->value;
  if (port.link_layer == LinkLayer::InfiniBand) return GidType::IB;
  if (row.not_v2 && port.transport == Transport::RoCE) return GidType::RoCEv1;
  return std::nullopt;
}

GidRow finish_row(const Port& port, const RowFacts& facts) {
  GidRow row;
  row.index = facts.index;
  row.gid = facts.gid.value;
  row.type = type_of(port, facts);
  if (facts.netdev) row.netdev = facts.netdev->value;
  // An InfiniBand GID is a subnet prefix and a GUID, whatever it looks like.
  const bool is_roce = row.type && *row.type != GidType::IB;
  const bool is_global = !row.gid.is_link_local() && !row.gid.is_zero();
  if (facts.masked) return row;
  if (row.gid.is_v4_mapped() ? row.type != GidType::IB : is_roce && is_global)
    row.address = row.gid.address();
  return row;
}

// The netdev that every row names.
std::optional<std::string> common_netdev(const std::map<int, RowFacts>& rows) {
  if (rows.empty() || !rows.begin()->second.netdev) return std::nullopt;
  const std::string& first = rows.begin()->second.netdev->value;
  const bool same = std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
    return row.second.netdev && row.second.netdev->value == first;
  });
  return same ? std::optional(first) : std::nullopt;
}

// Digits that were hidden before the listing was posted leave the class of a GID, but no address.
void tell_masked(const MergedPort& port, Facts& facts) {
  std::size_t count = 0;
  const RowFacts* first = nullptr;
  for (const auto& [index, row] : port.rows) {
    if (!row.masked) continue;
    if (!first) first = &row;
    ++count;
  }
  if (!first) return;
  facts.note(first->gid.place, count_of(count, "GID") + " of " + name_of(port.facts) +
                                   " with masked digits: the known half tells what kind of row it is, "
                                   "masked digits stand as 0, and addresses count as not known");
}

// Tells of rows that could not be read; a port that nothing else names is refused. Returns whether all could.
bool has_all_rows(const MergedPort& port, Facts& facts) {
  for (const auto& [why, place] : port.unread) {
    if (port.stated) {
      facts.note(place, why + "; the GID rows of " + name_of(port.facts) + " count as not known");
    } else {
      facts.problem(place, why);
    }
  }
  return port.unread.empty();
}

Port finish_port(const MergedPort& merged, Facts& facts) {
  const PortFacts& stated = merged.facts;
  Port port;
  port.hca = stated.hca;
  port.number = stated.number;
  each_fact([&](const auto& fact) {
    if (const auto& known = stated.*fact.stated) port.*fact.member = known->value;
  });
  if (!port.netdev) port.netdev = common_netdev(merged.rows);
  const bool all_rows = has_all_rows(merged, facts);
  if (merged.rows.empty()) {  // a listing without rows doesn't tell that there are none, unless it says so
    const bool none = stated.no_gid || facts.answers.no_gid;
    if (none && all_rows && port.link_layer != LinkLayer::InfiniBand) port.gids.emplace();
    return port;
  }

  const bool any_v2 =
      std::any_of(merged.rows.begin(), merged.rows.end(), [](const auto& row) { return is_v2(row.second); });
  if (!port.transport && any_v2) port.transport = Transport::RoCE;
  if (!all_rows) return port;
  tell_masked(merged, facts);
  port.gids.emplace();
  for (const auto& [index, row] : merged.rows) {
    check_row(stated, row, facts);
    if (!row.gid.value.is_zero()) port.gids->push_back(finish_row(port, row));
  }
  return port;
}

// Reports ports beyond the number of ports that a block of the same device announces.
void check_port_counts(const std::vector<MergedPort>& ports, Facts& facts) {
  std::map<std::string, Stated<int>> counts;
  for (const auto& port : ports) {
    if (port.facts.port_count) counts.emplace(port.facts.hca, *port.facts.port_count);
  }
  for (const auto& port : ports) {
    const auto count = counts.find(port.facts.hca);
    if (count == counts.end() || port.facts.number <= count->second.value) continue;
    facts.problem(port.facts.place, name_of(port.facts) + " is beyond the number of ports, " +
                                        describe(count->second.value) + ", at " +
                                        to_string(count->second.place));
  }
}

// The virtual functions of ConnectX adapters (PCI ids of mlx5); other even numbers are no such thing.
bool is_virtual(const MergedPort& port) {
  constexpr std::array kVirtual{4114, 4116, 4118, 4120, 4122, 4124, 4126};
  const auto& type = port.facts.device_type;
  return type && std::find(kVirtual.begin(), kVirtual.end(), type->value) != kVirtual.end();
}

bool has_address(const Port& port) {
  return port.gids && std::any_of(port.gids->begin(), port.gids->end(),
                                  [](const GidRow& row) { return !row.gid.is_link_local(); });
}

// Leaves out virtual functions of which no address is known beside their physical function, which shares
// their system image GUID: they are there for pods.
void leave_out_virtual(const std::vector<MergedPort>& merged, std::vector<Port>& ports, Facts& facts) {
  std::map<std::string, std::string> whole;  // by GUID
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const bool usable = !ports[i].gids || !ports[i].gids->empty();
    if (usable && merged[i].facts.device_type && !is_virtual(merged[i]) && ports[i].sys_image_guid)
      whole.emplace(*ports[i].sys_image_guid, ports[i].hca);
  }
  std::vector<Port> kept;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto found = whole.find(ports[i].sys_image_guid.value_or(""));
    if (found == whole.end() || !is_virtual(merged[i]) || has_address(ports[i])) {
      kept.push_back(std::move(ports[i]));
    } else {
      facts.note(merged[i].facts.place, name_of(merged[i].facts) + " is a virtual function of " +
                                            found->second + " without a known address: left out");
    }
  }
  ports = std::move(kept);
}

}  // namespace

std::vector<Port> merge_ports(Facts& facts) {
  std::vector<MergedPort> merged;
  std::map<std::pair<std::string, int>, std::size_t> positions;
  for (const PortFacts& stated : facts.ports) {
    const auto [position, is_new] = positions.emplace(std::pair(stated.hca, stated.number), merged.size());
    if (is_new) {
      if (merged.size() == kMaxTablePorts) {
        facts.problem(stated.place, "expected at most " + std::to_string(kMaxTablePorts) + " ports");
        return {};
      }
      merged.emplace_back();
      merged.back().facts.hca = stated.hca;
      merged.back().facts.number = stated.number;
      merged.back().facts.place = stated.place;
    }
    MergedPort& port = merged[position->second];
    port.stated = port.stated || !stated.unread || !stated.rows.empty() || stated.link_layer;
    if (stated.unread) port.unread.push_back(*stated.unread);
    add_port(port.facts, stated, facts);
    for (const RowFacts& row : stated.rows) add_row(port, row, facts);
    add_table(port, stated);
  }
  for (const MergedPort& port : merged) check_tables(port, facts);
  check_port_counts(merged, facts);
  std::size_t rows = 0;
  for (const MergedPort& port : merged) {
    rows += port.rows.size();
    if (rows <= kMaxTableRows) continue;
    facts.problem(port.facts.place, "expected at most " + std::to_string(kMaxTableRows) +
                                        " rows in all, and those of " + name_of(port.facts) + " are beyond");
    return {};
  }

  std::vector<Port> ports;
  ports.reserve(merged.size());
  for (const MergedPort& port : merged) ports.push_back(finish_port(port, facts));
  leave_out_virtual(merged, ports, facts);
  return ports;
}

}  // namespace nccl_env::listing
