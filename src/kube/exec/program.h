// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end, without a shell, and takes what it prints.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/net/client/http_client.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

struct Program {
  std::string command;  // a path, or a name that is looked for in the absolute folders of $PATH
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};  // beside ours, which it overrides; the last wins
  bool terminal = false;                                   // our stdin is its own; else it has none to read
};

// True if we are in the foreground of a terminal: somebody sits there, and can stop us.
bool in_foreground();
// True if our stdin is a terminal that we may read: one in whose foreground we are.
bool has_terminal();

// What it prints, at most 1 MiB; its stderr is ours. An error if it can't be started, ends with another exit
// code than 0, prints more, or takes longer than `limit`; then it is killed, and with it the processes that
// it started. In the foreground of a terminal it shares our process group, as for kubectl: Ctrl-C reaches it,
// and it may ask on /dev/tty; there it alone is killed.
Result<std::string> run_program(const Program& program, std::chrono::milliseconds limit,
                                const net::StopSignal& stop);

}  // namespace nccl_env::kube
