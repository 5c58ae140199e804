// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

// Keeps facts about a node's ports that one look does not show: when a port entered its state; the highest
// rate that it has had, which counts while it is down; and when an address got its GID index, if it had
// another one before. For a state of the first look, the beginning is unknown; a change between two looks
// begins at the second one.
class PortHistory {
 public:
  // Takes over what an earlier run of the agent knew, if it was of the same boot.
  void resume(const NodeFabric& earlier, const std::optional<std::string>& boot_id);
  // Notes the states, rates, GID rows and the node interface of a new look. Fills in state_since,
  // max_rate_gbps, gid_index_changes, gids_gone, index_since of the rows, and, where a look finds no node
  // interface, the last known one: a lost address does not change which port is the node's. A port that is
  // gone, or of another board, is forgotten; a value that could not be read this time changes nothing. In
  // exclusive mode, where pods take devices away, a port that is gone stays in the table with what its
  // hardware is.
  void note(NodeFabric& table, Timestamp now);

 private:
  // An address of a port, by netdev and GID, with the RoCE v2 row that it has or last had.
  struct Place {
    GidRow row;
    bool here = true;
    Timestamp since = {};  // when it went, if that was seen
  };
  struct Rows {
    std::map<std::pair<std::string, Gid>, Place> places;
    std::optional<int> changes;  // absent: the port never had a place
  };
  struct Record {
    std::optional<PortState> state;
    std::optional<Timestamp> since;
    std::optional<double> max_rate;
    std::optional<std::string> board;
    Rows rows;
    Port hardware = {};  // what stays true while a pod holds it
  };
  static void note_rows(Rows& rows, Port& port, Timestamp now);
  static std::optional<std::vector<GidRow>> gone_from(const Port& port, const Rows& rows);
  void keep_away(NodeFabric& table, std::map<std::pair<std::string, int>, Record>& noted) const;
  static void note_state(const Record& before, Port& port, Record& noted, Timestamp now);

  std::map<std::pair<std::string, int>, Record> records_;
  std::optional<std::string> node_interface_;
};

}  // namespace nccl_env::node
