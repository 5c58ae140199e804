// SPDX-License-Identifier: Apache-2.0
// Decides a pod's values inside the pod, at container start: the third moment after CREATE and Binding. The
// rules are those of plan.h and node_values.h, over a table of what the pod's own namespace shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env {

// Variables of the init container's own environment, beside the values by their names.
namespace init_variable {
inline constexpr std::string_view kPolicy = "NCCL_ENV_POLICY";  // an NcclPolicy as JSON: it looks by itself
inline constexpr std::string_view kConf = "NCCL_ENV_CONF";      // the text of nccl.conf, of the Binding
inline constexpr std::string_view kFile = "NCCL_ENV_FILE_";     // and an engine's file: its text
inline constexpr std::string_view kNode = "NCCL_ENV_NODE";  // the node annotation; "" where nothing was bound
}  // namespace init_variable

struct Resolution {
  ConfValues values;                                      // the lines of nccl.conf
  ConfValues env;                                         // of the file of EnvFile; the list may lack its '='
  std::map<std::string, std::string, std::less<>> files;  // of engines, by name
  std::vector<Value> omitted;
  bool complete = true;                     // nothing is left out for a reason of the node
  std::vector<std::string> unread;          // devices that could not be read; the rest counts
  std::optional<std::int64_t> memory_lock;  // the pod's limit in bytes; -1: none
  std::vector<std::string> problems;        // why the file is empty, or could not be written
};

// `table` holds what the pod sees: its devices, the rows of its addresses, all its interfaces.
// `host_network`: the pod is on the node's own network; only there the policy's socketInterface FromNode and
// expectPorts have a meaning. The policy's constants are among the values if it delivers by file; else they
// are in the pod's env. `given`, the Binding's text, holds what differs from node to node (settle_by_text);
// none of it is looked for here.
Resolution resolve_in_pod(const NcclPolicy& policy, const NodeFabric& table, bool host_network, Timestamp now,
                          const ConfText& given = {});

// Takes the values of these variables from the Binding's text; a note goes before a line. `node`: the node
// annotation; "" if no webhook answered at the Binding, and then those that are missing are NotBound.
Resolution resolve_given(const std::vector<std::string>& names, const ConfText& given, std::string_view node);

// For people: a line for each value, omission and problem; printable ASCII.
std::string render_text(const Resolution& resolution);
// For explain: one JSON object on each line, first the version of the form (docs/reference/agent.md). The
// kubelet may keep only the beginning; complete lines in it still count.
std::string render_message(const Resolution& resolution);

}  // namespace nccl_env
