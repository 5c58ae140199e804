// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_preview.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cluster/context.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {

using Json = nlohmann::json;

Result<Pod> parse_template(ReviewParser& parser, const PodTemplate& source) {
  Result<Pod> pod = parser.parse_pod(dump_json(source.pod));
  if (pod && pod->name_space.empty()) pod->name_space = source.name_space;
  return pod;
}

std::string title_of(const PodTemplate& source) {
  return source.object + (source.object.empty() || source.path.empty() ? "" : " ") + source.path;
}

Result<std::string> node_of(const Pod& pod, const Situation& situation) {
  if (!pod.node_name.empty()) return std::string(pod.node_name);
  if (!situation.node.empty()) return situation.node;
  if (situation.tables.empty()) return std::string();
  const auto only = program::choose_table(situation.tables, "");
  if (!only) return only.error();
  return (*only)->name;
}

namespace {

std::shared_ptr<const NodeFabric> table_of(const std::string& node, const Situation& situation) {
  const auto found =
      std::ranges::find_if(situation.tables, [&](const auto& table) { return table->name == node; });
  return found == situation.tables.end() ? nullptr : *found;
}

NodeContext context_of(const Situation& situation) {
  NodeContext context{situation.now};
  context.in_sync = situation.ages_count;
  context.max_table_age = situation.policy->max_table_age.value_or(context.max_table_age);
  return context;
}

// Nothing without tables.
std::optional<BindingPlan> binding_to(const std::string& node, const Situation& situation) {
  if (situation.tables.empty()) return std::nullopt;
  return plan_binding(situation.policy, node, table_of(node, situation).get(), context_of(situation));
}

Plan plan_in(const Pod& pod, const PodClaims& claims, const Situation& situation) {
  return within_patch_bounds(pod, plan_pod(pod, *situation.policy, situation.plan, &claims));
}

}  // namespace

AnsweredPod preview_pod(const Pod& pod, const Json& object, const std::string& node,
                        const Situation& situation) {
  if (!situation.policy) {
    PodSurroundings around = surroundings_of(situation.problem, situation.now);
    around.version = situation.version;
    around.node = node;
    return answer_template(object, std::move(around));
  }
  const PodClaims claims = situation.claims.of(pod);
  const Plan plan = plan_in(pod, claims, situation);
  const std::optional<BindingPlan> binding = binding_to(node, situation);
  return answer_template({pod, object, plan, situation.policy, node, binding ? &*binding : nullptr,
                          table_of(node, situation), situation.version, &claims, context_of(situation),
                          situation.plan});
}

std::string patch_of(const Pod& pod, const std::string& node, const Situation& situation) {
  if (!situation.policy) return {};
  const Plan plan = plan_in(pod, situation.claims.of(pod), situation);
  const std::optional<BindingPlan> binding = binding_to(node, situation);
  return plan.inject ? render_pod_patch(pod, plan, binding ? &*binding : nullptr).text : std::string();
}

PodClaims ClaimFiles::of(const Pod& pod) const {
  PodClaims claims;
  for (const PodClaim& claim : pod.claims) {
    const ClaimRef ref = claim_ref(claim, pod.name_space);
    const auto found = claims_.find({ref.kind, ref.name});
    if (found != claims_.end()) {
      claims.entries.push_back({found->second, {}});
    } else {
      claims.entries.push_back({nullptr, std::string(to_string(ref.kind)) + " " + ref.name +
                                             " is in none of the files (--claims, -f)"});
    }
  }
  return claims;
}

Status ClaimFiles::add(const std::vector<nlohmann::json>& documents) {
  store::Objects objects;
  for (const nlohmann::json& document : documents) store::add_object(document, {}, objects);
  for (const store::Objects::Problem& problem : objects.problems) {
    if (problem.kind.starts_with("ResourceClaim")) return Error{problem.sentence};
  }
  for (store::Objects::NamedClaim& claim : objects.claims) {
    if (!claims_.try_emplace({claim.ref.kind, claim.ref.name}, std::move(claim.requests)).second)
      return Error{std::string(to_string(claim.ref.kind)) + " " + claim.ref.name + " is given twice"};
  }
  return done();
}

Result<ClaimFiles> read_claims(const std::vector<nlohmann::json>& documents,
                               const std::vector<std::string>& files, std::istream& in) {
  ClaimFiles claims;
  if (const Status added = claims.add(documents); !added) return added.error();
  for (const std::string& file : files) {
    const auto read = program::read_documents(file, in);
    if (!read) return read.error();
    const std::size_t before = claims.claims_.size();
    if (const Status added = claims.add(*read); !added) return Error{file + ": " + added.error().message};
    if (claims.claims_.size() == before)
      return Error{file + ": holds neither a ResourceClaim nor a ResourceClaimTemplate"};
  }
  return claims;
}

namespace {

// A JobSet in a List, the deepest of the known forms, takes 9.
constexpr int kMaxDepth = 32;

std::string name_of(const Json& object) {
  const Json& metadata = member(object, "metadata");
  const std::string name = text_at(metadata, "name");
  return name.empty() ? text_at(metadata, "generateName") : name;
}

bool is_list_of_objects(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_object(); });
}

bool is_pod_spec(const Json& value) {
  return is_list_of_objects(member(value, "containers"));
}

// An API object of another kind has its own metadata, not the pod's.
bool is_pod(const Json& object) {
  if (!is_list_of_objects(member(member(object, "spec"), "containers"))) return false;
  const std::string kind = text_at(object, "kind");
  return kind.empty() || kind == "Pod";
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
};

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
  }
  const std::string& path = place.path;
  if (is_pod(value) && is_mpi_worker(inside, path))
    return found.push_back({inside.name, path, inside.name_space, as_mpi_worker(value), place.pointer});
  if (is_pod(value)) return found.push_back({inside.name, path, inside.name_space, value, place.pointer});
  if (is_pod_spec(value))
    return found.push_back({inside.name, path, inside.name_space, pod_of_spec(value), {}});
  for (const auto& [key, inner] : value.items()) walk(inner, inside, place.at(key), depth + 1, found);
}

std::string title_of(const Json& object) {
  const std::string kind = text_at(object, "kind");
  const std::string name = name_of(object);
  return (kind.empty() ? "an object without a kind" : kind) + (name.empty() ? "" : "/" + name);
}

}  // namespace

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

bool is_too_deep(const Json& value, int depth) {
  const auto inner = [&](const Json& child) { return is_too_deep(child, depth + 1); };
  return value.is_structured() && (depth > kMaxDepth || std::ranges::any_of(value, inner));
}

std::vector<std::string> objects_without_pods(const Json& document) {
  const Json& items = member(document, "items");
  std::vector<std::string> titles;
  for (const Json& object : items.is_array() ? items : Json::array({document})) {
    const std::string kind = text_at(object, "kind");
    const bool claim = kind == "ResourceClaim" || kind == "ResourceClaimTemplate";
    if (!claim && titles.size() < kMaxTemplates && find_pod_templates(object).empty())
      titles.push_back(title_of(object));
  }
  return titles;
}

}  // namespace nccl_env::cli
