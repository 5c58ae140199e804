// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "nccl_env/cli/cli.h"

int main(int argc, char** argv) {
  return nccl_env::app::run_cli(argc, argv, {std::cin, std::cout, std::cerr});
}
