// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor.h"

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cluster/connection.h"
#include "cluster/live_pods.h"
#include "commands/commands.h"
#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

// A node has some hundred pods, and few nodes drift at a time.
constexpr std::size_t kMostNodesAsked = 100;

Finding not_asked(const std::string& node, const std::string& why) {
  return {Code::GidIndexMoved, Severity::Info, of_node(node), "its pods were not looked at: " + why};
}

// The running pods of nodes on which an index moved. `told` gets what could not be read.
std::vector<PodRecord> list_pods(const ClusterArguments& cluster, const std::vector<std::string>& nodes,
                                 std::vector<Finding>& told) {
  std::vector<PodRecord> records;
  if (nodes.empty()) return records;
  const auto client = connect_cluster(cluster);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto take = [&](const nlohmann::json& object) {
      if (auto live = LivePod::read(object)) records.push_back((*live)->record());
    };
    const std::string path = kube::by_field(path_of(kube::kPods), "spec.nodeName=" + nodes[i]);
    const Status listed = !client                ? Status(client.error())
                          : i >= kMostNodesAsked ? Status(Error{"too many nodes have an index that moved"})
                                                 : kube::list_all(**client, path, take);
    if (!listed) told.push_back(not_asked(nodes[i], listed.error().message));
  }
  return records;
}

// Names the running pods whose node no longer has the index that they were bound with.
void check_pods(const std::vector<PodRecord>& pods, const DoctorInput& input, std::vector<Finding>& into) {
  std::map<std::string_view, const NodeFabric*> tables;
  for (const auto& table : input.tables) tables.emplace(table->name, table.get());
  for (const PodRecord& pod : pods) {
    const auto table = tables.find(pod.node);
    if (table == tables.end() || pod.ending || pod.is_finished()) continue;
    const std::string lost = lost_index(pod, *table->second);
    if (lost.empty()) continue;
    into.push_back({Code::GidIndexMoved, Severity::Error, of_node(pod.node),
                    "pod " + pod.name_space + "/" + pod.name + ": " + lost + " since it was bound"});
  }
}

void add_pods(const SourceArguments& source, const DoctorInput& input, Diagnosis& into) {
  if (!source.files.empty() || !source.store.empty()) return;
  std::vector<Finding> findings;
  check_pods(list_pods(source.cluster, nodes_with_drift(input), findings), input, findings);
  add_findings(std::move(findings), into);
}

}  // namespace

int diagnose_cluster(const DoctorArguments& given, const Console& terminal) {
  auto [asked, pods, name_space] = given;
  if (const Status opened = open_bundle(asked.source.cluster, asked.at, terminal.in); !opened)
    return stop(terminal, program::kNotSeen, opened.error().message);
  if (pods) return diagnose_pods(name_space, asked, terminal);
  Diagnosis diagnosis;
  DoctorInput input;
  if (const program::Failure failure = read_diagnosis(asked, terminal.in, diagnosis, input))
    return stop(terminal, failure);
  add_pods(asked.source, input, diagnosis);
  print_answer(terminal, diagnosis);
  return program::code_of(diagnosis.findings);
}

void add_doctor(CommandLine& line, CLI::App& parent) {
  auto [app, to] =
      line.command(parent,
                   {"doctor",
                    "Tell what is wrong with the fabric of a cluster: each finding with its node, "
                    "what was seen, and what to do. Exit 1 if one is an error or a warning.",
                    "nccl-env doctor --store dir:manifests -o json"},
                   diagnose_cluster);
  add_diagnosis_options(app, to.diagnosis);
  CLI::Option& bundle = add_bundle(app, to.diagnosis.source.cluster);
  for (const char* another : {"FILE", "--store"}) bundle.excludes(app.get_option(another));
  const char* const group = "Pods instead of the fabric";
  CLI::Option* pods =
      app.add_flag("--pods", to.pods,
                   "Pods of opted-in namespaces that were missed when they were created or bound, or read "
                   "values that are not their own")
          ->group(group);
  app.add_option("-n,--namespace", to.name_space, "Look at the pods of this namespace alone")
      ->type_name("NAME")
      ->group(group)
      ->needs(pods);
}

}  // namespace nccl_env::cli
