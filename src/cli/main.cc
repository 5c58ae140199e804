// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "nccl_env/cli/cli.h"
#include "nccl_env/cli/verdict_colours.h"
#include "nccl_env/net/modules.h"

int main(int argc, char** argv) {
  using namespace nccl_env::cli;
#ifdef NCCL_ENV_PORTABLE
  nccl_env::net::load_no_modules();
#endif
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size.ws_col = 0;  // not a terminal
  VerdictColours colours(std::cout);
  const bool coloured =
      ::isatty(STDOUT_FILENO) != 0 && wants_colours(std::getenv("NO_COLOR"), std::getenv("TERM"));
  std::ostream out(coloured ? &colours : std::cout.rdbuf());
  return run_cli(argc, argv, {std::cin, out, std::cerr, size.ws_col});
}
