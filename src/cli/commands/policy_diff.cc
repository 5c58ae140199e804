// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <ostream>

#include "cluster/connection.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "commands/pod_preview.h"
#include "nccl_env/core/explain/held_values.h"
#include "nccl_env/core/policy/writer.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/store/load_once.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

struct PolicyDiffArguments {
  std::vector<std::string> policies;  // OLD and NEW; or NEW, and OLD is the cluster's
  std::string name;                   // where the files hold several
  bool allow_code_paths = false;
  std::vector<std::string> tables;
  std::vector<std::string> pods;
  std::vector<std::string> claims;
  ClusterArguments cluster;
};

struct PolicyPair {
  std::shared_ptr<const NcclPolicy> then;  // null: the cluster has none, and so no pod gets anything
  std::shared_ptr<const NcclPolicy> now;
};

std::string carrier_of(const NcclPolicy& policy) {
  if (policy.deliver_reference) return policy.deliver_file ? "File, Reference" : "Reference";
  return policy.deliver_env_file ? "EnvFile" : "File";
}

bool has_node_values(const ExplainedContainer& container) {
  const auto of_node = [](const Value& value) { return value.value && value.source != Source::Policy; };
  return std::ranges::any_of(container.env, of_node) ||
         (container.conf && std::ranges::any_of(*container.conf, of_node));
}

// As HeldValues have a Binding.
constexpr const char* kAllowed = "allowed";
constexpr const char* kRefused = "refused";

// True if the pod's Binding to this node is denied.
bool is_refused(const Explanation& explanation) {
  return std::ranges::find(explanation.findings, Code::HeldBack, &Finding::code) !=
         explanation.findings.end();
}

// Kinds of nodes: those of one kind give the same values under the old policy, and the same under the new
// one. A pod is tried on one node of each kind.
class KindsOfNodes {
 public:
  void add(HeldValues then, HeldValues now, std::shared_ptr<const NodeFabric> table) {
    const auto [found, made] = index_.try_emplace({std::move(then), std::move(now)}, examples_.size());
    of_node_.emplace(table->name, found->second);
    if (made) names_.emplace_back();
    names_[found->second].push_back(table->name);
    if (made) examples_.push_back(std::move(table));
  }

  // At most kMostGroups of them.
  [[nodiscard]] NodeKinds all() const {
    NodeKinds kinds(std::min(examples_.size(), kMostGroups));
    std::iota(kinds.begin(), kinds.end(), std::size_t{0});
    return kinds;
  }
  // Nothing for a node without a table.
  [[nodiscard]] std::optional<std::size_t> of(std::string_view node) const {
    const auto found = of_node_.find(node);
    return found == of_node_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const std::shared_ptr<const NodeFabric>& example(std::size_t kind) const {
    return examples_[kind];
  }
  [[nodiscard]] const Difference::Kinds& names() const { return names_; }

 private:
  std::map<std::pair<HeldValues, HeldValues>, std::size_t> index_;
  std::map<std::string, std::size_t, std::less<>> of_node_;
  std::vector<std::shared_ptr<const NodeFabric>> examples_;
  Difference::Kinds names_;
};

class PolicyComparison {
 public:
  PolicyComparison(PolicyPair policies, Timestamp now, PlanOptions plan)
      : policies_(std::move(policies)),
        now_(now),
        before_{policies_.then, {}, {}, {}, {}, now, kNewestNccl, plan, false},
        after_{policies_.now, {}, {}, {}, {}, now, kNewestNccl, std::move(plan), false} {
    before_.problem.problem = Reason::PolicyMissing;  // counts where there is no policy
  }

  // For the pods that are added from now on.
  void set_claims(const ClaimFiles& claims) { before_.claims = after_.claims = claims; }

  void add_nodes(const program::Tables& tables) {
    NodeContext context{now_};
    context.in_sync = false;
    for (const auto& table : tables) {
      HeldValues then = policies_.then ? offered_values(policies_.then, table->name, table.get(), context)
                                       : HeldValues{{}, Reason::PolicyMissing};
      HeldValues now = offered_values(policies_.now, table->name, table.get(), context);
      nodes_.add(table->name, {{changes_between(then, now), {}}});
      kinds_.add(std::move(then), std::move(now), table);
    }
  }

  // Tries the pod on its own node; if it has none, on one node of each kind.
  void add_pod(const std::string& title, const Pod& pod) {
    std::map<std::vector<Change>, NodeKinds> changes;
    const auto try_on = [&](std::optional<std::size_t> kind) -> NodeKinds& {
      return changes[compare(pod, kind ? kinds_.example(*kind) : nullptr)];
    };
    const NodeKinds kinds = kinds_.all();
    if (!pod.node_name.empty() || kinds.empty()) {
      try_on(kinds_.of(pod.node_name));
    } else {
      for (const std::size_t kind : kinds) try_on(kind).push_back(kind);
    }
    const auto refuses = [](const auto& some) {
      return !some.first.empty() && some.first.front().now.value == kRefused;
    };
    refused_ += std::ranges::any_of(changes, refuses) ? 1 : 0;
    pods_.add(title, changes);
  }

  [[nodiscard]] bool changes() const { return nodes_.changed() > 0 || pods_.changed() > 0; }
  [[nodiscard]] std::size_t pods() const { return pods_.compared(); }

  void print(const std::string& form, std::ostream& out) const {
    const std::vector<std::string> fields = differing_fields();
    if (is_document(form)) {
      return print_document({{"good", !changes()},
                             {"old", policies_.then ? Json(policies_.then->name) : Json()},
                             {"new", policies_.now->name},
                             {"fields", fields},
                             {"nodes", nodes_.to_json()},
                             {"pods", pods_.to_json(kinds_.names())}},
                            form, out);
    }
    std::vector<std::string> sums;
    if (nodes_.compared() > 0) sums.push_back(nodes_.sum());
    if (pods_.compared() > 0) sums.push_back(pods_.sum());
    out << join(sums) << " change"
        << (refused_ == 0 ? "" : "; Binding: allowed -> refused for " + count_of(refused_, "pod")) << '\n';
    const std::string differ = !policies_.then
                                   ? "there is no policy " + policies_.now->name + " in the cluster yet"
                               : fields.empty() ? "the policies say the same"
                                                : "the policies differ in " + join(fields);
    out << paragraph(differ);
    out << nodes_.render_text() << pods_.render_text(kinds_.names());
  }

 private:
  // `table`: of the node; null where none is known.
  std::vector<Change> compare(const Pod& pod, const std::shared_ptr<const NodeFabric>& table) {
    const auto preview = [&](Situation& situation) {
      situation.tables.clear();
      if (table) situation.tables.push_back(table);
      return preview_pod(pod, table ? table->name : std::string(), situation);
    };
    const Explanation then = preview(before_), now = preview(after_);
    std::vector<Change> changes = changes_between(given_values(then), given_values(now));
    add_carriers(then, now, changes);
    const bool before = is_refused(then), after = is_refused(now);
    if (before != after) {
      Change binding{{}, before ? kRefused : kAllowed, {.name = "Binding"}};
      binding.now.value = after ? kRefused : kAllowed;
      changes.insert(changes.begin(), std::move(binding));
    }
    return changes;
  }

  // The same values by another carrier are not the same for who reads them.
  void add_carriers(const Explanation& then, const Explanation& now, std::vector<Change>& into) const {
    if (!then.inject || !now.inject) return;
    const std::string before = carrier_of(*policies_.then), after = carrier_of(*policies_.now);
    Change change{{}, before, {.name = "delivery", .value = after}};
    for (const ExplainedContainer& container : now.containers) {
      if (before != after && has_node_values(container)) change.places.push_back(container.name);
    }
    if (!change.places.empty()) into.push_back(std::move(change));
  }

  // Fields that differ, as "spec.match", even if they change no value of these nodes and pods.
  [[nodiscard]] std::vector<std::string> differing_fields() const {
    std::vector<std::string> fields;
    Json then = policies_.then ? Json(to_json(*policies_.then)["spec"]) : Json::object();
    const Json now = to_json(*policies_.now)["spec"];
    for (const auto& [name, value] : now.items()) {
      if (!then.contains(name) || then[name] != value) fields.push_back("spec." + name);
      then.erase(name);
    }
    for (const auto& [name, value] : then.items()) fields.push_back("spec." + name);
    return fields;
  }

  const PolicyPair policies_;
  const Timestamp now_;
  Situation before_;
  Situation after_;
  KindsOfNodes kinds_;
  Difference nodes_{"node"};
  Difference pods_{"pod"};
  std::size_t refused_ =
      0;  // of the pods, those that the new policy refuses on a node and the old one does not
};

// Reads the cluster's policy that has the new one's name, if there is one, and the cluster's tables if
// --table gave none.
program::Failure read_old(const ClusterArguments& cluster, bool allow_code_paths, const std::string& name,
                          program::Tables& tables, std::shared_ptr<const NcclPolicy>& into) {
  const auto client = connect_cluster(cluster);
  if (!client) return {program::kNotSeen, client.error().message + "; or give two files, OLD and NEW"};
  auto reading = store::read_cluster(**client, {allow_code_paths});
  if (!reading) return not_read(**client, reading.error().message);
  for (const auto& policy : reading->policies) {
    if (policy->name == name) into = policy;
  }
  if (tables.empty()) tables = std::move(reading->tables);
  if (into) return {};
  for (const auto& refused : reading->refused_policies) {
    if (refused.name == name) return {program::kNotSeen, "NcclPolicy " + name + ": " + refused.problem};
  }
  return {};
}

program::Failure read_pair(const PolicyDiffArguments& arguments, std::istream& in, program::Tables& tables,
                           PolicyPair& into) {
  const auto& [files, name, allow_code_paths, of_nodes, pods, claims, cluster] = arguments;
  const bool of_cluster = files.size() == 1;
  if (!of_cluster && cluster.given() && cluster.name_space.empty())
    return {
        program::kUsage,
        "--kubeconfig and --context: only with --namespace, or with NEW alone, which is compared with the "
        "cluster's"};
  if (auto failure = program::read_chosen_policy({files.back(), name, allow_code_paths}, in, into.now))
    return failure;
  return of_cluster ? read_old(cluster, allow_code_paths, into.now->name, tables, into.then)
                    : program::read_chosen_policy({files.front(), name, allow_code_paths}, in, into.then);
}

program::Failure compare_pods(const std::vector<std::string>& files,
                              const std::vector<std::string>& claim_files, const Console& terminal,
                              PolicyComparison& comparison) {
  ReviewParser parser;
  for (const std::string& file : files) {
    std::vector<std::string> remarks;
    const auto documents = program::read_manifests(file, terminal.in, remarks);
    if (!documents) return {program::kNotSeen, documents.error().message};
    const auto claims = read_claims(*documents, claim_files, terminal.in);
    if (!claims) return {program::kNotSeen, claims.error().message};
    comparison.set_claims(*claims);
    const std::size_t before = comparison.pods();
    for (const Json& document : *documents) {
      for (const PodTemplate& source : find_pod_templates(document)) {
        const std::string name = title_of(source);
        const std::string title = name.empty() ? file : files.size() > 1 ? file + ": " + name : name;
        const Result<Pod> pod = parse_template(parser, source);
        if (!pod) return {program::kNotSeen, file + ": " + name + ": " + pod.error().message};
        if (comparison.pods() == kMaxTemplates)
          return {program::kNotSeen,
                  file + ": more than " + std::to_string(kMaxTemplates) + " pod templates"};
        comparison.add_pod(title, *pod);
      }
    }
    if (comparison.pods() == before)
      return {program::kNotSeen,
              file + ": holds neither a pod nor a pod template: nothing in it has containers"};
    for (const std::string& remark : remarks) terminal.err << "nccl-env: " << remark << '\n';
  }
  return {};
}

// The pods of a namespace that have not ended.
program::Failure compare_live_pods(const ClusterArguments& cluster, PolicyComparison& comparison) {
  const auto client = connect_cluster(cluster);
  if (!client) return {program::kNotSeen, client.error().message};
  std::string problem;
  const auto take = [&](const Json& object) {
    const auto live = LivePod::read(object);
    if (!live) {
      problem = live.error().message;
    } else if (comparison.pods() < kMaxLivePods) {
      comparison.add_pod("pod/" + std::string((*live)->pod().name), (*live)->pod());
    }
  };
  const std::string path = kube::by_field(path_in(cluster.name_space, kube::kPods),
                                          "status.phase!=Succeeded,status.phase!=Failed");
  if (const Status listed = kube::list_all(**client, path, take); !listed) problem = listed.error().message;
  if (!problem.empty()) return {program::kNotSeen, problem};
  if (comparison.pods() == 0)
    return {program::kNothing, "namespace " + cluster.name_space + " has no pods that have not ended"};
  return {};
}

int diff_policies(const PolicyDiffArguments& arguments, const Console& terminal) {
  const auto& [files, name, allow_code_paths, of_nodes, pods, claims, cluster] = arguments;
  auto tables = program::read_tables(of_nodes, terminal.in);
  if (!tables) return stop(terminal, program::kNotSeen, tables.error().message);
  PolicyPair policies;
  if (const program::Failure failure = read_pair(arguments, terminal.in, *tables, policies))
    return stop(terminal, failure);
  const std::string& of = cluster.name_space;
  if (!of.empty() && !is_dns_subdomain(of))
    return stop(terminal, program::kUsage, "--namespace: '" + of + "' is not a namespace's name");
  if (tables->empty() && pods.empty() && of.empty())
    return stop(terminal, program::kNothing,
                "nothing to compare with: give nodes with --table, pods with -f, or live ones with -n");
  // Without an init container: what a pod would find by itself is compared by its node's table.
  PolicyComparison comparison(std::move(policies), program::clock_now(), {});
  comparison.add_nodes(*tables);
  if (const program::Failure failure = compare_pods(pods, claims, terminal, comparison))
    return stop(terminal, failure);
  if (!of.empty()) {
    if (const program::Failure failure = compare_live_pods(cluster, comparison))
      return stop(terminal, failure);
  }
  comparison.print(terminal.form, terminal.out);
  return comparison.changes() ? program::kFinding : program::kDone;
}

}  // namespace

void add_policy_diff(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"diff",
       "Tell which nodes would give other values under another policy, and which pods would get others. "
       "Equal changes are told once. Exit 1 if something changes; 3 without a table or pod to compare with.",
       "nccl-env policy diff old.yaml new.yaml --table fleet -f jobs.yaml"},
      diff_policies);
  app.add_option(
         "POLICY", to.policies,
         "Files with the old and the new policy. With one file it is the new policy; the old one is then the "
         "cluster's of the same name, or none, and the cluster's tables count unless --table is given")
      ->required()
      ->type_name("")
      ->expected(1, 2);
  app.add_option("--policy-name", to.name, "Name of the policy, where the files hold several");
  app.add_option("--table", to.tables,
                 "Files with NodeFabrics, or directories of such files; their age does not count")
      ->type_name("FILE");
  app.add_option("-f,--filename", to.pods, "Files with pods, or with anything that holds pod templates")
      ->type_name("FILE");
  add_namespace(app, to.cluster)
      .description(
          "Live pods of this namespace: which of them would get other values if they were created anew");
  app.add_option("--claims", to.claims, "Files with ResourceClaims and ResourceClaimTemplates of the pods")
      ->type_name("FILE");
}

}  // namespace nccl_env::cli
