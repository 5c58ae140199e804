// SPDX-License-Identifier: Apache-2.0
// The fields of a policy that are a word or something else: which HCAs, index, interface and carriers.
#pragma once

#include "nccl_env/core/policy/policy.h"
#include "policy/fields.h"

namespace nccl_env {

// Each reads its field of `fields`, spec's or a variant's; if the field is absent, `out` does not change.
void read_hca(const Fields& fields, Findings& findings, HcaRule& out);
void read_socket_interface(const Fields& fields, Findings& findings, SocketInterfaceRule& out);
void read_gid_index(const Fields& fields, Findings& findings, GidIndexRule& out);
void read_delivery(const Fields& fields, Findings& findings, NcclPolicy& policy);

}  // namespace nccl_env
