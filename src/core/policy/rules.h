// SPDX-License-Identifier: Apache-2.0
// The fields of a policy that are a word or something else: which HCAs, index, interface and carriers.
#pragma once

#include "nccl_env/core/policy/policy.h"
#include "policy/fields.h"

namespace nccl_env {

// Each reads its field, spec's or a variant's; if the field is absent, `out` does not change.
void read_hca(const PolicyInput& in, HcaRule& out);
void read_socket_interface(const PolicyInput& in, SocketInterfaceRule& out);
void read_gid_index(const PolicyInput& in, GidIndexRule& out);
void read_delivery(const PolicyInput& in, NcclPolicy& policy);

}  // namespace nccl_env
