// SPDX-License-Identifier: Apache-2.0
// The options of uninstall, completion.
#include "command_line.h"

namespace nccl_env::app {
namespace {

void add_uninstall(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<UninstallArguments>();
  UninstallArguments& to = *arguments;
  CLI::App& app = line.command(
      parent,
      {"uninstall",
       "Tell what of nccl-env is in the cluster, which pods still wait for values from their Binding, and "
       "what to remove next. Removes nothing. Exit 0 if the binding hook may be removed, 1 if not yet.",
       "nccl-env uninstall --check"},
      check_uninstall, arguments);
  app.add_flag("--check", to.check, "Look, and change nothing");
  add_kubeconfig(app, to.kubeconfig);
  add_output(app, to.output, {"text", "json"});
}

void add_completion(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<CompletionArguments>();
  CLI::App& app = line.command(parent,
                               {"completion", "Print what a shell needs to complete command lines.",
                                "nccl-env completion bash > /etc/bash_completion.d/nccl-env"},
                               print_completion, arguments);
  app.add_option("SHELL", arguments->shell, "Of the shell")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}))
      ->type_name("");
}

}  // namespace

void add_install_commands(CommandLine& line) {
  add_uninstall(line, line.root());
  add_completion(line, line.root());
}

}  // namespace nccl_env::app
