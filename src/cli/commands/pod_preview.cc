// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_preview.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {

namespace {

Explanation without_policy(const std::string& node, const Situation& situation) {
  Explanation explanation;
  explanation.reason = situation.problem.problem;
  explanation.detail = situation.problem.detail;
  if (explanation.reason) explanation.remedy = remedy(*explanation.reason);
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

Explanation preview_pod(const Pod& pod, const std::string& node, const Situation& situation) {
  if (!situation.policy) return without_policy(node, situation);
  const PodClaims claims = situation.claims.of(pod);
  const Plan plan = within_patch_bounds(pod, plan_pod(pod, *situation.policy, situation.plan, &claims));
  ExplainInput input{pod, plan, node, nullptr, nullptr, situation.version, &claims, situation.policy.get()};
  if (situation.tables.empty()) return explain(input);
  const auto found =
      std::ranges::find_if(situation.tables, [&](const auto& table) { return table->name == node; });
  input.table = found == situation.tables.end() ? nullptr : found->get();
  NodeContext context{situation.now};
  context.in_sync = situation.ages_count;
  context.max_table_age = situation.policy->max_table_age.value_or(context.max_table_age);
  const BindingPlan binding = plan_binding(situation.policy, node, input.table, context);
  input.binding = &binding;
  return explain(input);
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
                                             " is in none of the files (--claims, --pod)"});
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

struct Owner {
  std::string name;
  std::string name_space;
};

void walk(const Json& value, const Owner& owner, const std::string& path, int depth,
          std::vector<PodTemplate>& found) {
  if (depth > kMaxDepth || found.size() > kMaxTemplates) return;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      walk(value[i], owner, path + "[" + std::to_string(i) + "]", depth + 1, found);
    return;
  }
  if (!value.is_object()) return;
  Owner inside = owner;
  if (const std::string own = name_of(value); !own.empty() && value.contains("kind")) {
    inside.name = text_at(value, "kind") + "/" + own;
    inside.name_space = text_at(member(value, "metadata"), "namespace");
  }
  if (is_pod(value)) return found.push_back({inside.name, path, inside.name_space, value});
  if (is_pod_spec(value)) return found.push_back({inside.name, path, inside.name_space, pod_of_spec(value)});
  for (const auto& [key, inner] : value.items())
    walk(inner, inside, path.empty() ? key : path + "." + key, depth + 1, found);
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
    walk(member(member(document, "request"), "object"), {}, "request.object", 0, found);
  } else {
    walk(document, {}, {}, 0, found);
  }
  return found;
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
