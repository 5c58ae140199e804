// SPDX-License-Identifier: Apache-2.0
// Variables that a policy wants for every container of a pod, before its own env is looked at.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

struct Wish {
  std::string_view name;         // of the catalogue or the policy; `detail`: a constant or `rails_unknown`
  std::optional<Source> source;  // absent: not wanted, `reason` says why
  std::string value;             // as in PlannedVariable
  Reason reason = Reason::OmittedByPolicy;
  std::string_view detail;
  bool in_env = false;   // if wanted: an entry of the env brings it
  bool in_file = false;  // nccl.conf does
};

// The finder of what a node has: its table at Binding, or the pod itself before its containers start.
enum class Finder { Node, Pod };

// In the order in which the variables are written: HCA, GID group, partition, socket interface, constants by
// name.
// `rails_unknown`: as in PodMatch; it outlives the wishes.
std::vector<Wish> make_wishes(const NcclPolicy& policy, Exposure exposure, bool host_network, Finder finder,
                              std::string_view rails_unknown = {});

// True for the variables that decide NCCL's GID: if the user sets one of them, we set none.
bool in_gid_group(std::string_view variable);

}  // namespace nccl_env
