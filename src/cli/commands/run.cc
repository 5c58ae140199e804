// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "commands/commands.h"
#include "commands/machine.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env::cli {
namespace {

struct RunArguments : MachineArguments {
  std::vector<std::string> command;
  bool verbose = false;
};

// As a shell's: the command was not found, and could not be started.
constexpr int kNotFound = 127, kNotStarted = 126;

void tell(const MachineEnv& env, bool verbose, std::ostream& err) {
  const auto say = [&](const std::string& sentence) { err << "nccl-env: " << printable(sentence) << '\n'; };
  if (!env.nothing.empty()) return say(env.nothing + "; nothing is set");
  if (!env.disabled.empty()) say(env.disabled);
  if (!env.unlisted.empty()) say(env.unlisted);
  for (const Finding& finding : env.findings) {
    if (verbose || finding.severity != Severity::Info)
      say(std::string(to_string(finding.code)) + ": " + finding.sentence + " " +
          std::string(remedy_of(finding)));
  }
  if (!verbose) return;
  for (const Value& value : env.given) say("set " + value.name + "=" + *value.value);
  for (const Value& value : env.omitted)
    say("not set: " + value.name + " (" + std::string(to_string(*value.reason)) + ")");
}

// Does not return if the command starts.
int start(const std::vector<std::string>& command, const Console& terminal) {
  std::vector<char*> words;  // to which nothing writes
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  terminal.out.flush();
  terminal.err.flush();
  ::execvp(words.front(), words.data());
  const int problem = errno;
  stop(terminal, program::kNotSeen, command.front() + ": " + std::strerror(problem));
  return problem == ENOENT ? kNotFound : kNotStarted;
}

int run_command(const RunArguments& arguments, const Console& terminal) {
  MachineEnv env;
  if (const program::Failure failure = decide_environment(arguments, terminal.in, env))
    return stop(terminal, failure);
  tell(env, arguments.verbose, terminal.err);
  for (const Value& value : env.given) ::setenv(value.name.c_str(), value.value->c_str(), 0);
  return start(arguments.command, terminal);
}

}  // namespace

void add_run(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"run",
       "Start a command with what `env` prints added to its environment. The command takes the place of this "
       "program, so its exit code is the command's; 126 if it could not be started, 127 if there is none. "
       "Where nothing is known, it runs as it would without us.",
       "nccl-env run -- torchrun --nproc-per-node 8 train.py",
       {}},
      run_command);
  add_machine_options(app, to);
  app.add_flag("-v,--verbose", to.verbose, "Say on the standard error what is set, and why the rest is not");
  app.add_option("COMMAND", to.command, "The command and its arguments; behind --, if it begins with -")
      ->required()
      ->type_name("")
      ->expected(1, -1);
}

}  // namespace nccl_env::cli
