// SPDX-License-Identifier: Apache-2.0
// Notes on NCCL's choice: sentences, of which some are faults. Names of ports and lists in them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// NCCL does not do what the variables say, or fails doing it, as far as the table is right.
enum class NcclFault {
  PortDown,      // a port that the list names is not Active
  NoSuchPort,    // the list names what the node does not have
  Neighbour,     // a name of the list is the beginning of another device's
  NoPort,        // none is left
  TurnedOff,     // IB is asked for, and turned off
  MixedLinks,    // ports of both link layers
  EmptyIndex,    // the GID index names no row
  LinkLocal,     // the row is link-local
  OtherFamily,   // likewise, by NCCL's own search, and the port has an IPv6 row
  OldDefault,    // likewise, by the default of NCCL before 2.21, and the port has a better one
  RoceV1,        // the row is RoCE v1, where the port has one of v2
  NoInterface,   // no interface of the node has a name of the list
  NoFamily,      // those that have it have no address of the family asked for
  LoopbackFirst  // lo has, and comes first
};

struct NcclNotes {
  std::vector<std::string> texts;
  std::vector<std::pair<NcclFault, std::string>> faults;  // those of the texts that tell one

  void push_back(std::string text) { texts.push_back(std::move(text)); }
  void add(NcclFault fault, std::string text) {
    texts.push_back(text);
    faults.emplace_back(fault, std::move(text));
  }
};

std::string port_name(const Port& port);  // mlx5_0:1
// "a, b and 7 more": a note stays readable however long the table is.
std::string enumerate(const std::vector<std::string>& names);

// Notes on a list as such: entries beyond the limit, names that are too long.
void note_list_limits(const NcclNameList& list, std::string_view variable_name, const NcclVersion& version,
                      NcclNotes& notes);

}  // namespace nccl_env
