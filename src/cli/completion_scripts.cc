// SPDX-License-Identifier: Apache-2.0
// What shells read once. All of them ask the program (`nccl-env __complete WORD…`) what may come next.
#include <ostream>
#include <string_view>

#include "commands/commands.h"
#include "completion.h"

namespace nccl_env::app {
namespace {

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

}  // namespace

std::string completion_script(const std::string& shell) {
  return std::string(shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "");
}

int print_completion(const CompletionArguments& arguments, const Terminal& terminal) {
  terminal.out << completion_script(arguments.shell);
  return kDone;
}

}  // namespace nccl_env::app
