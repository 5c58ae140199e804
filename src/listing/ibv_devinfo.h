// SPDX-License-Identifier: Apache-2.0
// ibv_devinfo: a block per device that begins with hca_id:, with "key:   value" lines of the device, then
// for each port a line port:, and the port's lines. With -v also many capability lines, and at the end of
// each port its valid GID rows: "GID[  1]:   ::ffff:10.22.116.221, RoCE v2" (older ones: no type).
#pragma once

#include <memory>

#include "reader.h"

namespace nccl_env::listing {

std::unique_ptr<Reader> make_ibv_devinfo_reader();

}  // namespace nccl_env::listing
