// SPDX-License-Identifier: Apache-2.0
// show_gids: a table of the valid GID rows, one line each:
//   DEV PORT INDEX GID [IPv4] VER [DEV]
// The columns are tab separated and collapse to blanks in copies, so that the empty IPv4 column of
// link-local and IPv6 rows vanishes. The netdev is empty on InfiniBand and iWARP.
#pragma once

#include <memory>

#include "reader.h"

namespace nccl_env::listing {

std::unique_ptr<Reader> make_show_gids_reader();

}  // namespace nccl_env::listing
