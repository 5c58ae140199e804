// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cluster/connection.h"
#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "cluster/tableless_nodes.h"
#include "commands/commands.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/explain/boot_changes.h"
#include "nccl_env/judge/explain/missed_pods.h"
#include "nccl_env/judge/explain/pod_record.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/program/duration.h"
#include "nccl_env/program/store_option.h"
#include "nccl_env/store/load_once.h"

namespace nccl_env::cli {

namespace {

struct Fabric : store::Reading {
  std::shared_ptr<kube::ApiServer> cluster;  // that was asked; null: none
};

const char* const kNoSource =
    "; or give FILEs with NodeFabrics, or --store dir:PATH with a directory of them";

program::Failure read_server(const SourceArguments& arguments, Fabric& into) {
  auto client = connect_cluster(arguments.cluster);
  if (!client) return {program::kNotSeen, client.error().message + kNoSource};
  const auto failure =
      take<store::Reading>(store::read_cluster(**client, {arguments.policy.allow_code_paths}), into);
  if (failure) return not_read(**client, failure.message);
  into.cluster = *std::move(client);
  return {};
}

program::Failure read_files(const SourceArguments& arguments, std::istream& in, Fabric& into) {
  static_cast<store::Reading&>(into) = program::read_each_table(arguments.files, in);
  if (into.tables.empty() && !into.problems.empty())
    return {program::kNotSeen, join(into.problems, "; ", &store::Objects::Problem::sentence)};
  if (arguments.policy.file.empty()) return {};
  return take(program::read_policies(arguments.policy, in), into.policies);
}

program::Failure read_store(const SourceArguments& arguments, Fabric& into) {
  const auto path = program::store_path(arguments.store);
  if (!arguments.store.empty() && !path)
    return {program::kUsage, "--store " + arguments.store + ": must be dir:PATH"};
  if (!arguments.policy.file.empty())
    return {program::kUsage, "--policy: only with FILEs; the policies of a store or cluster are its own"};
  return path ? take<store::Reading>(store::read_directory(*path, {arguments.policy.allow_code_paths}), into)
              : read_server(arguments, into);
}

program::Failure read_fabric(const SourceArguments& arguments, std::istream& in, Fabric& into) {
  if (!arguments.files.empty() && !arguments.store.empty())
    return {program::kUsage, "FILEs and --store: only one of them"};
  auto failure = arguments.files.empty() ? read_store(arguments, into) : read_files(arguments, in, into);
  if (failure || arguments.policy.name.empty()) return failure;
  std::shared_ptr<const NcclPolicy> chosen;
  auto unknown = take(program::choose_policy(into.policies, arguments.policy.name), chosen, program::kUsage);
  into.policies = {chosen};
  return unknown;
}

Result<std::chrono::seconds> read_age(const std::string& text) {
  auto age = program::parse_duration(text);
  if (age && age->count() > 0) return age;
  return Error{"--max-table-age " + text + ": " + (age ? "must be above 0" : age.error().message)};
}

// Those that were refused are there, and are told as refused.
std::vector<TablelessNode> tableless_nodes(const Fabric& fabric, const DoctorInput& input) {
  if (!fabric.cluster) return {};
  std::set<std::string> known;
  for (const auto& table : input.tables) known.insert(table->name);
  for (const auto& problem : fabric.problems) known.insert(problem.kind == "NodeFabric" ? problem.name : "");
  return find_tableless_nodes(*fabric.cluster, input, known);
}

// The age that the webhook writes into policies; the least, if a roll-out has not reached all of them.
std::chrono::seconds published_age(const program::Policies& policies) {
  auto least = std::chrono::seconds::max();
  for (const auto& policy : policies) least = std::min(least, policy->max_table_age.value_or(least));
  return least == std::chrono::seconds::max() ? DoctorInput{}.max_table_age : least;
}

}  // namespace

void tell_refused(const Diagnosis& diagnosis, std::ostream& err) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.code == Code::ObjectRefused) err << "nccl-env: " << printable(finding.sentence) << '\n';
  }
}

void add_diagnosis_options(CLI::App& app, DiagnosisArguments& into) {
  app.add_option("-f,--filename,FILE", into.source.files,
                 "Files with NodeFabrics; - is the standard input. With neither FILEs nor --store the "
                 "cluster is asked")
      ->type_name("");
  app.add_option("--store", into.source.store, "A directory of manifests, as the webhook reads it")
      ->type_name("dir:PATH");
  add_cluster(app, into.source.cluster);
  add_policy_options(app, into.source.policy);
  app.add_option(
         "--max-table-age", into.max_table_age,
         "Older tables are stale: 90m, 45s; default: the webhook's own, which it writes into the status "
         "of policies, else 3h")
      ->type_name("AGE");
  add_moment(app, into.at);
}

program::Failure read_diagnosis(const DiagnosisArguments& arguments, std::istream& in, Diagnosis& into,
                                DoctorInput& from) {
  const std::string& limit = arguments.max_table_age;
  auto failure = take(program::read_moment(arguments.at), from.now, program::kUsage);
  if (!failure && !limit.empty()) failure = take(read_age(limit), from.max_table_age, program::kUsage);
  Fabric fabric;
  if (!failure) failure = read_fabric(arguments.source, in, fabric);
  if (failure) return failure;
  // A fabric without tables must not be reported as healthy.
  if (fabric.tables.empty() && fabric.problems.empty()) {
    const auto path = program::store_path(arguments.source.store);
    const std::string files = join(arguments.source.files);
    return {program::kNothing, !files.empty()
                                   ? files + ": holds an empty list: there is no NodeFabric to judge"
                               : path ? "there is no NodeFabric in " + *path
                                      : "there is no NodeFabric: does the agent run on the nodes?"};
  }
  if (limit.empty()) from.max_table_age = published_age(fabric.policies);
  from.tables = std::move(fabric.tables);
  from.policies = std::move(fabric.policies);
  from.tableless = tableless_nodes(fabric, from);
  into = diagnose(from);
  std::vector<Finding> refused;
  for (const auto& problem : fabric.problems)
    refused.push_back({Code::ObjectRefused, Severity::Error, {}, problem.sentence});
  add_findings(std::move(refused), into);
  return {};
}

namespace {

std::string running_pods_in(const std::string& name_space) {
  return kube::by_field(path_in(name_space, kube::kPods), "status.phase!=Succeeded,status.phase!=Failed");
}

// Finds values that a pod holds and its node gives no more; "" where there are none.
struct PodCheck {
  Code code;
  Severity severity;
  std::string (*judge)(const PodRecord& pod, const PodSurroundings& around);
};

constexpr PodCheck kPodChecks[] = {
    {Code::GidIndexMoved, Severity::Error,
     [](const PodRecord& pod, const PodSurroundings& around) {
       const std::string lost = lost_index(pod, *around.table);
       return lost.empty() ? lost : lost + " since it was bound";
     }},
    // Its plain list takes devices that came to the node after it was bound.
    {Code::ListNotExact, Severity::Warning,
     [](const PodRecord& pod, const PodSurroundings& around) { return inexact_list(pod, *around.table); }},
    {Code::ChangedSinceBound, Severity::Warning, changed_over_boot}};

// Running pods of opted-in namespaces, by node; `problem` says why some are not known.
struct RunningPods {
  std::map<std::string, std::vector<PodRecord>> by_node;
  std::string problem;
};

RunningPods list_pods(const SourceArguments& source) {
  RunningPods pods;
  const auto client = connect_cluster(source.cluster);
  const auto names = client ? list_opted_in(**client) : client.error();
  if (!names) pods.problem = names.error().message;
  const auto take = [&](const nlohmann::json& object) {
    const auto live = LivePod::read(object);
    if (!live || (*live)->record().ending || (*live)->record().is_finished()) return;
    pods.by_node[(*live)->record().node].push_back((*live)->record());
  };
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const Status listed = kube::list_all(**client, running_pods_in(name), take);
    if (!listed) pods.problem = listed.error().message;
  }
  return pods;
}

// One finding for all pods of the node that have the same to say.
std::vector<Finding> judge_pods(const PodCheck& check, const std::vector<PodRecord>& pods,
                                const PodSurroundings& node, const DoctorInput& input) {
  constexpr std::size_t kMostNames = 4;
  std::vector<Finding> found;
  std::map<std::string, std::vector<std::string>> by_words;
  for (const PodRecord& pod : pods) {
    PodSurroundings around = node;
    const auto policy = std::ranges::find(input.policies, pod.status ? pod.status->policy : "",
                                          [](const auto& each) { return each->name; });
    if (policy != input.policies.end()) around.policy = *policy;
    const std::string words = check.judge(pod, around);
    if (!words.empty()) by_words[words].push_back(pod.name_space + "/" + pod.name);
  }
  found.reserve(by_words.size());
  for (const auto& [words, names] : by_words)
    found.push_back({check.code, check.severity, of_node(node.table->name),
                     (names.size() == 1 ? "pod " : count_of(names.size(), "pod") + ", ") +
                         join_some(names, kMostNames) + ": " + words,
                     check.code == Code::ListNotExact ? kInexactRemedy : ""});
  return found;
}

constexpr const char* kNoPodHoldsIt =
    "Nothing for pods: none that runs there holds the old index. Find what takes the address away (link, "
    "DHCP lease, network manager) and keep it; for a day no index of that address is pinned.";

// Looks at what running pods hold. A port's GidIndexMoved then says what is to do for pods that are named
// beside it, or that there are none.
void add_pods(const SourceArguments& source, const DoctorInput& input, Diagnosis& into) {
  const RunningPods pods = list_pods(source);
  std::vector<Finding> all;
  for (const NodeState& node : into.nodes) {
    const auto of_node_there = pods.by_node.find(node.node);
    const auto table =
        std::ranges::find(input.tables, node.node, [](const auto& each) { return each->name; });
    if (table == input.tables.end()) continue;
    PodSurroundings around;
    around.table_known = true;
    around.table = *table;
    around.context = {input.now, input.max_table_age};
    bool lost = false;
    for (const PodCheck& check : kPodChecks) {
      if (of_node_there == pods.by_node.end()) break;
      const auto found = judge_pods(check, of_node_there->second, around, input);
      lost = lost || (check.code == Code::GidIndexMoved && !found.empty());
      all.insert(all.end(), found.begin(), found.end());
    }
    if (!pods.problem.empty()) continue;
    for (Finding& finding : into.findings) {
      if (finding.code == Code::GidIndexMoved && finding.subject.name == node.node)
        finding.remedy = lost ? "" : kNoPodHoldsIt;  // the code's, where pods are named
    }
  }
  if (!pods.problem.empty())
    all.push_back({Code::ChangedSinceBound, Severity::Info, {}, "pods were not looked at: " + pods.problem});
  add_findings(std::move(all), into);
}

void look_at(const std::string& name_space, kube::ApiServer& client, Timestamp now, KnownObjects& known,
             MissedPods& into) {
  const PodSurroundings around =
      surroundings_of(read_namespace_policy(client, name_space, "", false, &known), now);
  for (const std::string& sentence : around.unread) into.leave_out(sentence);
  const auto look = [&](const nlohmann::json& object) {
    const auto live = LivePod::read(object);
    live ? into.add((*live)->pod(), (*live)->record(), around) : into.add_unknown();
  };
  if (const Status listed = kube::list_all(client, running_pods_in(name_space), look); !listed)
    into.leave_out(listed.error().message + ": its pods are left out.");
}

// --pods: finds pods of opted-in namespaces that were missed, or have foreign values. Asks the cluster of
// `arguments`, which may name no other source. `name_space`: the only one to look at, opted in or not; "":
// all that are opted in. Needs list of namespaces (with a name: get), list of pods there, and get of
// ncclpolicies; objects that may not be read are reported and left out.
int diagnose_pods(const std::string& name_space, const DiagnosisArguments& arguments,
                  const Console& terminal) {
  const SourceArguments& source = arguments.source;
  if (!source.files.empty() || !source.store.empty() || !source.policy.file.empty() ||
      !source.policy.name.empty())
    return stop(terminal, program::kUsage,
                "--pods asks the cluster: no FILEs, --store, --policy or --policy-name with it");
  if (!name_space.empty() && !is_dns_subdomain(name_space))
    return stop(terminal, program::kUsage, "--namespace " + name_space + ": is not a namespace's name");
  const auto now = program::read_moment(arguments.at);
  if (!now) return stop(terminal, program::kUsage, now.error().message);
  const auto client = connect_cluster(source.cluster);
  if (!client) return stop(terminal, program::kNotSeen, client.error().message);
  KnownObjects known;
  if (!name_space.empty()) {
    const Asked asked = ask_namespace(name_space);
    const LookUp& found = known[asked.target] = look_up(**client, asked);
    if (found.outcome == LookUp::Outcome::Absent)
      return stop(terminal, program::kNotSeen, "there is no namespace " + name_space);
    if (found.outcome == LookUp::Outcome::Failed) return stop(terminal, program::kNotSeen, found.problem);
  }
  const auto names =
      name_space.empty() ? list_opted_in(**client, &known) : Result(std::vector<std::string>{name_space});
  if (!names)
    return stop(terminal, program::kNotSeen, names.error().message + "; a namespace of yours: --namespace");
  if (names->empty()) {
    const std::string absent = not_installed(**client);
    return stop(terminal, program::kNothing,
                absent.empty() ? "no namespace has the label " + std::string(key::kPolicyLabel) : absent);
  }
  MissedPods pods;
  for (const std::string& name : *names) look_at(name, **client, *now, known, pods);
  const bool policy_missing = std::ranges::any_of(
      known, [](const auto& each) { return each.second.outcome == LookUp::Outcome::Absent; });
  if (const std::string absent = policy_missing ? not_installed(**client) : ""; !absent.empty())
    return stop(terminal, program::kNothing, absent);
  print_answer(terminal, pods);
  return pods.is_good() ? program::kDone : program::kFinding;
}

}  // namespace

int diagnose_cluster(const DoctorArguments& arguments, const Console& terminal) {
  const auto& [asked, pods, name_space] = arguments;
  if (pods) return diagnose_pods(name_space, asked, terminal);
  Diagnosis diagnosis;
  DoctorInput input;
  if (const program::Failure failure = read_diagnosis(asked, terminal.in, diagnosis, input))
    return stop(terminal, failure);
  if (asked.source.files.empty() && asked.source.store.empty()) add_pods(asked.source, input, diagnosis);
  print_answer(terminal, diagnosis);
  if (diagnosis.pools.empty() && is_good(diagnosis.findings)) return program::kNothing;  // no RDMA hardware
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
