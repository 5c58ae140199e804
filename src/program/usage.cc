// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/usage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <optional>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/program/help_formatter.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::program {
namespace {

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

bool is_option(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw(name) != nullptr;
}

// Returns "" where the option is known, or the word is no option: "-" and negative numbers are values.
std::string problem_of_option(const CLI::App& app, const std::string& title, const std::string& word) {
  const bool is_long = word.starts_with("--") && word.size() > 2;
  const bool is_short =
      word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1]));
  if (!is_long && !is_short) return {};
  const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  if (is_option(app, name)) return {};
  const std::vector<std::string> commands = command_names(app);
  const auto takes_it = [&](const std::string& command) {
    return is_option(*app.get_subcommand(command), name);
  };
  if (std::ranges::any_of(commands, takes_it))
    return name + " belongs to a command and stands behind it: " + title + " COMMAND " + name;
  return "there is no option " + name + suggestion(name, option_names(app));
}

// CLI11's sentence: {0}, `first`, {1}, `second`, {2}. {0} is an option's name, or empty.
struct Rewording {
  std::string_view first, second, ours;
};

// The library's versions differ in how they write a range.
constexpr std::array kRewordings{
    Rewording{": Value ", " not in range [", "{0}: \"{1}\" is not a number in [{2}"},
    Rewording{": Value ", " not in range ", "{0}: \"{1}\" is not a number from {2}"},
    Rewording{": At Most ", " required but received ", "{0} takes at most {1}, and {2} are given"},
    Rewording{": At least ", " required but received ", "{0} needs at least {1}, and {2} are given"},
    Rewording{": Directory does not exist: ", "", "{0}: there is no directory {2}"},
    Rewording{": Directory is actually a file: ", "", "{0}: {2} is a file, not a directory"},
    Rewording{"The following argument was not expected: ", "", "{2} is one word too many"},
    Rewording{"The following arguments were not expected: ", "", "these words are too many: {2}"},
    Rewording{"Could not convert: ", " = ", "{1}: \"{2}\" is not a number"},
};

std::optional<std::array<std::string, 3>> parts_of(const std::string& sentence, const Rewording& rewording) {
  const std::size_t first = sentence.find(rewording.first);
  if (first == sentence.npos || sentence.find(' ') < first) return std::nullopt;
  const std::size_t begin = first + rewording.first.size();
  const std::size_t second = sentence.find(rewording.second, begin);
  if (second == sentence.npos) return std::nullopt;
  return std::array{sentence.substr(0, first), sentence.substr(begin, second - begin),
                    sentence.substr(second + rewording.second.size())};
}

// Returns the library's own sentence where no other is known.
std::string in_our_words(const CLI::App& app, const std::string& sentence) {
  for (const Rewording& rewording : kRewordings) {
    const auto parts = parts_of(sentence, rewording);
    if (!parts) continue;
    std::string ours;
    for (std::size_t at = 0; at < rewording.ours.size(); ++at) {
      if (rewording.ours[at] != '{') {
        ours += rewording.ours[at];
      } else {
        ours += parts->at(static_cast<std::size_t>(rewording.ours[at + 1] - '0'));
        at += 2;
      }
    }
    return ours;
  }
  const auto missing = parts_of(sentence, {": ", " required ", ""});
  const CLI::Option* option = missing ? app.get_option_no_throw(missing->front()) : nullptr;
  if (!option || !sentence.ends_with(" missing")) return sentence;
  return missing->front() + " needs a value: " + value_name(*option);
}

// "table import", for a word that is a command of a command.
std::string command_within(const CLI::App& app, const std::string& word) {
  for (const std::string& name : command_names(app)) {
    const std::vector<std::string> inner = command_names(*app.get_subcommand(name));
    if (std::ranges::find(inner, word) != inner.end()) return name + " " + word;
  }
  return {};
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
    } else if (problem = problem_of_option(*app, root.get_name() + path, word); !problem.empty()) {
      break;
    } else if (!commands.empty() && !word.starts_with('-')) {
      const std::string within = command_within(*app, word);
      const std::string near = within.empty() ? suggestion(word, commands) : ": do you mean " + within + "?";
      problem = "there is no command " + word + (near.empty() ? ", only " + join(commands) : near);
      break;
    }
  }
  if (problem.empty() && !refusal.empty()) {
    const std::vector<std::string> commands = command_names(*app);
    problem = in_our_words(*app, refusal);
    if (!commands.empty())
      problem = (path.empty() ? "" : path.substr(1) + " ") + "needs one of: " + join(commands);
  }
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
