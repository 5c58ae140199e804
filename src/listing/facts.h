// SPDX-License-Identifier: Apache-2.0
// Statements of listings, each with the place where it stands, before they are merged.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "line.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/findings/finding.h"

namespace nccl_env::listing {

template <class T>
struct Stated {
  T value;
  Place place;
};

struct RowFacts {
  int index = 0;
  Stated<Gid> gid;
  bool masked = false;  // digits of the GID are hidden, and stand as 0
  std::optional<Stated<GidType>> type;
  std::optional<Place> not_v2;  // where it is "v1" without a netdev: RoCE v1, InfiniBand or iWARP
  std::optional<Stated<std::string>> netdev;
};

// A GID table of a port as one listing shows it: whole, in one place.
struct TableFacts {
  std::string_view format;
  Place place;
};

struct PortFacts {
  std::string hca;
  int number = 1;
  Place place;  // where the port is named
  std::optional<Stated<LinkLayer>> link_layer;
  std::optional<Stated<Transport>> transport;
  std::optional<Stated<PortState>> state;
  std::optional<Stated<double>> rate_gbps;
  std::optional<Stated<int>> active_mtu;
  std::optional<Stated<std::string>> board_id;
  std::optional<Stated<std::string>> sys_image_guid;
  std::optional<Stated<int>> gid_table_length;
  std::optional<Stated<std::string>> netdev;
  std::optional<Stated<int>> port_count;   // of the device
  std::optional<Stated<int>> device_type;  // the 4123 of MT4123
  std::optional<Place> no_gid;             // where it is told that no GID is there; InfiniBand ports have one
  std::optional<TableFacts> table;         // the one that `rows` are of
  std::vector<RowFacts> rows;
  // Why some row could not be read: then the port's rows are not known.
  std::optional<Stated<std::string>> unread;
};

// A fact of a port that a listing may state, and the member of a table's port that it becomes.
template <class Value>
struct StatedFact {
  std::optional<Stated<Value>> PortFacts::*stated;
  std::optional<Value> Port::*member;
  const char* name;  // in problems
};
// In the order in which contradictions are told.
inline constexpr std::tuple kStatedFacts{
    StatedFact<LinkLayer>{&PortFacts::link_layer, &Port::link_layer, "the link layer"},
    StatedFact<Transport>{&PortFacts::transport, &Port::transport, "the transport"},
    StatedFact<PortState>{&PortFacts::state, &Port::state, "the state"},
    StatedFact<double>{&PortFacts::rate_gbps, &Port::rate_gbps, "the rate"},
    StatedFact<int>{&PortFacts::active_mtu, &Port::active_mtu, "active_mtu"},
    StatedFact<std::string>{&PortFacts::board_id, &Port::board_id, "the board id"},
    StatedFact<std::string>{&PortFacts::sys_image_guid, &Port::sys_image_guid, "the system image GUID"},
    StatedFact<int>{&PortFacts::gid_table_length, &Port::gid_table_length, "gid_tbl_len"},
    StatedFact<std::string>{&PortFacts::netdev, &Port::netdev, "the netdev"}};

// Calls visit(fact) for each of them.
template <class Visit>
void each_fact(const Visit& visit) {
  std::apply([&](const auto&... fact) { (visit(fact), ...); }, kStatedFacts);
}

// With the line that counts the rest these are a hundred lines.
constexpr std::size_t kMostProblems = 99;
// Ports and rows in all files, repetitions included: sixteen times what a table holds.
constexpr std::size_t kMostStatements = 65536;

// Tells that a tool found nothing, or that it could not use what it found.
struct Answers {
  int count = 0;
  std::optional<Place> no_gid;             // show_gids: there is not one
  std::optional<Place> no_device;          // libibverbs finds none
  std::optional<Stated<std::string>> abi;  // libibverbs does not fit a driver: both ABIs, in words
  std::set<std::string> not_supported;     // devices of that driver
  std::optional<Place> not_opened;         // the first device that ibv_devinfo could not open …
  int not_opened_count = 0;
  std::set<std::string> opened;  // … and those that it could
};

struct Facts {
  std::vector<PortFacts> ports;
  Answers answers;
  std::vector<Finding> notes;            // the first kMostProblems
  std::vector<Finding> problems;         // the first kMostProblems
  std::size_t problem_count = 0;         // all
  std::set<std::string> contradictions;  // told already

  // Beyond kMostProblems only counted.
  void problem(const Place& place, std::string message, Code code = Code::ListingLine);
  void note(const Place& place, std::string message, Code code = Code::ListingLine);
  // A contradiction that was told already is not told again.
  void contradiction(const Place& place, const std::string& message);
  // Takes what one line or block says of a port. Statements beyond kMostStatements are a problem, told once.
  void add(PortFacts port);

 private:
  std::size_t statements_ = 0;
};

template <class Enum>
requires std::is_enum_v<Enum> std::string describe(Enum value) {
  return std::string(to_string(value));
}
std::string describe(const Gid& value);
std::string describe(const std::string& value);
std::string describe(int value);
std::string describe(double value);

// Adds a statement about `what`. A contradiction of an earlier statement is a problem that names both places;
// it is reported once for all lines that say the same (each row of a port repeats its link layer).
template <class T>
void state(std::optional<Stated<T>>& known, const Stated<T>& next, const std::string& what, Facts& facts) {
  if (!known) {
    known = next;
  } else if (known->value != next.value) {
    const std::string message = what + " is " + describe(next.value) + " here, but " +
                                describe(known->value) + " at " + to_string(known->place);
    facts.contradiction(next.place, message);
  }
}

}  // namespace nccl_env::listing
