// SPDX-License-Identifier: Apache-2.0
// A container's command and args as they run: simple commands, also of the script that a shell is given.
//
//   [ Container ] --> [ words ] of its own command, then of each script in them --> whoever asks
//
// Nothing is kept. Bounded: 64 KiB are read, and scripts in scripts to a depth of four; time is linear.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/pod/review.h"

namespace nccl_env {

struct CommandWord {
  std::string text;        // without quotes and without what is expanded
  bool literal = true;     // nothing in it is expanded
  std::string inner = {};  // what is in its $(…) and `…`
};
// The words of one simple command, as it is written; `> FILE` in it is one of its own, which comes first.
using CommandWords = std::vector<CommandWord>;

// `certain`: it runs whatever happens before. It stands behind no `&&`, `||` or `|`, and in its script before
// each `if`, `case`, loop, group, function and here-document.
using CommandUse = std::function<void(const CommandWords& words, bool certain)>;
void each_command(const Container& container, const CommandUse& use);

// True if the command names the variable where that may set it: not in comments, expansions and tests,
// `unset`, `env -u`, and words that are told or sought (echo, grep). What is no shell's text counts wherever
// it has the name: a here-document, a program's argument.
bool may_set(const Container& container, std::string_view name);

// Returns the first of the files that the command may write, replace or take away, by `>`, tee, cp and the
// like; "" if it does not. A path that begins with "/." is in any directory.
std::string_view written_of(const Container& container, std::span<const std::string_view> paths);

// Returns the place of the program behind assignments, `env`, `exec` and the like; the number of words where
// there is none.
std::size_t program_of(const CommandWords& words);

// "mpirun" of "/opt/bin/mpirun".
std::string_view base_name(std::string_view path);

}  // namespace nccl_env
