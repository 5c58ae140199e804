// SPDX-License-Identifier: Apache-2.0
// rdma link: one line per port,
//   link DEV/PORT state STATE physical_state PHYS [netdev NETDEV]
//   link DEV/PORT subnet_prefix PREFIX lid LID sm_lid LID lmc LMC state STATE physical_state PHYS
// Older iproute2 writes "1/1: DEV/PORT:" in place of "link DEV/PORT". Only InfiniBand ports have a lid.
#pragma once

#include <memory>

#include "reader.h"

namespace nccl_env::listing {

std::unique_ptr<Reader> make_rdma_link_reader();

}  // namespace nccl_env::listing
