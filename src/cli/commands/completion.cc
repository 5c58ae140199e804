// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "nccl_env/program/choice.h"
#include "nccl_env/program/help_formatter.h"

namespace nccl_env::cli {
namespace {

struct Candidate {
  std::string text;
  std::string description;  // the first sentence; may be ""
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // file names fit, too
};

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// one_of() describes an option as "{text,json}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.rfind('{');
  const std::size_t end = type.find('}', begin == type.npos ? 0 : begin);
  std::vector<std::string> choices;
  if (begin == type.npos || end == type.npos) return choices;
  for (std::size_t at = begin + 1; at <= end;) {
    const std::size_t comma = std::min(type.find(',', at), end);
    choices.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return choices;
}

bool is_file(const CLI::Option& option) {
  if (option.nonpositional()) return option.get_type_name().starts_with("FILE");
  return option.get_name().starts_with("FILE") || option.get_name().starts_with("LOG");
}

bool starts(const std::string& text, const std::string& part) {
  return text.starts_with(part);
}

Completion value_of(const CLI::Option& option, const std::string& part, const std::string& before = "") {
  Completion completion;
  for (const std::string& choice : choices_of(option)) {
    if (starts(choice, part)) completion.candidates.push_back({before + choice, ""});
  }
  completion.files = is_file(option);
  return completion;
}

const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional() && option->check_name(name)) return option;
  }
  return nullptr;
}

const CLI::App* find_command(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return command;
  }
  return nullptr;
}

Completion options_of(const CLI::App& app, const std::string& part) {
  Completion completion;
  const std::size_t equals = part.find('=');
  if (equals != part.npos) {
    const CLI::Option* option = find_option(app, part);
    if (!option || !takes_value(*option)) return completion;
    return value_of(*option, part.substr(equals + 1), part.substr(0, equals + 1));
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (starts("--" + name, part))
        completion.candidates.push_back({"--" + name, program::first_sentence(option->get_description())});
    }
  }
  return completion;
}

Completion words_of(const CLI::App& app, const std::string& part, std::size_t given) {
  Completion completion;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (starts(command->get_name(), part))
      completion.candidates.push_back(
          {command->get_name(), program::first_sentence(command->get_description())});
  }
  std::vector<const CLI::Option*> positional;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) positional.push_back(option);
  }
  if (positional.empty()) return completion;
  const CLI::Option& next = *positional[std::min(given, positional.size() - 1)];
  const bool more = given < positional.size() || next.get_items_expected_max() > 1;
  return more ? value_of(next, part) : completion;
}

// The scripts that shells read once. All of them ask the program (`nccl-env __complete WORD…`) what may come
// next.
constexpr std::string_view kBash = R"sh(# bash completion of nccl-env: source <(nccl-env completion bash)
_nccl_env() {
  local line directive=:4
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) directive=$line ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $directive == :4 ]]; then
    compopt +o default 2>/dev/null
  fi
}
complete -o default -F _nccl_env nccl-env
)sh";

constexpr std::string_view kZsh = R"sh(#compdef nccl-env
# zsh completion of nccl-env: source <(nccl-env completion zsh), after compinit
_nccl_env() {
  local line directive=:4
  local -a found
  while IFS= read -r line; do
    if [[ $line == :* ]]; then
      directive=$line
    elif [[ $line == *$'\t'* ]]; then
      found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    else
      found+=("${line//:/\\:}")
    fi
  done < <("${words[1]/#\~/$HOME}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#found )) && _describe -V nccl-env found
  [[ $directive == :0 ]] && _files
}
compdef _nccl_env nccl-env
)sh";

constexpr std::string_view kFish = R"sh(# fish completion of nccl-env: nccl-env completion fish | source
function __nccl_env_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l directive :4
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        if string match -q -- ':*' $line
            set directive $line
        else
            echo $line
        end
    end
    if test $directive = :0
        __fish_complete_path "$current"
    end
end
complete -c nccl-env -f -a '(__nccl_env_complete)'
)sh";

struct CompletionArguments {
  std::string shell;
};

int print_completion(const CompletionArguments& arguments, const Console& terminal) {
  const auto& [shell] = arguments;
  terminal.out << (shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return program::kDone;
}

// Completes from the commands' own description, so that no option is written down twice.
Completion find_words(const CLI::App& root, std::vector<std::string> words) {
  std::string part;
  if (!words.empty()) {
    part = words.back() == "=" ? "" : words.back();
    if (words.back() != "=") words.pop_back();
  }
  const CLI::App* app = &root;
  const CLI::Option* waiting = nullptr;  // for its value
  std::size_t given = 0;                 // positionals of app
  bool only_positionals = false;
  for (const std::string& word : words) {
    if (waiting && word == "=") continue;
    if (waiting) {
      waiting = nullptr;
    } else if (!only_positionals && word == "--") {
      only_positionals = true;
    } else if (!only_positionals && word.size() > 1 && word[0] == '-') {
      const CLI::Option* option = find_option(*app, word);
      if (option && takes_value(*option) && word.find('=') == word.npos) waiting = option;
    } else if (const CLI::App* command = find_command(*app, word)) {
      app = command;
      given = 0;
    } else {
      ++given;
    }
  }
  if (waiting) return value_of(*waiting, part);
  if (!only_positionals && !part.empty() && part[0] == '-') return options_of(*app, part);
  return words_of(*app, part, given);
}

}  // namespace

std::string complete(const CLI::App& root, std::vector<std::string> words) {
  const Completion completion = find_words(root, std::move(words));
  std::string text;
  for (const Candidate& candidate : completion.candidates) {
    text += candidate.text;
    if (!candidate.description.empty()) text += "\t" + candidate.description;
    text += "\n";
  }
  return text + (completion.files ? ":0\n" : ":4\n");
}

void add_completion(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(parent,
                                {"completion",
                                 "Print the script by which a shell completes command lines.",
                                 "nccl-env completion bash > /etc/bash_completion.d/nccl-env",
                                 {}},
                                print_completion);
  app.add_option("SHELL", to.shell, "The shell to complete for")
      ->required()
      ->check(program::one_of({"bash", "zsh", "fish"}))
      ->type_name("");
}

}  // namespace nccl_env::cli
