// SPDX-License-Identifier: Apache-2.0
// A GID row as one text, the form in which a table holds it: as an object of six fields, a row would take
// five times as much memory in an API server.
//
//   INDEX [IB|RoCEv1|RoCEv2] ADDRESS|gid GID [dev NETDEV] [since TIME]
//
// One blank stands between two words, and what is not known is left out. ADDRESS is the row's IP address,
// from which the GID follows; a row that stands for no address names the GID instead.
//
//   3 RoCEv2 25.11.128.2 dev eth1
//   0 RoCEv1 gid fe80::5aa2:e1ff:fe11:2233 dev eth1
//   5 RoCEv2 2001:db8::2 dev eth1 since 2026-11-20T07:00:00Z
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/fabric/node_fabric.h"
#include "nccl_env/result.h"

namespace nccl_env {

// Reads at most 128 bytes; addresses, GIDs and times in any form that their parsers take.
Result<GidRow> parse_gid_row(std::string_view text);
// The inverse: addresses and GIDs in their short forms, the time in UTC.
std::string format_gid_row(const GidRow& row);

}  // namespace nccl_env
