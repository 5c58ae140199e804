// SPDX-License-Identifier: Apache-2.0
#include "commands/explain.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "commands/commands.h"
#include "nccl_env/core/explain/job.h"
#include "nccl_env/core/explain/pod_print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/program/help_formatter.h"
#include "nccl_env/program/resolver_options.h"

namespace nccl_env::cli {
namespace {

struct Target {
  enum class Kind { Pod, Job } kind = Kind::Pod;
  std::string name;  // "": of the file
};

struct ExplainRequest {
  const ExplainArguments& arguments;
  Target target;
  Timestamp now;
  NcclVersion version;
};

constexpr const char* kTargets =
    ": must be pod/NAME or job/NAME, or pod or job with -f and the file that kubectl get -o json printed";

Status check_use(const ExplainArguments& arguments, const Target& target, const std::string& form) {
  const auto& [words, cluster, policy, tables, pod, claims, node, version, at, no_resolver] = arguments;
  const bool of_file = !pod.empty();
  if (target.kind == Target::Kind::Job && form == "env")
    return Error{"-o env: of one pod; ranks have values of their own"};
  if (no_resolver) return Error{"--no-resolver: a pod that exists has an init container of ours, or none"};
  if (!node.empty()) return Error{"--node: a pod that exists has a node of its own"};
  if (of_file != target.name.empty())
    return Error{
        of_file
            ? "a TARGET with a name is read from the cluster, without -f; of a file it is pod or job alone"
            : "TARGET: has no name, and no -f FILE is given"};
  if (of_file && cluster.given())
    return Error{"-f with a TARGET asks no cluster: no --kubeconfig, --context or --namespace"};
  if (!cluster.name_space.empty() && !is_dns_subdomain(cluster.name_space))
    return Error{"--namespace: '" + cluster.name_space + "' is not a namespace's name"};
  if (!of_file && (!policy.file.empty() || !policy.name.empty() || !tables.empty()))
    return Error{
        "--policy, --policy-name and --table: the cluster's own count, unless pods come from a file"};
  return done();
}

// Reads "pod/train-0", or "pod" and "train-0".
Result<Target> read_target(const std::vector<std::string>& words) {
  Target target;
  std::string kind = words.empty() ? "" : words.front();
  const std::size_t slash = kind.find('/');
  if (slash != std::string::npos) {
    target.name = kind.substr(slash + 1);
    kind.resize(slash);
    if (words.size() > 1) return Error{"TARGET " + words.front() + " " + words[1] + ": one target, not two"};
    if (target.name.empty()) return Error{"TARGET " + words.front() + kTargets};
  } else if (words.size() > 1) {
    target.name = words[1];
  }
  if (kind == "job" || kind == "jobs") {
    target.kind = Target::Kind::Job;
  } else if (kind != "pod" && kind != "pods" && kind != "po") {
    std::error_code ignored;
    if (!words.empty() && std::filesystem::is_regular_file(words.front(), ignored))
      return Error{"TARGET " + words.front() + ": is a file, which stands behind -f"};
    constexpr std::string_view kOfPods[] = {"deployment", "deploy", "statefulset", "sts",
                                            "daemonset",  "ds",     "replicaset",  "pytorchjob",
                                            "mpijob",     "jobset", "rayjob",      "lws"};
    if (!target.name.empty() && std::ranges::find(kOfPods, kind) != std::end(kOfPods))
      return Error{"TARGET " + kind + "/" + target.name +
                   ": name one of its pods, pod/NAME (kubectl get pods), or preview its template: nccl-env "
                   "explain -f FILE"};
    const bool is_name = words.size() == 1 && target.name.empty() && is_dns_subdomain(kind);
    return Error{"TARGET " + kind + kTargets + (is_name ? ": do you mean pod/" + kind + "?" : "")};
  }
  if (words.size() > 1 && target.name.empty()) return Error{"TARGET" + std::string(kTargets)};
  if (!target.name.empty() && !is_dns_subdomain(target.name))
    return Error{"TARGET: '" + target.name + "' is not an object's name"};
  return target;
}

// An error is a mistake on the command line.
Result<ExplainRequest> read_request(const ExplainArguments& arguments, const std::string& form) {
  const auto target = read_target(arguments.target);
  if (!target) return target.error();
  if (const Status use = check_use(arguments, *target, form); !use) return use.error();
  const auto version = program::read_nccl_version(arguments.nccl_version);
  if (!version) return version.error();
  const auto now = program::read_moment(arguments.at);
  if (!now) return now.error();
  return ExplainRequest{arguments, *target, *now, *version};
}

// Finds the source of the objects that explain the pods. This is the cluster, and `cluster` then holds the
// connection; for pods of a file, the policy and tables that the arguments name, without a connection.
program::Failure find_context(const ExplainRequest& request, std::istream& in, Connection& cluster,
                              std::optional<ContextReader>& into) {
  const ExplainArguments& arguments = request.arguments;
  const auto version = arguments.nccl_version.empty() ? std::nullopt : std::optional(request.version);
  const ContextOptions options{request.now, version, arguments.policy.allow_code_paths};
  if (!request.target.name.empty()) {
    auto found = connect_namespace(arguments.cluster);
    if (!found) return {program::kNotSeen, found.error().message};
    cluster = *std::move(found);
    into.emplace(options, *cluster.client);
    return {};
  }
  auto tables = program::read_tables(arguments.tables, in);
  if (!tables) return {program::kNotSeen, tables.error().message};
  std::shared_ptr<const NcclPolicy> policy;
  if (!arguments.policy.file.empty()) {
    if (program::Failure failure = program::read_chosen_policy(arguments.policy, in, policy)) return failure;
  }
  into.emplace(options, std::move(policy), *std::move(tables));
  return {};
}

void print_pods(const std::vector<AnsweredPod>& pods, const std::string& form, Choices choices,
                std::ostream& out) {
  if (is_document(form)) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const AnsweredPod& pod : pods) all.push_back(to_json(pod.answer, pod.record, pod.around));
    return print_documents(all, form, out);
  }
  std::vector<JudgedPod> judged;
  judged.reserve(pods.size());
  for (const AnsweredPod& pod : pods)
    judged.push_back({"pod " + object_name(pod.record.name_space, pod.record.name), pod.answer.findings});
  if (form != "env") out << summary_of(judged);
  for (const AnsweredPod& pod : pods) {
    if (form == "env") {
      if (pods.size() > 1)
        out << "# pod " << printable(object_name(pod.record.name_space, pod.record.name)) << '\n';
      if (!pod.record.status) out << "# " << to_string(pod.answer.state) << '\n';
      out << render_env(pod.record);
    } else {
      out << (&pod == &pods.front() ? "" : "\n") << render_text(pod.answer, pod.record, pod.around, choices);
    }
  }
}

Result<std::vector<nlohmann::json>> read_pods(const ExplainRequest& request, const Connection& cluster,
                                              std::istream& in) {
  if (!cluster.client) return read_pod_file(request.arguments.pod, in);
  LookUp found = look_up(*cluster.client, ask_pod(cluster.name_space, request.target.name));
  if (found.outcome != LookUp::Outcome::Found) return Error{found.problem};
  return std::vector<nlohmann::json>{std::move(found.object)};
}

int stop_without_pods(const ExplainRequest& request, const Console& terminal) {
  return stop(terminal, program::kNothing, request.arguments.pod + ": holds no pod");
}

// The policy that the pods follow, where the one given is another for all of them; "" else.
std::string policy_followed(const std::vector<AnsweredPod>& members, const ExplainRequest& request) {
  std::string followed;
  for (const AnsweredPod& member : members) {
    const auto& status = member.record.status;
    if (!status || status->policy.empty()) continue;
    if (request.arguments.policy.file.empty() || member.around.policy) return {};
    followed = status->policy;
  }
  return followed;
}

int stop_at_other_policy(const std::string& followed, const Console& terminal) {
  return stop(terminal, program::kUsage,
              "--policy: what is explained follows policy " + printable(followed) +
                  ", which is not the one given: give that one, or none");
}

// The values that a pod has, and why.
int explain_pod(const ExplainRequest& request, const Console& terminal) {
  Connection cluster;
  std::optional<ContextReader> context;
  if (const program::Failure failure = find_context(request, terminal.in, cluster, context))
    return stop(terminal, failure);
  const auto objects = read_pods(request, cluster, terminal.in);
  if (!objects) return stop(terminal, program::kNotSeen, objects.error().message);
  if (objects->empty()) return stop_without_pods(request, terminal);
  std::vector<AnsweredPod> pods;
  std::vector<Finding> findings;
  for (const nlohmann::json& object : *objects) {
    auto answered = context->answer(object);
    if (!answered) return stop(terminal, program::kNotSeen, answered.error().message);
    const std::vector<Finding>& found = answered->answer.findings;
    findings.insert(findings.end(), found.begin(), found.end());
    pods.push_back(*std::move(answered));
  }
  if (const std::string followed = policy_followed(pods, request); !followed.empty())
    return stop_at_other_policy(followed, terminal);
  print_pods(pods, terminal.form, choices_of(terminal.form, request.arguments), terminal.out);
  return program::code_of(findings);
}

struct Job {
  JobTitle title;
  std::vector<AnsweredPod> members;
};

// More of these lines, different for each node, would hide the answer.
constexpr std::size_t kMaxUnread = 8;

void add_once(std::vector<std::string>& into, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) {
    if (into.size() > kMaxUnread || std::ranges::find(into, sentence) != into.end()) continue;
    into.push_back(into.size() == kMaxUnread ? "And more of the kind." : sentence);
  }
}

Status add_members(const std::vector<nlohmann::json>& pods, ContextReader& context, Job& into) {
  for (const nlohmann::json& object : pods) {
    auto answered = context.answer(object);
    if (!answered) return answered.error();
    add_once(into.title.unread, answered->around.unread);
    into.members.push_back(*std::move(answered));
  }
  return done();
}

Result<Job> read_file(const ExplainRequest& request, ContextReader& context, const Console& terminal) {
  const auto pods = read_pod_file(request.arguments.pod, terminal.in);
  if (!pods) return pods.error();
  Job job;
  if (const Status added = add_members(*pods, context, job); !added) return added.error();
  if (const auto& members = job.members; !members.empty())
    job.title = {members.front().record.name_space, job_name(members), job.title.unread};
  return job;
}

Result<Job> read_cluster(const ExplainRequest& request, const Connection& cluster, ContextReader& context) {
  const auto found = list_job_pods(*cluster.client, cluster.name_space, request.target.name);
  if (!found) return found.error();
  Job job{{cluster.name_space, request.target.name, {}}, {}};
  if (const Status added = add_members(found->pods, context, job); !added) return added.error();
  if (found->several) {
    job.title.unread.push_back("Pods of several objects of this name are taken together, by " +
                               join(found->labels) + ".");
  }
  return job;
}

// All ranks of a job beside each other.
int explain_job(const ExplainRequest& request, const Console& terminal) {
  Connection cluster;
  std::optional<ContextReader> context;
  if (const program::Failure failure = find_context(request, terminal.in, cluster, context))
    return stop(terminal, failure);
  const auto job =
      cluster.client ? read_cluster(request, cluster, *context) : read_file(request, *context, terminal);
  if (!job) return stop(terminal, program::kNotSeen, job.error().message);
  if (job->members.empty()) return stop_without_pods(request, terminal);
  constexpr std::size_t kMostNames = 4;
  std::set<std::string> name_spaces;
  for (const AnsweredPod& member : job->members) name_spaces.insert(member.record.name_space);
  if (name_spaces.size() > 1)
    return stop(terminal, program::kUsage,
                "the pods are of several namespaces, " +
                    join_some(std::vector<std::string>(name_spaces.begin(), name_spaces.end()), kMostNames) +
                    ": give those of one (kubectl get pods -n)");
  if (const auto names = several_jobs(job->members); !names.empty()) {
    return stop(terminal, program::kUsage,
                "the pods are of several jobs, " + join_some(names, kMostNames) +
                    ": give those of one (kubectl get pods -l)");
  }
  if (const std::string followed = policy_followed(job->members, request); !followed.empty())
    return stop_at_other_policy(followed, terminal);
  const JobAnswer answer = answer_job(job->title.name, job->members);
  print_answer(terminal, answer, job->members, job->title);
  return program::code_of(answer.findings);
}

}  // namespace

std::string summary_of(const std::vector<JudgedPod>& pods) {
  const JudgedPod* worst = nullptr;
  std::size_t bad = 0;
  for (const JudgedPod& pod : pods) {
    if (is_good(pod.findings)) continue;
    ++bad;
    if (!worst || more_urgent(pod.findings.front(), worst->findings.front())) worst = &pod;
  }
  if (pods.size() == 1 || !worst) return {};
  return paragraph(std::to_string(bad) + " of " + count_of(pods.size(), "pod") + " to act on" +
                   (bad > 1 ? ", first " : ": ") + worst->name + ": " + worst->findings.front().sentence) +
         "\n";
}

Choices choices_of(const std::string& form, const ExplainArguments& arguments) {
  return form == "wide" || !arguments.nccl_version.empty() ? Choices::Both : Choices::Compared;
}

int explain_target(const ExplainArguments& arguments, const Console& terminal) {
  const auto request = read_request(arguments, terminal.form);
  if (!request) return stop(terminal, program::kUsage, request.error().message);
  return request->target.kind == Target::Kind::Pod ? explain_pod(*request, terminal)
                                                   : explain_job(*request, terminal);
}

namespace {

int explain_pods(const ExplainArguments& arguments, const Console& terminal) {
  if (!arguments.target.empty()) return explain_target(arguments, terminal);
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
       {"text", "wide", "env"}},
      explain_pods);
  app.add_option("TARGET", to.target,
                 "pod/NAME or job/NAME of a cluster; pod or job with -f: what kubectl get -o json printed")
      ->type_name("")
      ->expected(1, 2);
  add_namespace(app, to.cluster);
  add_code_paths(app, to.policy.allow_code_paths);
  app.add_option("--table", to.tables, "Files with NodeFabrics")->type_name("FILE");
  app.add_option("-f,--filename", to.pod,
                 "A Pod, a recorded AdmissionReview, or anything that holds pod templates; - is the standard "
                 "input. Without --policy the policy of the cluster's namespace counts")
      ->type_name("FILE");
  app.add_option("--claims", to.claims,
                 "Files with ResourceClaims and ResourceClaimTemplates of the pods, beside those in -f")
      ->type_name("FILE");
  app.add_option("--node", to.node, "The pod's node; default: its spec.nodeName, else the only table's");
  program::group_options(app, "A pod or job of a cluster", {"--namespace", "--kubeconfig", "--context"});
  program::group_options(
      app, "Manifests and files",
      {"--filename", "--policy", "--policy-name", "--allow-code-paths", "--table", "--claims", "--node"});
}

}  // namespace nccl_env::cli
