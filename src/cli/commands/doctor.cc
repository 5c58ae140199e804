// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "cluster/connection.h"
#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "cluster/tableless_nodes.h"
#include "commands/commands.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/explain/missed_pods.h"
#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
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

template <class T>
program::Failure take(Result<T> read, T& into, program::ExitCode code = program::kNotSeen) {
  if (!read) return {code, read.error().message};
  into = *std::move(read);
  return {};
}

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
  auto failure = take(program::read_any_tables(arguments.files, in), into.tables);
  if (failure || arguments.policy.file.empty()) return failure;
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
  std::vector<TablelessNode> missing = find_tableless_nodes(*fabric.cluster, input, known);
  std::erase_if(missing, [&](const TablelessNode& each) {
    const std::string refused = "NodeFabric " + each.node + ":";
    return std::ranges::any_of(fabric.problems,
                               [&](const std::string& problem) { return problem.starts_with(refused); });
  });
  return missing;
}

// The age that the webhook writes into policies; the least, if a roll-out has not reached all of them.
std::chrono::seconds published_age(const program::Policies& policies) {
  std::optional<std::chrono::seconds> least;
  for (const auto& policy : policies) {
    if (policy->max_table_age)
      least = std::min(least.value_or(*policy->max_table_age), *policy->max_table_age);
  }
  return least.value_or(DoctorInput{}.max_table_age);
}

}  // namespace

void tell_refused(const Diagnosis& diagnosis, std::ostream& err) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.code == Code::ObjectRefused) err << "nccl-env: " << printable(finding.sentence) << '\n';
  }
}

void add_diagnosis_options(CLI::App& app, DiagnosisArguments& into) {
  app.add_option("FILE", into.source.files,
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
  for (const std::string& problem : fabric.problems)
    refused.push_back({Code::ObjectRefused, Severity::Error, {}, problem});
  add_findings(std::move(refused), into);
  return {};
}

namespace {

// A node has some hundred pods, and few nodes drift at a time.
constexpr std::size_t kMostNodesAsked = 100;

// Tells of values that running pods of a node may still hold, and that the node no longer gives.
struct PodCheck {
  Code code;
  Severity severity;
  bool NodeState::*asks;  // of these nodes
  std::string (*judge)(const PodRecord& pod, const NodeFabric& table);
};

// Pods whose node no longer has the index that they were bound with.
constexpr PodCheck kIndexCheck{Code::GidIndexMoved, Severity::Error, &NodeState::index_moved, lost_index};
// Pods whose plain list takes devices that came to the node after they were bound. Those with the same list
// are one finding.
constexpr PodCheck kListCheck{Code::ListNotExact, Severity::Warning, &NodeState::has_neighbours,
                              inexact_list};

std::vector<Finding> judge_pods(const PodCheck& check, const std::vector<PodRecord>& pods,
                                const NodeFabric& table) {
  constexpr std::size_t kMostNames = 4;
  std::vector<Finding> found;
  std::map<std::string, std::vector<std::string>> by_list;
  for (const PodRecord& pod : pods) {
    const std::string words = check.judge(pod, table), name = pod.name_space + "/" + pod.name;
    if (words.empty()) continue;
    if (check.code == Code::ListNotExact)
      by_list[words].push_back(name);
    else
      found.push_back({check.code, check.severity, of_node(table.name),
                       "pod " + name + ": " + words + " since it was bound"});
  }
  for (const auto& [words, names] : by_list)
    found.push_back({check.code, check.severity, of_node(table.name),
                     count_of(names.size(), "pod") + ", " + join_some(names, kMostNames) + ": " + words,
                     kInexactRemedy});
  return found;
}

// The running pods of a node; `problem` says why they are not known.
std::vector<PodRecord> list_pods(const Result<std::shared_ptr<kube::ApiServer>>& client,
                                 const std::string& node, std::string& problem) {
  std::vector<PodRecord> records;
  const auto take = [&](const nlohmann::json& object) {
    auto live = LivePod::read(object);
    if (live && !(*live)->record().ending && !(*live)->record().is_finished())
      records.push_back((*live)->record());
  };
  const Status listed =
      client ? kube::list_all(**client, kube::by_field(path_of(kube::kPods), "spec.nodeName=" + node), take)
             : Status(client.error());
  if (!listed) problem = listed.error().message;
  return records;
}

constexpr const char* kNoPodHoldsIt =
    "Nothing for pods: none that runs there holds the old index. Find what takes the address away (link, "
    "DHCP lease, network manager) and keep it; for a day no index of that address is pinned.";

// Looks at the pods of the nodes that ask for it. A port's GidIndexMoved then says what is to do for pods
// that are named beside it, or that there are none.
void add_pods(const SourceArguments& source, const PodCheck& check, const DoctorInput& input,
              Diagnosis& into) {
  const bool moved = check.code == Code::GidIndexMoved;
  std::optional<Result<std::shared_ptr<kube::ApiServer>>> client;
  std::size_t asked = 0;
  std::vector<Finding> all;
  for (const NodeState& node : into.nodes) {
    if (!(node.*check.asks)) continue;
    if (!client) client = connect_cluster(source.cluster);
    std::string problem;
    std::vector<PodRecord> pods;
    if (asked++ < kMostNodesAsked)
      pods = list_pods(*client, node.node, problem);
    else
      problem = "there are too many such nodes";
    const auto table =
        std::ranges::find(input.tables, node.node, [](const auto& each) { return each->name; });
    std::vector<Finding> found = judge_pods(check, pods, **table);
    if (!problem.empty())
      found.push_back({check.code, Severity::Info, of_node(node.node),
                       "its pods were not looked at: " + problem,
                       moved ? remedy_of_moved(node.node) : std::string()});
    for (Finding& finding : into.findings) {
      if (!moved || !problem.empty() || finding.code != check.code || finding.subject.name != node.node)
        continue;
      finding.remedy = found.empty() ? kNoPodHoldsIt : "";  // the code's, where pods are named
    }
    all.insert(all.end(), found.begin(), found.end());
  }
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
  const std::string path =
      kube::by_field(path_in(name_space, kube::kPods), "status.phase!=Succeeded,status.phase!=Failed");
  if (const Status listed = kube::list_all(client, path, look); !listed)
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
  if (asked.source.files.empty() && asked.source.store.empty()) {
    add_pods(asked.source, kIndexCheck, input, diagnosis);
    const auto is_plain = [](const auto& policy) { return policy->deliver_env_file; };
    if (std::ranges::any_of(input.policies, is_plain)) add_pods(asked.source, kListCheck, input, diagnosis);
  }
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
