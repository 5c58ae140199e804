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
                    "nccl-env verify pod/train-0 -n ml"},
                   verify_nccl_log, arguments);
  app.add_option("LOG", to.log,
                 "The log: a file, - for the standard input, or pod/NAME for a pod of the cluster")
      ->required()
      ->type_name("");
  app.add_option("--pod", to.pod, "The pod, as kubectl get pod -o json or -o yaml prints it")
      ->type_name("FILE");
  app.add_option("-c,--container", to.container,
                 "Which container's values; default: all, of pod/NAME the one that has values");
  const auto of_cluster = [&](CLI::Option* option) {
    option->group("With pod/NAME");
    return option;
  };
  of_cluster(app.add_option("-n,--namespace", to.name_space, "Default: the kubeconfig's"));
  of_cluster(&add_kubeconfig(app, to.kubeconfig));
  of_cluster(
      app.add_flag("-p,--previous", to.of_log.previous, "The log from before the container's last restart"));
  of_cluster(app.add_option("--tail", to.of_log.tail,
                            "So many lines from the log's end; default: from its beginning")
                 ->check(CLI::PositiveNumber)
                 ->type_name("LINES"));
  of_cluster(app.add_option("--limit", to.of_log.limit_mib, "At most so much of the log is read")
                 ->check(CLI::Range(1, 4096))
                 ->type_name("MIB")
                 ->capture_default_str());
  add_output(app, to.output, {"text", "json"});
}

}  // namespace

void add_verify_command(CommandLine& line) {
  add_verify(line, line.root());
}

}  // namespace nccl_env::app
