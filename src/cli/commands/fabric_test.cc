// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "check/installed_parts.h"
#include "check/namespace_check.h"
#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "commands/commands.h"
#include "commands/pod_preview.h"
#include "fabric/test_run.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/proof/answer.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/duration.h"
#include "nccl_env/program/version.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using program::Failure;

constexpr std::string_view kPod = "pod/";

struct FabricTestArguments {
  ClusterArguments cluster;
  std::string like;                // "": one resource of the policy
  std::vector<std::string> nodes;  // none: those with the fabric
  std::string selector;
  std::string image;
  bool dry_run = false;
  TestJob job;  // its times, and what is tried with what
};

// A test before it begins.
struct PreparedTest {
  const FabricTestArguments& given;
  std::istream& in;
  std::vector<Json> documents{};  // of --like FILE
  Connection cluster{};
  NamespacePolicy policy{};
  TestTemplate from{};
  TestJob job{};
};

// Where the template is no file, its namespace is the command line's or the context's.
Failure connect(PreparedTest& test) {
  const FabricTestArguments& given = test.given;
  ClusterArguments cluster = given.cluster;
  if (!given.like.empty() && !given.like.starts_with(kPod)) {
    if (Failure failure = take(program::read_documents(given.like, test.in), test.documents)) return failure;
    for (const Json& document : test.documents) {
      for (const PodTemplate& each : find_pod_templates(document)) {
        if (cluster.name_space.empty()) cluster.name_space = each.name_space;
      }
    }
  }
  if (Failure failure = take(connect_namespace(cluster), test.cluster)) return failure;
  test.job.name_space = test.cluster.name_space;
  test.policy = read_namespace_policy(*test.cluster.client, test.cluster.name_space, "", false);
  if (test.policy.problem) return {program::kNothing, "nothing to test: " + test.policy.detail};
  if (test.policy.policy) return {};
  return {program::kNotSeen, test.policy.unread.front() + " is not known"};
}

// The only resource by which the policy matches pods; "" if it says anything else.
std::string only_resource(const NcclPolicy& policy) {
  if (policy.resources.size() != 1 || !policy.networks.empty() || !policy.device_classes.empty() ||
      policy.host_devices)
    return {};
  const std::string& name = policy.resources.front().name;
  const bool literal = is_extended_resource(name) && name.find_first_of("*?[") == name.npos;
  return literal ? name : std::string();
}

// Claims that bring processors alone, as far as the documents tell.
std::set<std::string> claims_of_processors(const PodTemplate& source, const Situation& situation) {
  std::set<std::string> names;
  ReviewParser parser;
  const Result<Pod> pod = parse_template(parser, source);
  for (const PodClaim& claim : pod ? pod->claims : std::vector<PodClaim>()) {
    const ClaimRef ref = claim_ref(claim, pod->name_space);
    const auto known = situation.claims.find({ref.kind, ref.name});
    const auto may_have = [](const DeviceRequest& request) {
      return std::ranges::any_of(request.classes, may_have_nics);
    };
    if (known != situation.claims.end() && std::ranges::none_of(*known->second, may_have))
      names.emplace(claim.name);
  }
  return names;
}

// Finds the template of the documents whose pods get values. Several that make the same test are one.
Failure take_template(PreparedTest& test) {
  Preview preview;
  preview.documents = std::move(test.documents);
  store::Objects objects;
  for (const Json& document : preview.documents) store::add_object(document, {}, objects);
  for (store::Objects::NamedClaim& claim : objects.claims)
    preview.situation.claims.try_emplace({claim.ref.kind, claim.ref.name}, claim.requests);
  preview.situation.around = surroundings_of(test.policy, program::clock_now());
  preview.situation.plan = program::installed_plan(test.policy.policy.get(), false);
  preview.situation.plan.at_binding = test.policy.at_binding;
  if (Failure failure = answer_pods(test.given.like, preview)) return failure;
  std::vector<std::string> all, serving;
  for (const PreviewedPod& pod : preview.pods) {
    all.push_back(title_of(pod.source) + " (" + pod.told.answer.in_all + ")");
    const GivenContainer* main = pod.told.record.main_container();
    if (!pod.gets_values() || !main) continue;
    const TestTemplate from{pod.source.pod, *main, claims_of_processors(pod.source, preview.situation)};
    if (serving.empty()) test.from = from;
    if (serving.empty() || pod_object(from, test.job) != pod_object(test.from, test.job))
      serving.push_back(title_of(pod.source));
  }
  const std::string file = "--like " + test.given.like + ": ";
  if (serving.size() == 1) return {};
  if (serving.empty())
    return {program::kNothing,
            file + (all.empty() ? "holds no pod template" : "none of its pods gets values: " + some_of(all))};
  return {program::kUsage, file + count_of(serving.size(), "template") + " get values and differ: " +
                               some_of(serving) + "; give a file with one of them"};
}

Failure find_template(PreparedTest& test) {
  const std::string& like = test.given.like;
  const std::string& name_space = test.cluster.name_space;
  if (like.starts_with(kPod)) {
    const std::string name = like.substr(kPod.size());
    if (!is_dns_subdomain(name)) return {program::kUsage, "--like " + like + ": is not a pod's name"};
    LookUp found = look_up(*test.cluster.client, ask_pod(name_space, name));
    if (found.outcome != LookUp::Outcome::Found) return {program::kNotSeen, found.problem};
    const auto live = LivePod::read(found.object);
    if (!live) return {program::kNotSeen, like + ": " + live.error().message};
    const GivenContainer* main = (*live)->record().main_container();
    if (!main) return {program::kNotSeen, like + ": has no container"};
    test.from = {std::move(found.object), *main, {}};
    return {};
  }
  if (!like.empty()) return take_template(test);
  const std::string resource = only_resource(*test.policy.policy);
  if (resource.empty())
    return {program::kUsage, "policy " + test.policy.policy->name +
                                 " does not tell alone what a job's pods ask for: show one, by its manifest "
                                 "or by its name: nccl-env fabric test -n " +
                                 name_space + " --like job.yaml, or --like pod/NAME"};
  test.from.pod = sample_pod(resource, {});
  test.from.container.name = text_at(test.from.pod["spec"]["containers"][0], "name");
  return {};
}

// Nodes on which the policy's fabric has ports, whatever their state.
Failure find_fabric(const PreparedTest& test, std::set<std::string>& into) {
  const std::string& labels = test.given.selector;
  kube::ApiServer& client = *test.cluster.client;
  std::map<std::string, NodeTable> tables;
  if (const Status listed = list_node_tables(client, tables); !listed)
    return {program::kNotSeen, listed.error().message + "; or name the nodes: --nodes A,B"};
  for (const auto& [name, read] : tables) {
    if (read.table &&
        !choose_policy_ports(*read.table, *test.policy.policy, Exposure::Host, program::clock_now())
             .fabric.empty())
      into.insert(name);
  }
  if (!labels.empty()) {
    std::set<std::string> all;
    all.swap(into);
    const Status listed =
        kube::list_all(client, kube::by_label(path_of(kube::kNodes), labels), [&](const Json& node) {
          if (auto found = all.extract(text_at(member(node, "metadata"), "name")))
            into.insert(std::move(found));
        });
    if (!listed) return {program::kNotSeen, "--selector: " + listed.error().message};
  }
  if (into.size() > 1) return {};
  return {program::kNothing,
          "nothing to test: " + (into.empty() ? "no node" : "node " + *into.begin() + " alone") + " of " +
              count_of(tables.size(), "NodeFabric") + " has ports of the fabric of policy " +
              test.policy.policy->name + (labels.empty() ? "" : " and labels " + labels)};
}

Failure find_nodes(PreparedTest& test) {
  std::set<std::string> nodes(test.given.nodes.begin(), test.given.nodes.end());
  if (nodes.size() == 1)
    return {program::kNothing, "nothing to test: --nodes names one node, and a link has two"};
  if (Failure failure = nodes.empty() ? find_fabric(test, nodes) : Failure()) return failure;
  test.job.nodes.assign(nodes.begin(), nodes.end());
  const std::size_t most = test.job.all_pairs ? kMostAllPairs : kMostTestNodes;
  if (nodes.size() <= most) return {};
  return {program::kUsage, count_of(nodes.size(), "node") + ", and at most " + std::to_string(most) +
                               (test.job.all_pairs ? " with --all-pairs" : "") +
                               ": choose with --nodes or --selector"};
}

// The image of the agents that run, since their nodes have it; else of the init container that pods get.
std::string find_image(const PreparedTest& test) {
  if (!test.given.image.empty()) return test.given.image;
  const LookUp agents =
      look_up(*test.cluster.client, ask_in(InstalledParts().agent_space.name, kube::kDaemonSets, kAgentName));
  const Json& spec = member(member(member(agents.object, "spec"), "template"), "spec");
  for (const Json& container : items_at(spec, "containers")) return text_at(container, "image");
  const std::string resolver = test.policy.policy->resolver_image.value_or("");
  return resolver.empty() ? std::string(kAgentName) + ":" + std::string(program::kVersion) : resolver;
}

// Tries such a pod, so that nothing is created where none would come, or without values.
Failure try_pod(const PreparedTest& test) {
  const auto tried =
      try_create(*test.cluster.client, test.cluster.name_space, pod_object(test.from, test.job));
  if (!tried) return {program::kNotSeen, tried.error().message};
  if (!tried->admitted && tried->refuser == Refuser::Rights) return {};  // a Job may be allowed
  if (!tried->admitted)
    return {program::kNothing, "nothing was tested: a pod like the job's is refused by " +
                                   std::string(to_string(tried->refuser)) + ": " + tried->sentence};
  if (member(member(tried->pod, "metadata"), "annotations").contains(key::kStatus)) return {};
  return {program::kNothing,
          "nothing was tested: a pod like this is admitted without values, so it would prove nothing about a "
          "job's; nccl-env check -n " +
              test.cluster.name_space + " tells why"};
}

Failure prepare(PreparedTest& test) {
  if (test.job.wait >= test.job.deadline) return {program::kUsage, "--wait has to be shorter than --timeout"};
  for (const auto step : {connect, find_template, find_nodes}) {
    if (Failure failure = step(test)) return failure;
  }
  test.job.image = find_image(test);
  return {};
}

// One line of a terminal that changes.
void show_progress(const TestJob& job, const Proof& proof, std::ostream& err) {
  err << "\r\033[K" << proof.members.size() << " of " << count_of(job.nodes.size(), "node");
  if (proof.rounds > 0) err << ", round " << proof.rounds_done << " of " << proof.rounds;
  err << ", " << count_of(proof.pairs.size(), "pair") << std::flush;
}

int test_fabric(const FabricTestArguments& arguments, const Console& terminal) {
  PreparedTest test{arguments, terminal.in};
  test.job = arguments.job;
  name_anew(test.job);
  if (const Failure failure = prepare(test)) return stop(terminal, failure);
  const auto& [given, in, documents, cluster, policy, from, job] = test;
  if (given.dry_run) {
    print_documents({job_object(from, job), service_object(job, "")},
                    is_document(terminal.form) ? terminal.form : "yaml", terminal.out);
    return program::kDone;
  }
  if (const Failure failure = try_pod(test)) return stop(terminal, failure);
  const bool shown = ::isatty(STDERR_FILENO) == 1;
  const TestJob& shown_job = job;
  TestRun run;
  const program::TerminationSignals signals;
  const Failure failure = run_test(
      *cluster.client, from, job, signals,
      [&](const Proof& proof) {
        if (shown) show_progress(shown_job, proof, terminal.err);
      },
      run);
  if (shown) terminal.err << "\r\033[K";
  for (const std::string& remark : run.remarks) terminal.err << "nccl-env: " << printable(remark) << '\n';
  if (failure) return stop(terminal, failure);
  const ProofAnswer answer = answer_proof(std::move(run.proof), std::move(run.untested));
  print_answer(terminal, answer);
  return answer.is_nothing() ? program::kNothing : program::code_of(answer.findings);
}

}  // namespace

void add_fabric_test(CommandLine& line, CLI::App& fabric) {
  auto [app, to] = line.command(
      fabric,
      {"test",
       "Prove by packets, before a job, that RDMA works between nodes. A Job starts one small pod a node, "
       "made like the pods of a job; they connect as NCCL would, write 4 KiB over each rail and compare. "
       "What fails is told as causes; the first line is the diagnosis. The Job is deleted at the end, and "
       "ends by itself. Not tested: losslessness, bandwidth, GPUs. Exit 1 if something failed, 3 if nothing "
       "was tested, 4 if a right is missing.",
       "nccl-env fabric test -n ml --like job.yaml"},
      test_fabric);
  add_namespace(app, to.cluster);
  app.add_option(
         "--like", to.like,
         "The job's manifest, or pod/NAME of a pod of it: networks, devices but for GPUs, claims, "
         "tolerations, node selector, security context and service account are taken over. Default: a "
         "pod with the resource of the policy, where it names one and nothing else")
      ->type_name("FILE|pod/NAME");
  CLI::Option* nodes =
      app.add_option("--nodes", to.nodes, "Default: all that have ports of the policy's fabric")
          ->delimiter(',')
          ->check([](const std::string& name) {
            return is_dns_subdomain(name) ? "" : name + " is not a node's name";
          })
          ->type_name("NAME,NAME");
  app.add_option("--selector", to.selector, "Of those the nodes with these labels: pool=a,zone!=b")
      ->type_name("LABELS")
      ->excludes(nodes);
  app.add_flag("--all-pairs", to.job.all_pairs,
               "Each node with each, up to " + std::to_string(kMostAllPairs) +
                   " nodes; default: with 2 log2 n others, near and far");
  app.add_flag("--cross-rails", to.job.cross_rails,
               "Each rail with each rail of the peer, not with its own alone");
  app.add_option("--image", to.image, "The agent's image; default: as the cluster's agents have it")
      ->type_name("IMAGE")
      ->check(program::image_problem);
  const auto add_time = [&app = app](const std::string& name, const std::string& description,
                                     std::chrono::seconds& time) {
    return app.add_option(name, description)->check(program::duration(time))->type_name("");
  };
  add_time("--wait", "For pods to start; then those are tested that came. Default: 60s", to.job.wait);
  add_time("--timeout", "The Job ends after this time, whatever happens. Default: 10m", to.job.deadline);
  add_time("--kept", "How long a Job is kept whose command was lost", to.job.kept)->group("");
  app.add_flag("--dry-run", to.dry_run, "Print the Job and its Service, and create nothing");
}

}  // namespace nccl_env::cli
