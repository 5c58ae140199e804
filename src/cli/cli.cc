// SPDX-License-Identifier: Apache-2.0
// The command line: which commands there are. Their options are in cli_*.cc, what they do is in commands.h.
#include "nccl_env/cli/cli.h"

#include <ostream>

#include "command_line.h"
#include "completion.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {
namespace {

// kubectl starts the plugin kubectl-nccl_env for `kubectl nccl-env`.
std::string program_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "kubectl-nccl_env" ? "kubectl nccl-env" : std::string(kProgram);
}

// The words to complete: of the shells' scripts, `nccl-env __complete WORD…`; or of kubectl, which starts the
// program kubectl_complete-nccl_env for them.
std::optional<std::vector<std::string>> words_to_complete(int argc, const char* const* argv) {
  const bool by_name = argc > 0 && std::string_view(argv[0]).ends_with("kubectl_complete-nccl_env");
  if (!by_name && (argc < 2 || std::string_view(argv[1]) != "__complete")) return std::nullopt;
  return std::vector<std::string>(argv + (by_name ? 1 : 2), argv + argc);
}

}  // namespace

int run_cli(int argc, const char* const* argv, const Terminal& terminal) {
  CommandLine line(program_of(argc > 0 ? argv[0] : kProgram));
  add_table_commands(line);
  add_explain_command(line);
  add_verify_command(line);
  add_rule_commands(line);
  add_cluster_commands(line);
  add_install_commands(line);
  if (auto words = words_to_complete(argc, argv)) {
    terminal.out << render(complete(line.root(), *std::move(words))) << std::flush;
    return kDone;
  }
  const std::optional<int> ended = line.parse(argc, argv, terminal);
  const int code = ended ? *ended : line.run(terminal);
  terminal.out.flush();
  if (terminal.out) return code;
  return stop(terminal, kRefused, "the output could not be written");
}

}  // namespace nccl_env::app
