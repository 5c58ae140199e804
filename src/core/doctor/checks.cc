// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks.h"

namespace nccl_env::doctor {

void each_fabric_port(const PoolView& pool, const OnPort& visit) {
  for (const Rail& rail : pool.rails) {
    if (!rail.fabric) continue;
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      if (rail.ports[i]) visit(*pool.nodes[i], rail, *rail.ports[i]);
    }
  }
}

}  // namespace nccl_env::doctor
