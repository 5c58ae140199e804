// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/usage.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iostream>

#include "nccl_env/base/log.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::program {
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

namespace {

// Returns "" where the option is known, or the word is no option: "-" and negative numbers are values.
std::string problem_of_option(const CLI::App& app, const std::string& word) {
  const bool is_long = word.starts_with("--") && word.size() > 2;
  const bool is_short =
      word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1]));
  if (!is_long && !is_short) return {};
  const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  if (app.get_option_no_throw(name) != nullptr) return {};
  return "there is no option " + name + suggestion(name, option_names(app));
}

}  // namespace

Usage usage_problem(const CLI::App& root, const std::vector<std::string>& words, const std::string& refusal) {
  const CLI::App* app = &root;
  std::string path, problem;
  for (const std::string& word : words) {
    const std::vector<std::string> commands = command_names(*app);
    if (std::ranges::find(commands, word) != commands.end()) {
      app = app->get_subcommand(word);
      path += " " + word;
    } else if (problem = problem_of_option(*app, word); !problem.empty()) {
      break;
    } else if (!commands.empty() && !word.starts_with('-')) {
      const std::string near = suggestion(word, commands);
      problem = "there is no command " + word + (near.empty() ? ", only " + join(commands) : near);
      break;
    }
  }
  if (problem.empty()) problem = refusal;
  return {problem, root.get_name() + path + " --help"};
}

int refuse_usage(const Usage& usage, Reader reader) {
  if (reader == Reader::Person || ::isatty(STDERR_FILENO) == 1) {
    std::cerr << usage.help.substr(0, usage.help.find(' ')) << ": " << printable(usage.sentence()) << '\n';
  } else {
    Logger::to_stream(std::cerr, LogLevel::Error)
        ->error("could not start", {{"problem", usage.problem}, {"help", usage.help}});
  }
  return kUsage;
}

}  // namespace nccl_env::program
