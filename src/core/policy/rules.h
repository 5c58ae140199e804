// SPDX-License-Identifier: Apache-2.0
// The rules of a policy that say which ports, which HCAs and which interface. Some stand in variants, too.
#pragma once

#include "nccl_env/core/policy/policy.h"
#include "policy/fields.h"

namespace nccl_env {

// Each reads its field of `fields`, spec's or a variant's; if the field is absent, `out` does not change.
void read_hca(const Fields& fields, Findings& findings, HcaRule& out);
void read_socket_interface(const Fields& fields, Findings& findings, SocketInterfaceRule& out);
void read_fabric(const Fields& fields, Findings& findings, FabricRule& out);

}  // namespace nccl_env
