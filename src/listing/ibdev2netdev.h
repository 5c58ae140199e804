// SPDX-License-Identifier: Apache-2.0
// ibdev2netdev: one line per port,
//   DEV port N ==> NETDEV (Up|Down)
// Up and Down are the netdev's, and say nothing of the port. Older versions draw the arrow as <===>.
#pragma once

#include <memory>

#include "reader.h"

namespace nccl_env::listing {

std::unique_ptr<Reader> make_ibdev2netdev_reader();

}  // namespace nccl_env::listing
