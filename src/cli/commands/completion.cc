// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <ostream>

#include "nccl_env/core/text/join.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/program/usage.h"

namespace nccl_env::cli {
namespace {

struct CompletionArguments {
  std::string shell;
  const CLI::App* root = nullptr;
};

// A command, and what may stand behind it.
struct Completed {
  std::string path;  // " table import"; "" of the program itself
  std::vector<std::string> commands, options;
};

void add_completed(const CLI::App& app, const std::string& path, std::vector<Completed>& into) {
  const std::vector<std::string> commands = program::command_names(app);
  into.push_back({path, commands, program::option_names(app)});
  for (const std::string& command : commands)
    add_completed(*app.get_subcommand(command), path + " " + command, into);
}

// Prints bash's script, which zsh runs, too, by bashcompinit. Where nothing fits, files do.
void print_bash(const std::vector<Completed>& all, std::ostream& out) {
  out << "_nccl_env() {\n  local path= word commands= options=\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path $word\" in\n";
  for (const auto& [path, commands, options] : all) {
    if (!path.empty()) out << "      '" << path << "') path='" << path << "' ;;\n";
  }
  out << "    esac\n  done\n  case $path in\n";
  for (const auto& [path, commands, options] : all)
    out << "    '" << path << "') commands='" << join(commands, " ") << "' options='" << join(options, " ")
        << "' ;;\n";
  out << "  esac\n  word=${COMP_WORDS[COMP_CWORD]}\n  [[ $word == -* ]] && commands=$options\n"
         "  COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n}\n"
         "complete -o default -F _nccl_env nccl-env\n";
}

void print_fish(const std::vector<Completed>& all, std::ostream& out) {
  for (const auto& [path, commands, options] : all) {
    const std::string at = path.substr(path.rfind(' ') + 1);  // "" of the program itself
    const std::string when = at.empty() ? "__fish_use_subcommand"
                                        : "__fish_seen_subcommand_from " + at +
                                              "; and not __fish_seen_subcommand_from " + join(commands, " ");
    const std::string leaf = "__fish_seen_subcommand_from " + at;
    const std::string line = "complete -c nccl-env -n '" + (commands.empty() ? leaf : when) + "' ";
    if (!commands.empty()) out << line << "-f -a '" << join(commands, " ") << "'\n";
    for (const std::string& option : options) out << line << "-l " << option.substr(2) << '\n';
  }
}

int print_completion(const CompletionArguments& arguments, const Console& terminal) {
  const auto& [shell, root] = arguments;
  std::vector<Completed> all;
  add_completed(*root, "", all);
  if (shell == "fish") {
    print_fish(all, terminal.out);
  } else {
    if (shell == "zsh") terminal.out << "autoload -U +X bashcompinit && bashcompinit\n";
    print_bash(all, terminal.out);
  }
  return program::kDone;
}

}  // namespace

void add_completion(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(parent,
                                {"completion",
                                 "Print the script by which a shell completes commands and options.",
                                 "nccl-env completion bash > /etc/bash_completion.d/nccl-env",
                                 {}},
                                print_completion);
  to.root = &parent;
  app.add_option("SHELL", to.shell, "The shell to complete for")
      ->required()
      ->check(program::one_of({"bash", "zsh", "fish"}))
      ->type_name("");
}

}  // namespace nccl_env::cli
