// SPDX-License-Identifier: Apache-2.0
// The parts of a policy that become values of environment variables.
#pragma once

#include <map>
#include <string>

#include "nccl_env/core/policy/policy.h"
#include "policy/fields.h"

namespace nccl_env {

void read_hca(const Fields& spec, Findings& findings, HcaRule& out);
void read_gid_index(const Fields& spec, Findings& findings, GidIndexRule& out);
void read_socket_interface(const Fields& spec, Findings& findings, SocketInterfaceRule& out);
void read_env(const Fields& spec, const PolicyOptions& options, Findings& findings,
              std::map<std::string, std::string, std::less<>>& out);

}  // namespace nccl_env
