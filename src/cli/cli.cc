// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/cli/cli.h"

#include <ostream>

#include "commands/commands.h"

namespace nccl_env::cli {
namespace {

// kubectl starts the plugin kubectl-nccl_env for `kubectl nccl-env`.
std::string program_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "kubectl-nccl_env" ? "kubectl nccl-env" : std::string(kProgram);
}

// Adds the commands in the order of --help, where each stands under its title.
void add_commands(CommandLine& line) {
  CLI::App& root = line.root();
  const auto title = [&root](const char* text, std::initializer_list<const char*> commands) {
    for (const char* command : commands) root.get_subcommand(command)->group(text);
  };
  add_explain(line, root);
  add_verify(line, root);
  add_what(line, root);
  title("Pods and jobs", {"explain", "verify", "what"});
  add_doctor(line, root);
  add_nodes(line, root);
  add_report(line, root);
  CLI::App& fabric =
      line.group({"fabric", "The fabric between nodes", "nccl-env fabric test -n ml --like job.yaml"});
  add_fabric_test(line, fabric);
  title("Nodes and their fabric", {"doctor", "nodes", "report", "fabric"});
  add_env(line, root);
  add_run(line, root);
  title("This machine, without a cluster", {"env", "run"});
  CLI::App& table =
      line.group({"table", "Tables of a node's HCAs, ports and GIDs (NodeFabric)",
                  "nccl-env table import --node-interface eth0 node.show_gids.txt > node.yaml"});
  add_table_import(line, table);
  CLI::App& policy =
      line.group({"policy", "Policies (NcclPolicy)", "nccl-env policy check policies/generic-rdma.yaml"});
  add_policy_check(line, policy);
  add_policy_cases(line, policy);
  add_inject(line, root);
  title("Files", {"table", "policy", "inject"});
  add_installation_check(line, root);
  add_bug_report(line, root);
  add_completion(line, root);
  title("The installation", {"check", "bug-report", "completion"});
}

}  // namespace

int run_cli(int argc, const char* const* argv, const program::Terminal& terminal) {
  CommandLine line(program_of(argc > 0 ? argv[0] : kProgram));
  add_commands(line);
  const std::optional<int> ended = line.parse(argc, argv, terminal);
  const int code = ended ? *ended : line.run(terminal);
  terminal.out.flush();
  if (terminal.out) return code;
  return stop(terminal, program::kNotSeen, "the output could not be written");
}

}  // namespace nccl_env::cli
