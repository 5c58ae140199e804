// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "cluster/connection.h"
#include "cluster/objects.h"
#include "commands/explain.h"
#include "commands/pod_preview.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/explain/job.h"
#include "nccl_env/core/explain/pod_print.h"
#include "nccl_env/core/explain/template_differences.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/program/inputs.h"
#include "nccl_env/program/resolver_options.h"

namespace nccl_env::cli {

namespace {

using Json = nlohmann::json;

struct ExplainedPod {
  PodTemplate source;
  AnsweredPod told;
  std::string node;
  std::size_t document = 0;  // of the file
};

nlohmann::ordered_json document_of(const std::vector<ExplainedPod>& pods) {
  auto all = nlohmann::ordered_json::array();
  for (const ExplainedPod& pod : pods) {
    auto json = nlohmann::ordered_json::object();
    if (!pod.source.object.empty()) json["object"] = pod.source.object;
    if (!pod.source.path.empty()) json["template"] = pod.source.path;
    json.update(to_json(pod.told.answer, pod.told.record, pod.told.around));
    all.push_back(std::move(json));
  }
  return all;
}

bool gets_values(const ExplainedPod& pod) {
  return pod.told.answer.state != PodState::NotInjected;
}

constexpr std::size_t kMostNames = 8;  // more would hide the answer

std::string some_of(const std::vector<std::string>& names) {
  return printable(join_some(names, kMostNames));
}

// "All 64 pods get values.", with a blank line.
std::string summary_of_good(const std::vector<ExplainedPod>& pods) {
  const auto got = std::ranges::count_if(pods, gets_values);
  const std::string all = count_of(pods.size(), "pod");
  if (got == 0)
    return paragraph("None of " + all + " gets values: " + pods.front().told.answer.in_all) + "\n";
  return std::to_string(got) + " of " + all + (got == 1 ? " gets values.\n\n" : " get values.\n\n");
}

void print_text(const std::vector<ExplainedPod>& pods, Choices choices, std::ostream& out) {
  std::vector<JudgedPod> judged;
  judged.reserve(pods.size());
  for (const ExplainedPod& pod : pods) judged.push_back({title_of(pod.source), pod.told.answer.findings});
  const std::string summary = summary_of(judged);
  out << (summary.empty() && pods.size() > 1 ? summary_of_good(pods) : summary);
  for (const ExplainedPod& pod : pods) {
    out << (&pod == &pods.front() ? "" : "\n") << printable(title_of(pod.source)) << '\n'
        << render_text(pod.told.answer, pod.told.record, pod.told.around, choices);
  }
}

void print_env(const std::vector<ExplainedPod>& pods, std::ostream& out) {
  for (const ExplainedPod& pod : pods) {
    if (pods.size() > 1) out << "# " << printable(title_of(pod.source)) << '\n';
    if (const auto& reason = pod.told.answer.reason; reason && !gets_values(pod))
      out << "# skip: " << to_string(*reason) << '\n';
    out << render_env(pod.told.record);
  }
}

// Objects in which no pod was found.
std::vector<std::string> passed_over(const std::vector<Json>& documents) {
  std::vector<std::string> names;
  for (const Json& document : documents) {
    for (std::string& name : objects_without_pods(document)) names.push_back(std::move(name));
  }
  return names;
}

// A launcher overrides nothing where no pod of its job gets values.
void silence_launchers(std::vector<ExplainedPod>& pods) {
  for (ExplainedPod& launcher : pods) {
    if (launcher.told.answer.reason != Reason::NotRdma) continue;
    bool has_others = false, any_gets = false;
    for (const ExplainedPod& pod : pods) {
      if (&pod == &launcher || pod.source.object != launcher.source.object) continue;
      has_others = true;
      any_gets = any_gets || gets_values(pod);
    }
    if (has_others && !any_gets) launcher.told.answer.notes.clear();
  }
}

// The object that the pod is a rank of: its own, or the job that a label of a bare pod names; "" if there is
// none.
std::string job_of(const ExplainedPod& pod) {
  const std::string& object = pod.source.object;
  if (!object.starts_with("Pod/"))
    return holds_ranks_of_one_job(std::string_view(object).substr(0, object.find('/'))) ? object
                                                                                        : std::string();
  const Json& labels = member(member(pod.source.pod, "metadata"), "labels");
  return job_label([&](std::string_view label) { return text_at(labels, label); });
}

void compare_ranks(std::vector<ExplainedPod>& pods) {
  // By document (but for bare pods), object and, for serving, whether they prefill.
  std::map<std::tuple<std::size_t, std::string, bool>, std::vector<NamedTemplate>> jobs;
  for (ExplainedPod& pod : pods) {
    const std::string job = job_of(pod);
    if (job.empty()) continue;
    const bool bare = pod.source.object.starts_with("Pod/");
    jobs[{bare ? 0 : pod.document, job, pod.source.path.find(".prefill.") != std::string::npos}].push_back(
        {bare ? pod.source.object : pod.source.path, &pod.told});
  }
  for (const auto& [job, templates] : jobs) compare_templates(templates);
}

// True where it is certain that no pod stands there.
bool has_no_pods(const std::vector<Json>& documents) {
  return std::ranges::all_of(documents,
                             [](const Json& each) { return each.is_object() && !is_too_deep(each); });
}

std::string no_pods_in(const std::string& file, const std::vector<Json>& documents) {
  const std::vector<std::string> others = passed_over(documents);
  return file + ": holds neither a pod nor a pod template: nothing in it has containers" +
         (others.empty() ? "" : " (" + some_of(others) + ")");
}

// True of an object of Kubernetes' own whose containers do not stand in a `spec`, as those of a pod do.
bool is_misplaced(const Json& document, const PodTemplate& source) {
  constexpr std::array<std::string_view, 7> kOwn{"Pod",       "Job",     "Deployment", "StatefulSet",
                                                 "DaemonSet", "CronJob", "ReplicaSet"};
  const std::string_view kind = std::string_view(source.object).substr(0, source.object.find('/'));
  if (std::ranges::find(kOwn, kind) == kOwn.end()) return false;
  return !source.place || !member(member(document.at(*source.place), "spec"), "containers").is_array();
}

program::Failure preview_all(const std::string& file, const std::vector<Json>& documents,
                             const Situation& situation, std::vector<std::string>& remarks,
                             std::vector<ExplainedPod>& into) {
  ReviewParser parser;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for (const PodTemplate& source : find_pod_templates(documents[i])) {
      if (is_misplaced(documents[i], source))
        return {program::kNotSeen, file + ": " + title_of(source) +
                                       ": its containers have to stand in `spec`, as those of a pod do"};
      const Result<Pod> pod = parse_template(parser, source);
      if (!pod) return {program::kNotSeen, file + ": " + title_of(source) + ": " + pod.error().message};
      const Result<std::string> node = node_of(*pod, situation);
      if (!node) return {program::kUsage, node.error().message};
      if (!situation.node.empty() && *node == situation.node && !situation.tables.empty()) {
        if (const auto table = program::choose_table(situation.tables, *node); !table)
          return {program::kUsage, table.error().message};
      }
      if (into.size() == kMaxTemplates) {
        return {program::kNotSeen,
                file + ": holds more than " + std::to_string(kMaxTemplates) + " pod templates"};
      }
      into.push_back({source, preview_pod(*pod, source.pod, *node, situation), *node, i});
    }
  }
  const std::vector<std::string> others = passed_over(documents);
  if (!others.empty())
    remarks.push_back(file + ": passed over, as nothing in them has containers: " + some_of(others));
  silence_launchers(into);
  compare_ranks(into);
  return {};
}

// Returns the command line's namespace, else the only one that objects name; "" if none names one.
Result<std::string> namespace_of(const std::vector<Json>& documents, const std::string& given) {
  if (!given.empty()) return given;
  std::set<std::string> found;
  const auto add = [&](const Json& object) {
    const Json& name = member(member(object, "metadata"), "namespace");
    if (name.is_string()) found.insert(text_of(name));
  };
  for (const Json& document : documents) {
    add(document);
    for (const Json& item : items_at(document, "items")) add(item);
  }
  if (found.size() > 1)
    return Error{"the file's objects are in several namespaces; choose with -n: " + *found.begin() + ", " +
                 *std::next(found.begin())};
  return found.empty() ? std::string() : *found.begin();
}

// The table of --node, if no file holds one.
program::Failure ask_table(const ExplainArguments& arguments, kube::ApiServer& client, Situation& into) {
  if (arguments.node.empty() || !into.tables.empty()) return {};
  const NodeTable node = read_node_table(client, arguments.node);
  if (!node.known) return {program::kNotSeen, node.problem + "; give the table's file with --table"};
  if (!node.table)
    return not_read(client, "--node " + arguments.node + ": there is no NodeFabric of that name");
  into.tables.push_back(node.table);
  return {};
}

// The policy that the cluster's namespace follows, and the table of --node.
program::Failure ask_cluster(const ExplainArguments& arguments, const std::vector<Json>& documents,
                             Situation& into) {
  ClusterArguments cluster = arguments.cluster;
  const auto name_space = namespace_of(documents, cluster.name_space);
  if (!name_space) return {program::kUsage, name_space.error().message};
  cluster.name_space = *name_space;
  const auto connection = connect_namespace(cluster);
  if (!connection)
    return {program::kNotSeen, connection.error().message + "; or give the policy's file with --policy"};
  into.problem = read_namespace_policy(*connection->client, connection->name_space, "",
                                       arguments.policy.allow_code_paths);
  into.policy = into.problem.problem ? nullptr : into.problem.policy;
  into.plan.at_binding = into.problem.at_binding;
  if (!into.policy && !into.problem.problem)
    return {program::kNotSeen,
            into.problem.unread.front() + " is not known; give the policy's file with --policy"};
  return ask_table(arguments, *connection->client, into);
}

program::Failure read_situation(const ExplainArguments& arguments, const std::vector<Json>& documents,
                                std::istream& in, Situation& into) {
  if (arguments.policy.file.empty()) return ask_cluster(arguments, documents, into);
  if (program::Failure failure = program::read_chosen_policy(arguments.policy, in, into.policy))
    return failure;
  if (arguments.node.empty() || !into.tables.empty()) return {};
  const auto client = connect_cluster(arguments.cluster);
  if (!client) return {program::kNotSeen, client.error().message + "; or give the table's file with --table"};
  return ask_table(arguments, **client, into);
}

std::vector<Finding> findings_of(const std::vector<ExplainedPod>& pods) {
  std::vector<Finding> all;
  for (const ExplainedPod& pod : pods) {
    const std::vector<Finding>& found = pod.told.answer.findings;
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

void print(const std::vector<ExplainedPod>& pods, const std::string& form, Choices choices,
           std::ostream& out) {
  if (is_document(form)) return print_documents(document_of(pods), form, out);
  if (form == "env") return print_env(pods, out);
  print_text(pods, choices, out);
}

// The pods of a file, and what decides about them.
struct Preview {
  std::vector<Json> documents;
  Situation situation;
  std::vector<ExplainedPod> pods;
  std::vector<std::string> remarks;
};

program::Failure misuse(const ExplainArguments& arguments) {
  if (arguments.pod.empty()) return {program::kUsage, "explain needs pod/NAME or job/NAME, or -f FILE"};
  if (arguments.policy.file.empty() && !arguments.policy.name.empty())
    return {program::kUsage, "--policy-name: only with --policy"};
  return {};
}

// The init container that pods get, as far as it is known under the policy, which may be null.
using ChooseResolver = std::function<PlanOptions(const NcclPolicy*)>;

ChooseResolver as_installed(const ExplainArguments& arguments) {
  return [&](const NcclPolicy* policy) { return program::installed_plan(policy, arguments.no_resolver); };
}

// For pods that are to run: only with an image that somebody named.
ChooseResolver as_named(const Resolver& resolver) {
  return [&](const NcclPolicy* policy) {
    if (!resolver.image.empty()) return program::plan_options(resolver);
    return program::installed_plan(policy, !policy || !policy->resolver_image);
  };
}

program::Failure read_preview(const ExplainArguments& arguments, const ChooseResolver& resolver_of,
                              std::istream& in, Preview& into) {
  const auto& [target, cluster, policy, of_nodes, pod, of_claims, node, nccl, at, no_resolver] = arguments;
  if (program::Failure failure = misuse(arguments)) return failure;
  const auto version = program::read_nccl_version(nccl);
  if (!version) return {program::kUsage, version.error().message};
  const auto now = program::read_moment(at);
  if (!now) return {program::kUsage, now.error().message};
  auto tables = program::read_tables(of_nodes, in);
  if (!tables) return {program::kNotSeen, tables.error().message};
  auto documents = program::read_documents(pod, in);
  if (!documents) return {program::kNotSeen, documents.error().message};
  into.documents = *std::move(documents);
  if (std::ranges::all_of(into.documents,
                          [](const Json& each) { return find_pod_templates(each).empty(); })) {
    return {has_no_pods(into.documents) ? program::kNothing : program::kNotSeen,
            no_pods_in(pod, into.documents)};
  }
  auto claims = read_claims(into.documents, of_claims, in);
  if (!claims) return {program::kNotSeen, claims.error().message};
  Situation& situation = into.situation;
  situation = {nullptr, {}, *std::move(claims), *std::move(tables), node, *now, *version, {}};
  if (program::Failure failure = read_situation(arguments, into.documents, in, situation)) return failure;
  situation.plan.resolver = resolver_of(situation.policy.get()).resolver;
  if (nccl.empty() && situation.policy)
    situation.version = situation.policy->min_nccl.value_or(situation.version);
  if (program::Failure failure = preview_all(pod, into.documents, situation, into.remarks, into.pods))
    return failure;
  return {};
}

void print_manifest(const std::vector<Json>& documents, const Console& terminal) {
  for (const Json& document : documents) {
    if (terminal.form == "json") {
      terminal.out << document.dump(2, ' ', true) << '\n';
    } else {
      terminal.out << (&document == &documents.front() ? "" : "---\n") << to_yaml(document);
    }
  }
}

bool is_unbound(const ExplainedPod& pod) {
  return gets_values(pod) && text_at(member(pod.source.pod, "spec"), "nodeName").empty();
}

// Makes the pod in its document as the webhook would; says why where it cannot.
void inject(const ExplainedPod& pod, Preview& preview, std::ostream& err) {
  const auto say = [&](const std::string& sentence) {
    const std::string title = title_of(pod.source);
    err << "nccl-env: " << printable(title.empty() ? sentence : title + ": " + sentence) << '\n';
  };
  if (!pod.source.place) return say("left as it is: its pod is made of other fields");
  say(pod.told.answer.in_all);
  for (const Finding& finding : pod.told.answer.findings)
    say(std::string(to_string(finding.code)) + ": " + finding.sentence);
  ReviewParser parser;
  const Result<Pod> parsed = parse_template(parser, pod.source);
  const std::string patch = parsed ? patch_of(*parsed, pod.node, preview.situation) : "";
  if (patch.empty()) return;
  // With labels that an operator gives its pods, which the patch counts on.
  preview.documents[pod.document][*pod.source.place] = pod.source.pod.patch(parse_json(patch));
}

}  // namespace

int preview_pods(const ExplainArguments& arguments, const Console& terminal) {
  Preview preview;
  if (const program::Failure failure = read_preview(arguments, as_installed(arguments), terminal.in, preview))
    return stop(terminal, failure);
  for (const std::string& remark : preview.remarks) terminal.err << "nccl-env: " << remark << '\n';
  print(preview.pods, terminal.form, choices_of(terminal.form, arguments), terminal.out);
  return program::code_of(findings_of(preview.pods));
}

Result<nlohmann::json> preview_documents(const ExplainArguments& arguments, std::istream& in) {
  Preview preview;
  if (const program::Failure failure = read_preview(arguments, as_installed(arguments), in, preview))
    return Error{failure.message};
  return nlohmann::json(document_of(preview.pods));
}

namespace {

// The pods that would get other values with the init container of an installation, which explain -f counts
// on.
std::vector<std::string> lacking_resolver(const Preview& preview) {
  if (preview.situation.plan.resolver) return {};
  Situation installed = preview.situation;
  installed.plan.resolver = program::installed_plan(installed.policy.get(), false).resolver;
  std::vector<std::string> names;
  ReviewParser parser;
  for (const ExplainedPod& pod : preview.pods) {
    const Result<Pod> parsed = parse_template(parser, pod.source);
    if (parsed &&
        preview_pod(*parsed, pod.source.pod, pod.node, installed).answer.in_all != pod.told.answer.in_all)
      names.push_back(title_of(pod.source));
  }
  return names;
}

}  // namespace

int inject_pods(const ExplainArguments& arguments, const Resolver& resolver, const Console& terminal) {
  Preview preview;
  if (const program::Failure failure = read_preview(arguments, as_named(resolver), terminal.in, preview)) {
    if (failure.code == program::kNothing) print_manifest(preview.documents, terminal);  // as it is
    return stop(terminal, failure);
  }
  for (const std::string& remark : preview.remarks) terminal.err << "nccl-env: " << remark << '\n';
  if (const std::string& image = resolver.image; !image.empty() && !program::is_pinned(image))
    terminal.err
        << "nccl-env: --resolver-image names no digest: what pods get is what the tag points to when "
           "they start\n";
  if (const auto names = lacking_resolver(preview); !names.empty())
    terminal.err
        << "nccl-env: without --resolver-image no init container looks inside the pod, as explain -f "
           "has it: "
        << some_of(names) << '\n';
  const auto& nodes = preview.situation.tables;
  if (!nodes.empty() && std::ranges::any_of(preview.pods, is_unbound))
    terminal.err << "nccl-env: the values are those of one node: send the pods there (spec.nodeName, or a "
                    "nodeSelector)\n";
  for (const ExplainedPod& pod : preview.pods) inject(pod, preview, terminal.err);
  print_manifest(preview.documents, terminal);
  return program::code_of(findings_of(preview.pods));
}

}  // namespace nccl_env::cli
