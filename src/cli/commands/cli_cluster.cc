// SPDX-License-Identifier: Apache-2.0
// The options of doctor, nodes, report.
#include "command_line.h"

namespace nccl_env::app {
namespace {

void add_source(CLI::App& app, DoctorArguments& to) {
  app.add_option("FILE", to.source.files, "Files with NodeFabrics; - is the standard input")->type_name("");
  app.add_option("--store", to.source.store, "A directory of manifests, as the webhook reads it")
      ->type_name("dir:PATH");
  app.add_option("--kubeconfig", to.source.kubeconfig,
                 "The cluster to ask, where there are neither FILEs nor --store; default: $KUBECONFIG, the "
                 "pod's own cluster, ~/.kube/config")
      ->type_name("FILE");
  add_policy_options(app, to.source.policy);
  app.add_option("--max-table-age", to.max_table_age, "Older tables are stale: 3h, 90m, 45s")
      ->type_name("AGE")
      ->capture_default_str();
  add_moment(app, to.at);
}

void add_namespace(CLI::App& app, NamespaceArguments& to) {
  const auto add = [&](const char* names, std::string& into, const char* description, const char* type) {
    return app.add_option(names, into, description)->type_name(type)->group("Pods of a namespace");
  };
  CLI::Option* name =
      add("-n,--namespace", to.name,
          "Instead of the fabric: try (dryRun=All) whether a pod of this namespace would get what "
          "its policy wants, and who refuses it if not",
          "NAME");
  name->check(
      [](const std::string& given) { return std::string(given.empty() ? "the name is missing" : ""); });
  add("--resource", to.resource, "The pod's RDMA resource; default: one for each that the policy matches",
      "NAME")
      ->needs(name);
  add("--cpu", to.cpu, "The pod's limit; default: 1", "AMOUNT")->needs(name);
  add("--memory", to.memory, "The pod's limit; default: 1Gi", "AMOUNT")->needs(name);
  add("--image", to.image, "The pod's image; it is not pulled", "IMAGE")->needs(name);
}

void add_doctor(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<DoctorArguments>(DoctorArguments{{}, {}, "3h", "text"});
  DoctorArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"doctor",
                    "Tell what is wrong with the fabric of a cluster: each finding with its node, "
                    "what was seen, and what to do. Exit 1 if one is an error or a warning.",
                    "nccl-env doctor --store dir:manifests -o json"},
                   diagnose_cluster, arguments);
  add_source(app, to);
  add_namespace(app, to.of_namespace);
  add_output(app, to.output, {"text", "json"});
}

void add_nodes(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<DoctorArguments>(DoctorArguments{{}, {}, "3h", "table"});
  DoctorArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"nodes",
                    "One line for each node: its fabric HCAs, GID index, rate and the table's age; ! "
                    "marks those with a finding of the doctor.",
                    "nccl-env nodes --store dir:manifests -o wide"},
                   list_nodes, arguments);
  add_source(app, to);
  add_output(app, to.output, {"table", "wide", "json"});
}

void add_report(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<DoctorArguments>();
  DoctorArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"report",
                    "Write one page of HTML that shows the fabric of a cluster: nodes and HCAs as a "
                    "grid, odd nodes first, with the doctor's findings. It loads nothing.",
                    "nccl-env report --store dir:manifests -o report.html"},
                   report_fabric, arguments);
  add_source(app, to);
  app.add_option("-o,--output", to.output, "The file to write; - is the standard output")
      ->required()
      ->type_name("FILE");
}

}  // namespace

void add_cluster_commands(CommandLine& line) {
  add_doctor(line, line.root());
  add_nodes(line, line.root());
  add_report(line, line.root());
}

}  // namespace nccl_env::app
