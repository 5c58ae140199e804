// SPDX-License-Identifier: Apache-2.0
// ibstatus: a block per port,
//   Infiniband device 'DEV' port N status:
//     default gid: …, state: 4: ACTIVE, rate: 25 Gb/sec (1X EDR), link_layer: Ethernet
// The default gid is row 0 as the port was born, not a reading of the table.
#pragma once

#include <memory>

#include "reader.h"

namespace nccl_env::listing {

std::unique_ptr<Reader> make_ibstatus_reader();

}  // namespace nccl_env::listing
