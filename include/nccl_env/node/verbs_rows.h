// SPDX-License-Identifier: Apache-2.0
// Adds GID rows and other facts from libibverbs to devices that were read from sysfs.
#pragma once

#include <vector>

#include "nccl_env/node/devices.h"
#include "nccl_env/node/verbs.h"

namespace nccl_env::node {

// Adds what verbs knows: exact GID types, the interface index of each row, speeds, MTU. The devices stay
// those of sysfs. If a device can't be opened, or a query fails, the values of sysfs stay and a problem is
// added. If no device can be opened, returns an error and adds no problem: the process then lacks the device
// files, and the devices may be sound.
Status add_verbs(std::vector<RdmaDevice>& devices, Verbs& verbs, Problems& problems);

}  // namespace nccl_env::node
