// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"
#include "commands/explain.h"

namespace nccl_env::cli {
namespace {

struct InjectArguments {
  std::string pod;
  ClusterArguments cluster;
  program::PolicyArguments policy;
  std::vector<std::string> tables;
  std::vector<std::string> claims;
  std::string node;
  std::string at;
  Resolver resolver;  // "": as the policy's status says, else none
};

int inject_manifest(const InjectArguments& arguments, const Console& terminal) {
  const auto& [pod, cluster, policy, tables, claims, node, at, resolver] = arguments;
  ExplainArguments explained;
  explained.pod = pod;
  explained.cluster = cluster;
  explained.policy = policy;
  explained.tables = tables;
  explained.claims = claims;
  explained.node = node;
  explained.at = at;
  return inject_pods(explained, resolver, terminal);
}

}  // namespace

void add_inject(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"inject",
       "Print a manifest as the webhook would make it, and on the standard error what each pod gets. With a "
       "node, also what its Binding brings: for clusters without the webhook, where jobs are sent to nodes "
       "that are known. Exit codes as explain's.",
       "nccl-env inject -f job.yaml --policy roce.yaml --table gpu-1.yaml | kubectl apply -f -",
       {"yaml"}},
      inject_manifest);
  app.add_option("-f,--filename", to.pod, "The manifest; - is the standard input")
      ->required()
      ->type_name("FILE");
  add_namespace(app, to.cluster);
  app.add_option("--table", to.tables, "Files with NodeFabrics")->type_name("FILE");
  app.add_option("--claims", to.claims, "Files with ResourceClaims and ResourceClaimTemplates of the pods")
      ->type_name("FILE");
  app.add_option("--node", to.node, "The pods' node; default: their spec.nodeName, else the only table's")
      ->type_name("NAME");
}

}  // namespace nccl_env::cli
