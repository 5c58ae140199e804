// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_preview.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {

namespace {

Explanation without_policy(const Pod& pod, const std::string& node, const Situation& situation) {
  Explanation explanation;
  explanation.reason = situation.problem.problem;
  explanation.detail = situation.problem.detail;
  if (explanation.reason) {
    explanation.remedy = remedy(*explanation.reason);
    tell_mistake(pod, explanation);
  }
  explanation.policy = situation.problem.label.value_or("");
  explanation.node = node;
  explanation.version = situation.version;
  return explanation;
}

}  // namespace

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

const NodeFabric* table_of(const std::string& node, const Situation& situation) {
  const auto found =
      std::ranges::find_if(situation.tables, [&](const auto& table) { return table->name == node; });
  return found == situation.tables.end() ? nullptr : found->get();
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
  return plan_binding(situation.policy, node, table_of(node, situation), context_of(situation));
}

Plan plan_in(const Pod& pod, const PodClaims& claims, const Situation& situation) {
  return within_patch_bounds(pod, plan_pod(pod, *situation.policy, situation.plan, &claims));
}

}  // namespace

Explanation preview_pod(const Pod& pod, const std::string& node, const Situation& situation) {
  if (!situation.policy) return without_policy(pod, node, situation);
  const PodClaims claims = situation.claims.of(pod);
  const Plan plan = plan_in(pod, claims, situation);
  const std::optional<BindingPlan> binding = binding_to(node, situation);
  const NodeFabric* table = table_of(node, situation);
  const bool stale = table && is_stale(table->time, context_of(situation));
  const bool ahead = table && situation.ages_count && is_ahead(table->time, situation.now);
  return explain({pod, plan, node, binding ? &*binding : nullptr, table, situation.version, &claims,
                  situation.policy.get(), situation.now, stale, ahead});
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

using Json = nlohmann::json;

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
  return is_list_of_objects(member(value, "containers")) || member(value, "mainContainer").is_object();
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
  Json& into = pod["spec"] = spec;
  const Json& main = member(spec, "mainContainer");
  if (!main.is_object()) return pod;
  Json containers = Json::array({main});
  if (!main.contains("name")) containers[0]["name"] = "main";
  if (const Json& others = member(spec, "containers"); is_list_of_objects(others))
    containers.insert(containers.end(), others.begin(), others.end());
  into["containers"] = std::move(containers);
  return pod;
}

void append(Json& list, const Json& items) {
  if (!list.is_array()) list = Json::array();
  list.insert(list.end(), items.begin(), items.end());
}

// Makes an object of whatever else stands there, which a pod's reader would refuse.
Json& object_at(Json& parent, const char* name) {
  Json& found = parent[name];
  if (!found.is_object()) found = Json::object();
  return found;
}

// {cpu, memory, gpu, gpuType, custom: {rdma/ib: 8}} as Kubernetes' quantities.
Json quantities_of(const Json& item) {
  Json quantities = Json::object();
  for (const char* name : {"cpu", "memory"}) {
    if (item.contains(name)) quantities[name] = item[name];
  }
  const std::string type = text_at(item, "gpuType");
  if (item.contains("gpu")) quantities[type.empty() ? "nvidia.com/gpu" : type] = item["gpu"];
  if (const Json& custom = member(item, "custom"); custom.is_object()) quantities.update(custom);
  return quantities;
}

// A service of Dynamo's v1alpha1 (ai-dynamo/dynamo, deploy/operator/api/v1alpha1): what its operator makes of
// the fields beside extraPodSpec, and a container `main`, also where that names none.
Json pod_of_service(const Json& service) {
  Json spec = member(service, "extraPodSpec");
  if (!spec.is_object()) spec = Json::object();
  Json main = member(spec, "mainContainer");
  if (!main.is_object()) main = {{"name", "main"}};
  const Json& resources = member(service, "resources");
  for (const char* name : {"limits", "requests"}) {
    if (const Json& item = member(resources, name); item.is_object())
      object_at(object_at(main, "resources"), name).update(quantities_of(item));
  }
  if (const Json& claims = member(resources, "claims"); claims.is_array())
    append(object_at(main, "resources")["claims"], claims);
  if (const Json& envs = member(service, "envs"); envs.is_array()) append(main["env"], envs);
  if (const std::string secret = text_at(service, "envFromSecret"); !secret.empty())
    append(main["envFrom"], Json::array({{{"secretRef", {{"name", secret}}}}}));
  const Json& memory = member(service, "sharedMemory");
  if (member(memory, "disabled") != true) {
    Json volume = {{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}}}};
    if (memory.contains("size")) volume["emptyDir"]["sizeLimit"] = memory["size"];
    append(spec["volumes"], Json::array({volume}));
    append(main["volumeMounts"], Json::array({{{"name", "shared-memory"}, {"mountPath", "/dev/shm"}}}));
  }
  spec["mainContainer"] = std::move(main);
  Json pod = pod_of_spec(spec);
  if (const Json& metadata = member(service, "extraPodMetadata"); metadata.is_object())
    object_at(pod, "metadata").update(metadata);
  return pod;
}

struct Owner {
  std::string name;
  std::string name_space;
  std::string version;  // apiVersion
};

bool is_service(const Json& value, const Owner& owner) {
  if (!owner.name.starts_with("Dynamo")) return false;
  const bool may_be_alone = value.contains("componentType") && member(value, "resources").is_object();
  return may_be_alone || member(value, "extraPodSpec").is_object();
}

// True if extraPodSpec is a pod's spec of the usual form.
bool lists_containers(const Json& service) {
  const Json& spec = member(service, "extraPodSpec");
  return is_list_of_objects(member(spec, "containers")) && !member(spec, "mainContainer").is_object();
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

struct Found {
  std::vector<PodTemplate> pods;
  std::vector<StrayResources> strays;
};

// Adds the names of devices that the limits and requests of what is not a pod hold.
void add_strays(const Json& value, const Owner& owner, const std::string& path, Found& found) {
  StrayResources here{owner.name, path, {}};
  for (const char* list : {"limits", "requests"}) {
    const Json& quantities = member(value, list);
    if (!quantities.is_object()) continue;
    for (const auto& [name, quantity] : quantities.items()) {
      if (is_extended_resource(name)) here.names.insert(name);
    }
  }
  if (!here.names.empty() && found.strays.size() < kMaxTemplates) found.strays.push_back(std::move(here));
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

void walk(const Json& value, const Owner& owner, const Place& place, int depth, Found& found) {
  if (depth > kMaxDepth || found.pods.size() > kMaxTemplates) return;
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
    return found.pods.push_back({inside.name, path, inside.name_space, as_mpi_worker(value), place.pointer});
  if (is_pod(value))
    return found.pods.push_back({inside.name, path, inside.name_space, value, place.pointer});
  if (is_pod_spec(value))
    return found.pods.push_back({inside.name, path, inside.name_space, pod_of_spec(value), {}});
  if (is_service(value, inside) && !lists_containers(value))
    return found.pods.push_back(
        {inside.name, path + ".extraPodSpec", inside.name_space, pod_of_service(value), {}});
  add_strays(value, inside, path, found);
  for (const auto& [key, inner] : value.items()) walk(inner, inside, place.at(key), depth + 1, found);
}

std::string title_of(const Json& object) {
  const std::string kind = text_at(object, "kind");
  const std::string name = name_of(object);
  return (kind.empty() ? "an object without a kind" : kind) + (name.empty() ? "" : "/" + name);
}

}  // namespace

std::vector<PodTemplate> find_pod_templates(const Json& document) {
  Found found;
  if (text_at(document, "kind") == "AdmissionReview") {
    const Place place{"request.object", Json::json_pointer("/request/object")};
    walk(member(member(document, "request"), "object"), {}, place, 0, found);
  } else {
    walk(document, {}, Place(), 0, found);
  }
  return std::move(found.pods);
}

std::vector<StrayResources> resources_outside_pods(const Json& document) {
  Found found;
  walk(document, {}, Place(), 0, found);
  return std::move(found.strays);
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

namespace {

constexpr std::size_t kMostShownBytes = 60;

bool is_expanded_later(std::string_view key) {
  constexpr std::array<std::string_view, 7> kKeys{"command", "args",       "env", "lifecycle",
                                                  "data",    "stringData", "exec"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

std::string found_between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto at = text.find(begin);
  if (at == std::string_view::npos) return {};
  const auto close = text.find(end, at);
  if (close == std::string_view::npos) return std::string(text.substr(at, kMostShownBytes));
  return std::string(text.substr(at, std::min(close + end.size() - at, kMostShownBytes)));
}

std::string find_in(const Json& value, bool shell, int depth) {
  if (depth > kMaxDepth) return {};
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::string found = found_between(text, "{{", "}}");
    return found.empty() && shell ? found_between(text, "${", "}") : found;
  }
  if (value.is_array()) {
    for (const Json& item : value) {
      if (std::string found = find_in(item, shell, depth + 1); !found.empty()) return found;
    }
  }
  if (!value.is_object()) return {};
  for (const auto& [key, inner] : value.items()) {
    if (std::string found = find_in(key, shell, depth + 1); !found.empty()) return found;
    if (std::string found = find_in(inner, shell && !is_expanded_later(key), depth + 1); !found.empty())
      return found;
  }
  return {};
}

}  // namespace

std::string placeholder_in(const Json& object) {
  return find_in(object, true, 0);
}

}  // namespace nccl_env::cli
