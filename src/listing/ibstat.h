// SPDX-License-Identifier: Apache-2.0
// ibstat: a block per device that begins with CA 'NAME', "Key: value" lines, and per port a line "Port N:".
// ibstat NAME PORT prints "CA: 'NAME'" and the one port.
#pragma once

#include <memory>

#include "reader.h"

namespace nccl_env::listing {

std::unique_ptr<Reader> make_ibstat_reader();

}  // namespace nccl_env::listing
