// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "agent.h"
#include "nccl_env/node/libibverbs.h"
#include "nccl_env/packets/libibverbs.h"

int main(int argc, char** argv) {
  const auto verbs = nccl_env::node::open_libibverbs();
  const auto packets = nccl_env::packets::open_libibverbs();
  return nccl_env::agent::run_agent(argc, argv, *verbs, packets, {std::cin, std::cout, std::cerr});
}
