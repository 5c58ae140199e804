// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end, without a shell, and takes what it prints.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env::cli {

struct Program {
  std::string path;
  std::vector<std::string> args{};
  std::string input{};  // its stdin; "": our terminal if we are in its foreground, else nothing to read
  std::chrono::milliseconds limit{60'000};
  bool idle = false;   // the limit begins anew with each output
  int interrupt = -1;  // a descriptor: the program is killed once it is readable
};

struct Ended {
  int code = 0;
  std::string complaint;  // its stderr, of which at most 64 KiB are kept
};

// Looks for a program in the absolute folders of $PATH; "": there is none.
std::string find_program(const std::string& name);

// True if we are in the foreground of a terminal: somebody sits there, and can stop us.
bool in_foreground();

// Gives the program's stdout to `on_part` piece by piece; once `on_part` returns false the program is killed,
// and the code is 0. An error if it can't be started, is ended by a signal, is interrupted, or takes longer
// than its limit; then it is killed, and with it the processes that it started. In the foreground of a
// terminal it shares our process group, so that Ctrl-C reaches it, and only it is killed. If it writes to
// stderr, such as where to log in, and then nothing more for a second, that text is shown on our stderr.
Result<Ended> run_program(const Program& program, const std::function<bool(std::string_view part)>& on_part);

}  // namespace nccl_env::cli
