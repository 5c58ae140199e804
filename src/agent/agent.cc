// SPDX-License-Identifier: Apache-2.0
#include "agent.h"

#include <cstdlib>

#include "commands.h"
#include "nccl_env/program/ending.h"
#include "options.h"

namespace nccl_env::agent {

int run_agent(int argc, const char* const* argv, node::Verbs& verbs, const packets::MakeQueuePair& packets,
              const program::Terminal& streams) {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  program::Terminal terminal = streams;
  terminal.program = "nccl-env-agent";
  const ParsedAgentOptions parsed = parse_agent_options(argc, argv);
  if (!parsed.arguments) return parsed.exit_code;
  switch (parsed.arguments->command) {
    case AgentArguments::Command::Show:
      return show_node(parsed.arguments->show, verbs, terminal);
    case AgentArguments::Command::Resolve:
      return resolve_pod(parsed.arguments->resolve, environment, terminal);
    case AgentArguments::Command::FabricTest:
      return test_fabric(parsed.arguments->fabric_test, environment, verbs, packets, terminal);
    case AgentArguments::Command::Run:
      program::log_uncaught_exceptions();
      return program::end_logged(keep_table(parsed.arguments->run, verbs));
  }
  return program::kUsage;
}

}  // namespace nccl_env::agent
