// SPDX-License-Identifier: Apache-2.0
// Members of a test, as healthy nodes give them.
#pragma once

#include <string>

#include "nccl_env/core/proof/proof.h"

namespace nccl_env::proof_test {

// Rail n is mlx5_n:1 in 10.0.n.0/24.
inline ProofMember member(int place, int rails) {
  ProofMember made{.place = place, .node = "gpu-" + std::to_string(place), .rails = {}};
  for (int rail = 0; rail < rails; ++rail) {
    made.rails.push_back({.hca = "mlx5_" + std::to_string(rail),
                          .port = 1,
                          .link_layer = LinkLayer::Ethernet,
                          .gid_index = 3,
                          .network = "10.0." + std::to_string(rail) + ".0/24",
                          .mtu = 4096});
  }
  return made;
}

}  // namespace nccl_env::proof_test
