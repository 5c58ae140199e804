// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "nccl_env/cli/cli.h"

int main(int argc, char** argv) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size.ws_col = 0;  // not a terminal
  return nccl_env::app::run_cli(argc, argv, {std::cin, std::cout, std::cerr, size.ws_col});
}
