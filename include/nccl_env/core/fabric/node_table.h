// SPDX-License-Identifier: Apache-2.0
// A NodeFabric as JSON: its reader and its writer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "nccl_env/core/fabric/node_fabric.h"
#include "nccl_env/result.h"

namespace nccl_env {

// Reads a NodeFabric object (apiVersion, kind and metadata.name included). Every refused field is named
// by its path, all in one message: "observed.ports[2].gidRows[0]: …; observed.time: …".
// After twenty of them the rest is counted.
// Unknown fields are ignored (a newer agent may write more); `observed.summary` is derived and not read.
Result<NodeFabric> parse_node_fabric(const nlohmann::json& object);
// Reads it from JSON text of at most 8 MiB and 64 levels, without a tree, which would take ten times as long
// to make. A key that stands twice in an object that is read is refused.
Result<NodeFabric> read_node_fabric(std::string_view text);

// The fields of a port that hold its GID rows. Both are read, but not both of one port.
enum class RowsForm {
  Texts,    // gidRows: a text each (gid_row.h)
  Objects,  // gids: an object each, the older form; programs print verdicts with it
};
// True if a port of the object has its rows as objects. Takes any JSON.
bool has_row_objects(const nlohmann::json& object);
// The inverse, in the order of the documentation; fields that are absent stay absent.
nlohmann::ordered_json to_json(const NodeFabric& table, RowsForm rows = RowsForm::Texts);

}  // namespace nccl_env
