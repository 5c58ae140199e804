// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/notes.h"

#include "nccl_env/core/text/join.h"

namespace nccl_env {

std::string port_name(const Port& port) {
  return port.hca + ":" + std::to_string(port.number);
}

std::string enumerate(const std::vector<std::string>& names) {
  return join_some(names, 8);
}

void note_list_limits(const NcclNameList& list, std::string_view variable_name, const NcclVersion& version,
                      NcclNotes& notes) {
  const std::string name(variable_name);
  if (list.dropped > 0) {
    notes.push_back("NCCL " + format_nccl_version(version) + " reads " + std::to_string(list.entries.size()) +
                    " entries of " + name + " and silently ignores " + std::to_string(list.dropped) +
                    " more.");
  }
  if (list.too_long > 0) {
    notes.push_back(name +
                    (version >= nccl_since::kRailsAndPlanes
                         ? " has a name of 64 bytes or more, which NCCL cuts to 63."
                         : " has a name of 64 bytes or more, which overruns NCCL's memory up to 2.30.4."));
  }
}

}  // namespace nccl_env
