// SPDX-License-Identifier: Apache-2.0
// The options of verify.
#include "command_line.h"

namespace nccl_env::app {
namespace {

void add_verify(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<VerifyArguments>();
  VerifyArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"verify",
                    "Tell from NCCL's log (NCCL_DEBUG=INFO) of each value that a pod was given whether it "
                    "is used, overridden, contradicted or not seen yet, and whether NCCL fell back to "
                    "sockets. Exit 1 if it did, or if one is overridden or contradicted.",
                    "nccl-env verify --pod pod.json train.log"},
                   verify_nccl_log, arguments);
  app.add_option("LOG", to.log, "The log; - is the standard input")->required()->type_name("");
  app.add_option("--pod", to.pod, "The pod, as kubectl get pod -o json or -o yaml prints it")
      ->type_name("FILE");
  app.add_option("--container", to.container, "Which container's values; default: all");
  add_output(app, to.output, {"text", "json"});
}

}  // namespace

void add_verify_command(CommandLine& line) { add_verify(line, line.root()); }

}  // namespace nccl_env::app
