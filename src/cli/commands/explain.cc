// SPDX-License-Identifier: Apache-2.0
#include "commands/explain.h"

#include "commands/commands.h"
#include "commands/explain_request.h"
#include "nccl_env/program/help_formatter.h"
#include "nccl_env/program/resolver_options.h"

namespace nccl_env::cli {
namespace {

int explain_target(const ExplainArguments& given, const Console& terminal) {
  ExplainArguments arguments = given;
  if (const Status opened = open_bundle(arguments.cluster, arguments.at, terminal.in); !opened)
    return stop(terminal, program::kNotSeen, opened.error().message);
  const auto request = read_request(arguments, terminal.form);
  if (!request) return stop(terminal, program::kUsage, request.error().message);
  return request->target.kind == Target::Kind::Pod ? explain_pod(*request, terminal)
                                                   : explain_job(*request, terminal);
}

int explain_pods(const ExplainArguments& arguments, const Console& terminal) {
  if (arguments.target.empty() && !arguments.cluster.bundle.empty())
    return stop(terminal, program::kUsage, "--bundle: only with a TARGET");
  if (!arguments.target.empty()) return explain_target(arguments, terminal);
  if (!arguments.review.empty()) return replay_review(arguments, terminal);
  return preview_pods(arguments, terminal);
}

}  // namespace

void add_explain(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"explain",
       "Tell which values a pod or job has, and why not the rest. Of a manifest: what it would get under a "
       "policy, on a node if a table is given, and what NCCL makes of it. Exit 1 if there is something to "
       "act on.",
       "nccl-env explain pod/train-0 -n ml",
       {"text", "env"}},
      explain_pods);
  app.add_option("TARGET", to.target,
                 "pod/NAME or job/NAME of a cluster; pod or job with -f: what kubectl get -o json printed")
      ->type_name("")
      ->expected(1, 2);
  add_namespace(app, to.cluster);
  add_bundle(app, to.cluster);
  add_code_paths(app, to.policy.allow_code_paths);
  app.add_option("--review", to.review,
                 "Instead of a pod: a captured AdmissionReview; prints the webhook's answer to it, byte for "
                 "byte, from --store")
      ->type_name("FILE");
  app.add_option("--store", to.store, "For --review: the webhook's directory of manifests")
      ->type_name("dir:PATH");
  app.add_option("--table", to.tables, "Files with NodeFabrics")->type_name("FILE");
  app.add_option("-f,--pod", to.pod,
                 "A Pod, a recorded AdmissionReview, or anything that holds pod templates; - is the standard "
                 "input. Without --policy the policy of the cluster's namespace counts")
      ->type_name("FILE");
  app.add_option("--claims", to.claims,
                 "Files with ResourceClaims and ResourceClaimTemplates of the pods, beside those in --pod")
      ->type_name("FILE");
  app.add_option("--node", to.node, "The pod's node; default: its spec.nodeName, else the only table's");
  program::group_options(app, "A pod or job of a cluster",
                         {"--namespace", "--kubeconfig", "--context", "--bundle"});
  program::group_options(
      app, "Manifests and files",
      {"--pod", "--policy", "--policy-name", "--allow-code-paths", "--table", "--claims", "--node"});
  program::group_options(app, "A captured review", {"--review", "--store"});
}

}  // namespace nccl_env::cli
