// SPDX-License-Identifier: Apache-2.0
#include "commands/explain.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <utility>

#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "commands/commands.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/explain/job.h"
#include "nccl_env/judge/explain/pod_print.h"
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
  ContextOptions options;
};

constexpr const char* kTargets =
    ": must be pod/NAME or job/NAME, or pod or job with -f and the file that kubectl get -o json printed";

Status check_use(const ExplainArguments& arguments, const Target& target, const std::string& form) {
  const PodArguments& of_pods = arguments;
  const auto& [pod, cluster, policy, tables, claims, node, at] = of_pods;
  const bool of_file = !pod.empty();
  if (target.kind == Target::Kind::Job && form == "env")
    return Error{"-o env: of one pod; ranks have values of their own"};
  if (arguments.no_resolver)
    return Error{"--no-resolver: a pod that exists has an init container of ours, or none"};
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
  const auto given = arguments.nccl_version.empty() ? std::nullopt : std::optional(*version);
  return ExplainRequest{arguments, *target, {*now, given, arguments.policy.allow_code_paths}};
}

// Finds the source of the objects that explain the pods. This is the cluster, and `cluster` then holds the
// connection; for pods of a file, the policy and tables that the arguments name, without a connection.
program::Failure find_context(const ExplainRequest& request, std::istream& in, Connection& cluster,
                              std::optional<ContextReader>& into) {
  const ExplainArguments& arguments = request.arguments;
  if (!request.target.name.empty()) {
    if (program::Failure failure = take(connect_namespace(arguments.cluster), cluster)) return failure;
    into.emplace(request.options, *cluster.client);
    return {};
  }
  auto tables = program::read_tables(arguments.tables, in);
  if (!tables) return {program::kNotSeen, tables.error().message};
  std::shared_ptr<const NcclPolicy> policy;
  if (program::Failure failure = program::read_chosen_policy(arguments.policy, in, policy)) return failure;
  into.emplace(request.options, std::move(policy), *std::move(tables));
  return {};
}

// A pod, as a list of several names it.
struct ToldPod {
  std::string title;
  const AnsweredPod& told;
  const PodTemplate* source = nullptr;  // null: the pod exists
};

nlohmann::ordered_json documents_of(const std::vector<ToldPod>& pods) {
  return array_of(pods, [](const ToldPod& pod) {
    auto json = nlohmann::ordered_json::object();
    if (pod.source && !pod.source->object.empty()) json["object"] = pod.source->object;
    if (pod.source && !pod.source->path.empty()) json["template"] = pod.source->path;
    json.update(to_json(pod.told.answer, pod.told.record, pod.told.around));
    return json;
  });
}

// " But Worker: NCCL_IB_DISABLE=1 turns …": a choice of the user's own that may be meant; "" where there is
// none.
std::string own_choice(const std::vector<ToldPod>& pods) {
  for (const auto& [title, told, source] : pods) {
    if (const Finding* own = leading_finding(told.answer))
      return " But " + part_of(*source) + ": " + own->sentence;
  }
  return {};
}

// Says in a line which templates get values, where nothing is wrong with them: "Values for Worker; …".
std::string parts_that_get(const std::vector<ToldPod>& pods) {
  std::set<std::string> getting, others;
  bool chosen = true;  // nobody asks for RDMA in vain
  for (const auto& [title, told, source] : pods) {
    const bool gets = told.answer.state != PodState::NotInjected && told.answer.state != PodState::OwnValues;
    (gets ? getting : others).insert(part_of(*source));
    chosen = chosen && (gets || told.answer.reason == Reason::NotRdma);
  }
  const std::string all = count_of(pods.size(), "template");
  if (others.empty()) return "All " + all + " get values.";
  if (getting.empty())
    return "None of " + all +
           (chosen ? " asks for what the policy matches, and none gets values."
                   : " gets values: " + pods.front().told.answer.in_all);
  return "Values for " + join(getting) + "; none for " + join(others) +
         (chosen ? ": no RDMA device is asked for, and none is needed unless it is a rank." : ".");
}

// Tells of several pods which there is something to act on, and what stands first there, as a paragraph with
// a blank line; of templates without it, which get values.
std::string summary_of(const std::vector<ToldPod>& pods) {
  const ToldPod* worst = nullptr;
  std::size_t bad = 0;
  for (const ToldPod& pod : pods) {
    const std::vector<Finding>& findings = pod.told.answer.findings;
    if (is_good(findings)) continue;
    ++bad;
    if (!worst || more_urgent(findings.front(), worst->told.answer.findings.front())) worst = &pod;
  }
  if (pods.size() == 1 || (!worst && !pods.front().source)) return {};
  if (worst)
    return paragraph(std::to_string(bad) + " of " +
                     count_of(pods.size(), worst->source ? "template" : "pod") + " to act on" +
                     (bad > 1 ? ", first " : ": ") + worst->title + ": " +
                     worst->told.answer.findings.front().sentence) +
           "\n";
  return paragraph(parts_that_get(pods) + own_choice(pods)) + "\n";
}

void print_env(const ToldPod& pod, bool several, std::ostream& out) {
  const auto& [record, answer, around] = pod.told;
  if (several) out << "# " << printable(pod.title) << '\n';
  if (!pod.source && !record.status) out << "# " << to_string(answer.state) << '\n';
  if (pod.source && answer.reason && answer.state == PodState::NotInjected)
    out << "# skip: " << to_string(*answer.reason) << '\n';
  out << render_env(record);
}

// Prints those of which the same is to be told once: "TITLE and Worker (2 alike): inject, …".
void print_texts(const std::vector<ToldPod>& pods, Choices choices, std::ostream& out) {
  constexpr std::size_t kMostNames = 4;
  std::map<std::string, std::vector<const ToldPod*>> alike;
  for (const ToldPod& pod : pods)
    alike[render_text(pod.told.answer, pod.told.record, pod.told.around, "", choices)].push_back(&pod);
  const char* before = "";
  for (const ToldPod& pod : pods) {
    const auto& [record, answer, around] = pod.told;
    const auto& same = alike.at(render_text(answer, record, around, "", choices));
    if (same.front() != &pod) continue;
    std::string title = pod.title;
    if (same.size() > 1)
      title +=
          " and " +
          join_some(std::span(same).subspan(1), kMostNames,
                    [](const ToldPod* each) { return each->source ? part_of(*each->source) : each->title; }) +
          " (" + std::to_string(same.size()) + " alike)";
    out << std::exchange(before, "\n") << render_text(answer, record, around, title, choices);
  }
}

// Returns the exit code.
int print_pods(const std::vector<ToldPod>& pods, const ExplainArguments& arguments, const Console& terminal) {
  // The whole of NCCL's choices where it is asked for, also by a version of NCCL's.
  const bool whole = terminal.form == "wide" || !arguments.nccl_version.empty();
  if (is_document(terminal.form)) {
    print_documents(documents_of(pods), terminal.form, terminal.out);
  } else if (terminal.form == "env") {
    for (const ToldPod& pod : pods) print_env(pod, pods.size() > 1, terminal.out);
  } else {
    terminal.out << summary_of(pods);
    print_texts(pods, whole ? Choices::Both : Choices::Compared, terminal.out);
  }
  const auto is_well = [](const ToldPod& pod) { return is_good(pod.told.answer.findings); };
  return std::ranges::all_of(pods, is_well) ? program::kDone : program::kFinding;
}

Result<JobPods> read_pods(const ExplainRequest& request, const Connection& cluster, std::istream& in) {
  const auto& [kind, name] = request.target;
  if (!cluster.client) {
    auto pods = read_pod_file(request.arguments.pod, in);
    return pods ? Result(JobPods{*std::move(pods), {}, false}) : pods.error();
  }
  if (kind == Target::Kind::Job) return list_job_pods(*cluster.client, cluster.name_space, name);
  LookUp found = look_up(*cluster.client, ask_pod(cluster.name_space, name));
  if (found.outcome != LookUp::Outcome::Found) return Error{found.problem};
  return JobPods{std::vector<nlohmann::json>{std::move(found.object)}, {}, false};
}

// Says why pods cannot be explained together, or by the policy that is given; "" where they can.
std::string mixture(const std::vector<AnsweredPod>& pods, const ExplainRequest& request) {
  constexpr std::size_t kMostNames = 4;
  if (request.target.kind == Target::Kind::Job) {
    std::set<std::string> name_spaces;
    for (const AnsweredPod& pod : pods) name_spaces.insert(pod.record.name_space);
    if (name_spaces.size() > 1)
      return "the pods are of several namespaces, " + join_some(name_spaces, kMostNames) +
             ": give those of one (kubectl get pods -n)";
    if (const auto names = several_jobs(pods); !names.empty())
      return "the pods are of several jobs, " + join_some(names, kMostNames) +
             ": give those of one (kubectl get pods -l)";
  }
  std::string followed;
  for (const AnsweredPod& pod : pods) {
    const auto& status = pod.record.status;
    if (!status || status->policy.empty()) continue;
    if (request.arguments.policy.file.empty() || pod.around.policy) return {};
    followed = status->policy;
  }
  return followed.empty() ? ""
                          : "--policy: what is explained follows policy " + printable(followed) +
                                ", which is not the one given: give that one, or none";
}

// All ranks of a job beside each other.
int print_job(JobTitle title, const JobPods& found, const std::vector<AnsweredPod>& members,
              const Console& terminal) {
  constexpr std::size_t kMaxUnread =
      8;  // more of these lines, different for each node, would hide the answer
  std::vector<std::string>& unread = title.unread;
  for (const AnsweredPod& member : members) {
    for (const std::string& sentence : member.around.unread) {
      if (unread.size() > kMaxUnread || std::ranges::find(unread, sentence) != unread.end()) continue;
      unread.push_back(unread.size() == kMaxUnread ? "And more of the kind." : sentence);
    }
  }
  if (found.several)
    unread.push_back("Pods of several objects of this name are taken together, by " + join(found.labels) +
                     ".");
  const JobAnswer answer = answer_job(title.name, members);
  print_answer(terminal, answer, members, title);
  return program::code_of(answer.findings);
}

// Reads what the webhook of an installation, whose init container pods get, would make of a manifest.
program::Failure read_installed(const ExplainArguments& arguments, std::istream& in, Preview& preview,
                                std::vector<ToldPod>& into) {
  const auto installed = [&](const NcclPolicy* policy) {
    return program::installed_plan(policy, arguments.no_resolver);
  };
  program::Failure failure = read_preview(arguments, arguments.nccl_version, installed, in, preview);
  for (const PreviewedPod& pod : preview.pods) into.push_back({title_of(pod.source), pod.told, &pod.source});
  return failure;
}

int explain_pods(const ExplainArguments& arguments, const Console& terminal) {
  if (!arguments.target.empty()) return explain_target(arguments, terminal);
  Preview preview;
  std::vector<ToldPod> pods;
  if (const program::Failure failure = read_installed(arguments, terminal.in, preview, pods))
    return stop(terminal, failure);
  for (const std::string& remark : preview.remarks) terminal.err << "nccl-env: " << remark << '\n';
  return print_pods(pods, arguments, terminal);
}

}  // namespace

int explain_target(const ExplainArguments& arguments, const Console& terminal) {
  const auto request = read_request(arguments, terminal.form);
  if (!request) return stop(terminal, program::kUsage, request.error().message);
  Connection cluster;
  std::optional<ContextReader> context;
  if (const program::Failure failure = find_context(*request, terminal.in, cluster, context))
    return stop(terminal, failure);
  const auto found = read_pods(*request, cluster, terminal.in);
  if (!found) return stop(terminal, program::kNotSeen, found.error().message);
  if (found->pods.empty()) return stop(terminal, program::kNothing, arguments.pod + ": holds no pod");
  const bool of_job = request->target.kind == Target::Kind::Job;
  std::vector<Value> given;  // by the job's launcher to all of its ranks
  for (const nlohmann::json& object : of_job ? found->pods : std::vector<nlohmann::json>()) {
    const auto live = LivePod::read(object);
    for (Value& value : live ? given_to_ranks((*live)->pod()) : std::vector<Value>())
      given.push_back(std::move(value));
  }
  std::vector<AnsweredPod> pods;
  for (const nlohmann::json& object : found->pods) {
    auto answered = context->answer(object, given);
    if (!answered) return stop(terminal, program::kNotSeen, answered.error().message);
    pods.push_back(*std::move(answered));
  }
  if (const std::string mixed = mixture(pods, *request); !mixed.empty())
    return stop(terminal, program::kUsage, mixed);
  if (of_job) {
    const bool named = !request->target.name.empty();
    return print_job({named ? cluster.name_space : pods.front().record.name_space,
                      named ? request->target.name : job_name(pods),
                      {}},
                     *found, pods, terminal);
  }
  std::vector<ToldPod> told;
  told.reserve(pods.size());
  for (const AnsweredPod& pod : pods)
    told.push_back({"pod " + object_name(pod.record.name_space, pod.record.name), pod});
  return print_pods(told, arguments, terminal);
}

Result<nlohmann::json> preview_documents(const ExplainArguments& arguments, std::istream& in) {
  Preview preview;
  std::vector<ToldPod> pods;
  if (const program::Failure failure = read_installed(arguments, in, preview, pods))
    return Error{failure.message};
  return nlohmann::json(documents_of(pods));
}

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
  add_pod_options(app, to);
  add_code_paths(app, to.policy.allow_code_paths);
  program::group_options(app, "A pod or job of a cluster", {"--namespace", "--kubeconfig", "--context"});
  program::group_options(
      app, "Manifests and files",
      {"--filename", "--policy", "--policy-name", "--allow-code-paths", "--table", "--claims", "--node"});
}

}  // namespace nccl_env::cli
