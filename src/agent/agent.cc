// SPDX-License-Identifier: Apache-2.0
#include "agent.h"

#include <cstdlib>
#include <ostream>

#include "loop.h"
#include "options.h"
#include "resolve.h"
#include "show.h"

namespace nccl_env::app {

int run_agent(int argc, const char* const* argv, node::Verbs& verbs, const Terminal& terminal) {
  const ParsedAgentOptions parsed = parse_agent_options(argc, argv);
  if (!parsed.arguments) return parsed.exit_code;
  switch (parsed.arguments->command) {
    case AgentArguments::Command::Show:
      return show_node(parsed.arguments->show, verbs, terminal);
    case AgentArguments::Command::Resolve:
      return resolve_pod(
          parsed.arguments->resolve, [](const char* name) { return std::getenv(name); }, terminal);
    case AgentArguments::Command::Run: {
      const Status ran = keep_table(parsed.arguments->run, verbs);
      if (ran) return kDone;
      terminal.err << "nccl-env-agent: " << ran.error().message << '\n';
      return EXIT_FAILURE;
    }
  }
  return kUsage;
}

}  // namespace nccl_env::app
