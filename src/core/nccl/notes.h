// SPDX-License-Identifier: Apache-2.0
// Names of ports and lists in the notes on NCCL's choice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/nccl/name_list.h"

namespace nccl_env {

std::string port_name(const Port& port);  // mlx5_0:1
// "a, b and 7 more": a note stays readable however long the table is.
std::string enumerate(const std::vector<std::string>& names);

// Notes on a list as such: entries beyond the limit, names that are too long.
void note_list_limits(const NcclNameList& list, std::string_view variable_name, const NcclVersion& version,
                      std::vector<std::string>& notes);

}  // namespace nccl_env
