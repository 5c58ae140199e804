// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_preview.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "cluster/context.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/judge/explain/job.h"
#include "nccl_env/judge/explain/template_answer.h"
#include "nccl_env/judge/explain/template_differences.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// A JobSet in a List, the deepest of the known forms, takes 9.
constexpr int kMaxDepth = 32;

std::string name_of(const Json& object) {
  const Json& metadata = member(object, "metadata");
  const std::string name = text_at(metadata, "name");
  return name.empty() ? text_at(metadata, "generateName") : name;
}

bool is_pod_spec(const Json& value) {
  const Json& all = member(value, "containers");
  return all.is_array() && std::ranges::all_of(all, [](const Json& item) { return item.is_object(); });
}

// An API object of another kind has its own metadata, not the pod's.
bool is_pod(const Json& object) {
  const std::string kind = text_at(object, "kind");
  return is_pod_spec(member(object, "spec")) && (kind.empty() || kind == "Pod");
}

// The pod of a spec that has no metadata beside it.
Json pod_of_spec(const Json& spec) {
  Json pod = Json::object();
  for (const char* name : {"labels", "annotations"}) {
    if (const Json& value = member(spec, name); value.is_object()) pod["metadata"][name] = value;
  }
  pod["spec"] = spec;
  return pod;
}

// Makes an object of whatever else stands there, which a pod's reader would refuse.
Json& object_at(Json& parent, const char* name) {
  Json& found = parent[name];
  if (!found.is_object()) found = Json::object();
  return found;
}

struct Owner {
  std::string name;
  std::string name_space;
  std::string version;  // apiVersion
  std::string one_of;   // as PodTemplate::one_of
};

// The pods of a LeaderWorkerSet's group, or of a job with roles (…ReplicaSpecs), but for a launcher that is
// not a rank: how many there are. "" for one alone.
std::string pods_of(const Json& object, const std::string& name) {
  const auto number = [](const Json& of, std::string_view field, int otherwise) {
    const Json& value = member(of, field);
    return value.is_number_integer() ? value.get<int>() : otherwise;
  };
  const Json& spec = member(object, "spec");
  const bool launcher_works = member(spec, "runLauncherAsWorker") == true;
  std::int64_t pods = number(member(spec, "leaderWorkerTemplate"), "size", 0);
  for (const auto& [kind, roles] : spec.items()) {
    if (!kind.ends_with("ReplicaSpecs")) continue;
    for (const auto& [role, of] : roles.items())
      pods += role == "Launcher" && !launcher_works ? 0 : number(of, "replicas", 1);
  }
  return pods > 1 ? name + " has " + std::to_string(pods) + " pods" : std::string();
}

// Adds the labels by which kubeflow/mpi-operator (v2beta1) marks a worker. Admission sees them.
Json as_mpi_worker(Json pod) {
  Json& labels = object_at(object_at(pod, "metadata"), "labels");
  labels["training.kubeflow.org/operator-name"] = "mpi-operator";
  labels["training.kubeflow.org/job-role"] = "worker";
  return pod;
}

bool is_mpi_worker(const Owner& owner, const std::string& path) {
  return owner.name.starts_with("MPIJob/") && owner.version.starts_with("kubeflow.org/v2") &&
         path.ends_with("mpiReplicaSpecs.Worker.template");
}

// Where a value is in its document, for people and as a pointer (RFC 6901).
struct Place {
  std::string path;
  Json::json_pointer pointer;

  [[nodiscard]] Place at(const std::string& key) const {
    return {path.empty() ? key : path + "." + key, pointer / key};
  }
  [[nodiscard]] Place at(std::size_t index) const {
    return {path + "[" + std::to_string(index) + "]", pointer / index};
  }
};

void walk(const Json& value, const Owner& owner, const Place& place, int depth,
          std::vector<PodTemplate>& found) {
  if (depth > kMaxDepth || found.size() > kMaxTemplates) return;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) walk(value[i], owner, place.at(i), depth + 1, found);
    return;
  }
  if (!value.is_object()) return;
  Owner inside = owner;
  if (const std::string own = name_of(value); !own.empty() && value.contains("kind")) {
    inside.name = text_at(value, "kind") + "/" + own;
    inside.name_space = text_at(member(value, "metadata"), "namespace");
    inside.version = text_at(value, "apiVersion");
    inside.one_of = pods_of(value, inside.name);
  }
  const auto add = [&](Json pod, std::optional<Json::json_pointer> at) {
    found.push_back(
        {inside.name, place.path, inside.name_space, std::move(pod), std::move(at), 0, inside.one_of});
  };
  if (is_pod(value))
    return add(is_mpi_worker(inside, place.path) ? as_mpi_worker(value) : value, place.pointer);
  if (is_pod_spec(value)) return add(pod_of_spec(value), {});
  for (const auto& [key, inner] : value.items()) walk(inner, inside, place.at(key), depth + 1, found);
}

// True where objects are nested deeper than pods are looked for.
bool is_too_deep(const Json& value, int depth = 0) {
  const auto inner = [&](const Json& child) { return is_too_deep(child, depth + 1); };
  return value.is_structured() && (depth > kMaxDepth || std::ranges::any_of(value, inner));
}

using ClaimFiles = decltype(Situation::claims);

// Fails if a claim is refused or a name is given twice; objects of other kinds are left alone.
Status add_claims(const std::vector<Json>& documents, ClaimFiles& into) {
  store::Objects objects;
  for (const Json& document : documents) store::add_object(document, {}, objects);
  for (const store::Objects::Problem& problem : objects.problems) {
    if (problem.kind.starts_with("ResourceClaim")) return Error{problem.sentence};
  }
  for (store::Objects::NamedClaim& claim : objects.claims) {
    if (!into.try_emplace({claim.ref.kind, claim.ref.name}, std::move(claim.requests)).second)
      return Error{std::string(to_string(claim.ref.kind)) + " " + claim.ref.name + " is given twice"};
  }
  return done();
}

// Reads the claims beside the pods, and those of files.
Status read_claims(const std::vector<Json>& documents, const std::vector<std::string>& files,
                   std::istream& in, ClaimFiles& into) {
  if (Status added = add_claims(documents, into); !added) return added;
  for (const std::string& file : files) {
    const auto read = program::read_documents(file, in);
    if (!read) return read.error();
    const std::size_t before = into.size();
    if (const Status added = add_claims(*read, into); !added)
      return Error{file + ": " + added.error().message};
    if (into.size() == before)
      return Error{file + ": holds neither a ResourceClaim nor a ResourceClaimTemplate"};
  }
  return done();
}

// The pod's claims as the webhook knows them; a claim that no file holds is not known.
PodClaims claims_of(const Pod& pod, const ClaimFiles& files) {
  PodClaims claims;
  for (const PodClaim& claim : pod.claims) {
    const ClaimRef ref = claim_ref(claim, pod.name_space);
    const auto found = files.find({ref.kind, ref.name});
    const SharedRequests known = found == files.end() ? nullptr : found->second;
    const std::string problem =
        std::string(to_string(ref.kind)) + " " + ref.name + " is in none of the files (--claims, -f)";
    claims.entries.push_back({known, known ? "" : problem});
  }
  return claims;
}

// A node of the command line has to have one of the tables, where there are some.
Result<std::string> node_of(const Pod& pod, const Situation& situation) {
  const std::string given = pod.node_name.empty() ? situation.node : std::string(pod.node_name);
  if (situation.tables.empty() || (!given.empty() && given != situation.node)) return given;
  const auto chosen = program::choose_table(situation.tables, given);
  if (!chosen) return chosen.error();
  return (*chosen)->name;
}

// Returns the values that commands give to all ranks of their object (mpirun -x), by its name.
std::map<std::string, std::vector<Value>> given_to_ranks(const Json& document) {
  std::map<std::string, std::vector<Value>> given;
  ReviewParser parser;
  for (const PodTemplate& source : find_pod_templates(document)) {
    const Result<Pod> pod = parse_template(parser, source);
    for (Value& value : pod ? given_to_ranks(*pod) : std::vector<Value>()) {
      value.container += " of " + part_of(source);
      given[source.object].push_back(std::move(value));
    }
  }
  return given;
}

PreviewedPod preview(const PodTemplate& source, const Pod& pod, const std::string& node,
                     const Situation& situation, const std::vector<Value>& from_launcher) {
  const auto& [common, files, tables, given_node, options] = situation;
  PreviewedPod made{source, {}, node, {}, given_to_ranks(pod)};
  PodSurroundings around = common;
  around.node = node;
  if (!around.policy) {
    made.told = answer_template(source.pod, std::move(around));
    return made;
  }
  const PodClaims claims = claims_of(pod, files);
  const Plan plan = within_patch_bounds(pod, plan_pod(pod, *around.policy, options, &claims));
  const auto table = std::ranges::find(tables, node, [](const auto& each) { return each->name; });
  if (table != tables.end()) around.table = *table;
  std::optional<BindingPlan> binding;
  if (!tables.empty()) binding = plan_binding(around.policy, node, around.table.get(), around.context);
  const BindingPlan* const bound = binding ? &*binding : nullptr;
  around.claims = &claims;
  around.one_of = source.one_of;
  made.told = answer_template({pod, source.pod, plan, std::move(around), bound, options, from_launcher});
  if (plan.inject) made.patch = render_pod_patch(pod, plan, bound).text;
  return made;
}

// Objects in which no pod was found.
std::vector<std::string> passed_over(const std::vector<Json>& documents) {
  std::vector<std::string> names;
  for (const Json& document : documents)
    std::ranges::move(objects_without_pods(document), std::back_inserter(names));
  return names;
}

// A launcher overrides nothing where no pod of its job gets values.
void silence_launchers(std::vector<PreviewedPod>& pods) {
  for (PreviewedPod& launcher : pods) {
    if (launcher.told.answer.reason != Reason::NotRdma) continue;
    bool has_others = false, any_gets = false;
    for (const PreviewedPod& pod : pods) {
      if (&pod == &launcher || pod.source.object != launcher.source.object) continue;
      has_others = true;
      any_gets = any_gets || pod.gets_values();
    }
    if (has_others && !any_gets) launcher.told.answer.notes.clear();
  }
}

// A launcher's value is wrong where its command stands, not in the ranks that take it.
void tell_at_launchers(std::vector<PreviewedPod>& pods) {
  for (PreviewedPod& launcher : pods) {
    for (PreviewedPod& rank : pods) {
      if (launcher.gives.empty() || rank.source.object != launcher.source.object) continue;
      for (const Value& value : launcher.gives) {
        if (!find_named(rank.gives, value.name))
          tell_at_launcher(value.name, rank.told, launcher.told.answer);
      }
    }
  }
}

// The object that the pod is a rank of: its own, or the job that a label of a bare pod names; "" if there is
// none.
std::string job_of(const PreviewedPod& pod) {
  const std::string& object = pod.source.object;
  if (!object.starts_with("Pod/"))
    return holds_ranks_of_one_job(std::string_view(object).substr(0, object.find('/'))) ? object
                                                                                        : std::string();
  const Json& labels = member(member(pod.source.pod, "metadata"), "labels");
  return job_label([&](std::string_view label) { return text_at(labels, label); });
}

void compare_ranks(std::vector<PreviewedPod>& pods) {
  // By document (but for bare pods), object and, for serving, whether they prefill.
  std::map<std::tuple<std::size_t, std::string, bool>, std::vector<NamedTemplate>> jobs;
  for (PreviewedPod& pod : pods) {
    const std::string job = job_of(pod);
    if (job.empty()) continue;
    const bool bare = pod.source.object.starts_with("Pod/");
    jobs[{bare ? 0 : pod.source.document, job, pod.source.path.find(".prefill.") != std::string::npos}]
        .push_back({bare ? pod.source.object : pod.source.path, &pod.told});
  }
  for (const auto& [job, templates] : jobs) compare_templates(templates);
}

// True where it is certain that no pod stands there.
bool has_no_pods(const std::vector<Json>& documents) {
  return std::ranges::all_of(documents,
                             [](const Json& each) { return each.is_object() && !is_too_deep(each); });
}

// True of an object of Kubernetes' own whose containers do not stand in a `spec`, as those of a pod do.
bool is_misplaced(const Json& document, const PodTemplate& source) {
  constexpr std::array<std::string_view, 7> kOwn{"Pod",       "Job",     "Deployment", "StatefulSet",
                                                 "DaemonSet", "CronJob", "ReplicaSet"};
  const std::string_view kind = std::string_view(source.object).substr(0, source.object.find('/'));
  if (std::ranges::find(kOwn, kind) == kOwn.end()) return false;
  return !source.place || !member(member(document.at(*source.place), "spec"), "containers").is_array();
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

// The policy of the file, else the one that the cluster's namespace follows; and the table of --node, if no
// file holds one.
program::Failure read_situation(const PodArguments& arguments, const std::vector<Json>& documents,
                                Timestamp now, std::istream& in, Situation& into) {
  const bool needs_table = !arguments.node.empty() && into.tables.empty();
  NamespacePolicy found;
  std::shared_ptr<kube::ApiServer> client;
  if (!arguments.policy.file.empty()) {
    if (program::Failure failure = program::read_chosen_policy(arguments.policy, in, found.policy))
      return failure;
    auto connected = needs_table ? connect_cluster(arguments.cluster) : client;
    if (!connected)
      return {program::kNotSeen, connected.error().message + "; or give the table's file with --table"};
    client = *std::move(connected);
  } else {
    ClusterArguments cluster = arguments.cluster;
    const auto name_space = namespace_of(documents, cluster.name_space);
    if (!name_space) return {program::kUsage, name_space.error().message};
    cluster.name_space = *name_space;
    const auto connection = connect_namespace(cluster);
    if (!connection)
      return {program::kNotSeen, connection.error().message + "; or give the policy's file with --policy"};
    client = connection->client;
    found = read_namespace_policy(*client, connection->name_space, "", arguments.policy.allow_code_paths);
    if (!found.policy && !found.problem)
      return {program::kNotSeen,
              found.unread.front() + " is not known; give the policy's file with --policy"};
  }
  into.around = surroundings_of(found, now);
  into.plan.at_binding = found.at_binding;
  if (!needs_table) return {};
  const NodeTable node = read_node_table(*client, arguments.node);
  if (!node.known) return {program::kNotSeen, node.problem + "; give the table's file with --table"};
  if (!node.table)
    return not_read(*client, "--node " + arguments.node + ": there is no NodeFabric of that name");
  into.tables.push_back(node.table);
  return {};
}

}  // namespace

void add_pod_options(CLI::App& app, PodArguments& into) {
  app.add_option("-f,--filename", into.pod,
                 "A Pod, a recorded AdmissionReview, or anything that holds pod templates; - is the standard "
                 "input. Without --policy the policy of the cluster's namespace counts")
      ->type_name("FILE");
  add_namespace(app, into.cluster);
  app.add_option("--table", into.tables, "Files with NodeFabrics")->type_name("FILE");
  app.add_option("--claims", into.claims,
                 "Files with ResourceClaims and ResourceClaimTemplates of the pods, beside those in -f")
      ->type_name("FILE");
  app.add_option("--node", into.node, "The pods' node; default: their spec.nodeName, else the only table's")
      ->type_name("NAME");
}

std::vector<PodTemplate> find_pod_templates(const Json& document) {
  std::vector<PodTemplate> found;
  if (text_at(document, "kind") == "AdmissionReview") {
    const Place place{"request.object", Json::json_pointer("/request/object")};
    walk(member(member(document, "request"), "object"), {}, place, 0, found);
  } else {
    walk(document, {}, Place(), 0, found);
  }
  return found;
}

std::vector<std::string> objects_without_pods(const Json& document) {
  const Json& items = member(document, "items");
  std::vector<std::string> titles;
  for (const Json& object : items.is_array() ? items : Json::array({document})) {
    const std::string kind = text_at(object, "kind"), name = name_of(object);
    if (kind == "ResourceClaim" || kind == "ResourceClaimTemplate" || titles.size() == kMaxTemplates ||
        !find_pod_templates(object).empty())
      continue;
    titles.push_back((kind.empty() ? "an object without a kind" : kind) + (name.empty() ? "" : "/" + name));
  }
  return titles;
}

Result<Pod> parse_template(ReviewParser& parser, const PodTemplate& source) {
  Result<Pod> pod = parser.parse_pod(dump_json(source.pod));
  if (pod && pod->name_space.empty()) pod->name_space = source.name_space;
  return pod;
}

std::string title_of(const PodTemplate& source) {
  return source.object + (source.object.empty() || source.path.empty() ? "" : " ") + source.path;
}

std::string part_of(const PodTemplate& source) {
  std::string_view path = source.path;
  for (const std::string_view end : {".template", ".spec", ".template"}) {
    if (path.ends_with(end)) path.remove_suffix(end.size());
  }
  const std::string part(path.substr(path.rfind('.') + 1));
  return part.empty() || part == "spec" ? source.object : part;
}

program::Failure answer_pods(const std::string& file, Preview& into) {
  ReviewParser parser;
  into.pods.clear();
  for (std::size_t i = 0; i < into.documents.size(); ++i) {
    auto given = given_to_ranks(into.documents[i]);
    for (PodTemplate& source : find_pod_templates(into.documents[i])) {
      const std::string where = file + ": " + title_of(source) + ": ";
      source.document = i;
      if (is_misplaced(into.documents[i], source))
        return {program::kNotSeen, where + "its containers have to stand in `spec`, as those of a pod do"};
      const Result<Pod> pod = parse_template(parser, source);
      if (!pod) return {program::kNotSeen, where + pod.error().message};
      const Result<std::string> node = node_of(*pod, into.situation);
      if (!node) return {program::kUsage, node.error().message};
      if (into.pods.size() == kMaxTemplates)
        return {program::kNotSeen,
                file + ": holds more than " + std::to_string(kMaxTemplates) + " pod templates"};
      into.pods.push_back(preview(source, *pod, *node, into.situation, given[source.object]));
    }
  }
  silence_launchers(into.pods);
  compare_ranks(into.pods);
  tell_at_launchers(into.pods);
  return {};
}

program::Failure read_preview(const PodArguments& arguments, const std::string& nccl_version,
                              const ChooseResolver& resolver_of, std::istream& in, Preview& into) {
  const auto& [file, cluster, policy, of_nodes, of_claims, node, at] = arguments;
  auto& [documents, situation, pods, remarks] = into;
  if (file.empty()) return {program::kUsage, "explain needs pod/NAME or job/NAME, or -f FILE"};
  if (policy.file.empty() && !policy.name.empty())
    return {program::kUsage, "--policy-name: only with --policy"};
  const auto version = program::read_nccl_version(nccl_version);
  if (!version) return {program::kUsage, version.error().message};
  const auto now = program::read_moment(at);
  if (!now) return {program::kUsage, now.error().message};
  if (program::Failure failure = take(program::read_tables(of_nodes, in), situation.tables)) return failure;
  if (program::Failure failure = take(program::read_documents(file, in), documents)) return failure;
  const std::vector<std::string> others = passed_over(documents);
  if (std::ranges::all_of(documents, [](const Json& each) { return find_pod_templates(each).empty(); }))
    return {has_no_pods(documents) ? program::kNothing : program::kNotSeen,
            file + ": holds neither a pod nor a pod template: nothing in it has containers" +
                (others.empty() ? "" : " (" + some_of(others) + ")")};
  if (const Status claims = read_claims(documents, of_claims, in, situation.claims); !claims)
    return {program::kNotSeen, claims.error().message};
  situation.node = node;
  if (program::Failure failure = read_situation(arguments, documents, *now, in, situation)) return failure;
  const NcclPolicy* const chosen = situation.around.policy.get();
  situation.plan.resolver = resolver_of(chosen).resolver;
  situation.around.version = nccl_version.empty() && chosen ? chosen->min_nccl.value_or(*version) : *version;
  if (!others.empty())
    remarks.push_back(file + ": passed over, as nothing in them has containers: " + some_of(others));
  return answer_pods(file, into);
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 8;
  return printable(join_some(names, kMostNames));
}

}  // namespace nccl_env::cli
