// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/manifests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::store {
namespace {

using Json = nlohmann::json;

std::string name_of(const Json& object) {
  return text_at(member(object, "metadata"), "name");
}

void add_policy(const Json& object, const PolicyOptions& options, Objects& into) {
  Result<NcclPolicy> policy = parse_policy(object, options);
  if (policy) return into.policies.push_back(std::make_shared<const NcclPolicy>(std::move(*policy)));
  const std::string name = name_of(object);
  into.problems.push_back({"NcclPolicy", "NcclPolicy " + name + ": " + policy.error().message, name});
  if (!name.empty()) into.refused_policies.push_back({name, policy.error().message});
}

void add_table(const Json& object, Objects& into) {
  Result<NodeFabric> table = parse_node_fabric(object);
  if (table) return into.tables.push_back(pack(*table));
  const std::string name = name_of(object);
  into.problems.push_back({"NodeFabric", "NodeFabric " + name + ": " + table.error().message, name});
}

std::string label_of(const Json& object, std::string_view label) {
  return text_at(member(member(object, "metadata"), "labels"), label);
}

void add_namespace(const Json& object, Objects& into) {
  Objects::NamedPolicy entry{name_of(object), {}};
  if (entry.name_space.empty())
    return into.problems.push_back({"Namespace", "Namespace: metadata.name must be a non-empty string"});
  entry.policy = policy_label(object);
  entry.at_binding = is_at_binding(object);
  into.namespaces.push_back(std::move(entry));
}

void add_claim(const Json& object, ClaimRef::Kind kind, Objects& into) {
  ClaimRef ref{kind, text_at(member(object, "metadata"), "namespace"), name_of(object)};
  if (ref.name_space.empty()) ref.name_space = "default";
  auto requests = parse_device_requests(dump_json(object));
  if (ref.name.empty()) requests = Error{"metadata.name must be a non-empty string"};
  if (!requests) {
    const std::string problem = describe(ref) + ": " + requests.error().message;
    return into.problems.push_back({std::string(to_string(kind)), problem, ref.name});
  }
  into.claims.push_back({std::move(ref), std::make_shared<const DeviceRequests>(*std::move(requests))});
}

}  // namespace

bool is_manifest(std::string_view path) {
  return path[path.rfind('/') + 1] != '.' &&
         (path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json"));
}

Result<std::vector<std::string>> manifests_in(const std::filesystem::path& path, bool* links) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  bool found_link = false;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::string& name = entry->path().native();
    if (!is_manifest(name) || entry->is_directory(ignored)) continue;
    found_link = found_link || entry->is_symlink(ignored);
    names.push_back(name);
  }
  if (error) return Error{path.string() + ": " + error.message()};
  std::sort(names.begin(), names.end());
  if (links != nullptr) *links = found_link;
  return names;
}

std::string policy_label(const Json& name_space) {
  return label_of(name_space, key::kPolicyLabel);
}

std::optional<Timestamp> label_time(const Json& name_space) {
  std::optional<Timestamp> newest;
  for (const Json& entry : items_at(member(name_space, "metadata"), "managedFields")) {
    const Json& labels = member(member(member(entry, "fieldsV1"), "f:metadata"), "f:labels");
    const auto time = parse_timestamp(text_at(entry, "time"));
    if (time && labels.contains("f:" + std::string(key::kPolicyLabel)))
      newest = std::max(newest, std::optional(*time));
  }
  return newest;
}

bool is_at_binding(const Json& name_space) {
  return label_of(name_space, key::kResolve) == key::kAtBinding;
}

void add_object(const Json& object, const PolicyOptions& options, Objects& into) {
  if (!object.is_object()) return into.problems.push_back({"", "a manifest must be an object"});
  const std::string kind = text_at(object, "kind");
  const std::string version = text_at(object, "apiVersion");
  if (version.starts_with("nccl-env.io/") && kind == "NcclPolicy") return add_policy(object, options, into);
  if (version.starts_with("nccl-env.io/") && kind == "NodeFabric") return add_table(object, into);
  if (version == "v1" && kind == "Namespace") return add_namespace(object, into);
  if (version.starts_with("resource.k8s.io/")) {
    for (const auto claim : {ClaimRef::Kind::Claim, ClaimRef::Kind::Template}) {
      if (kind == to_string(claim)) return add_claim(object, claim, into);
    }
  }
  if (kind.empty()) return into.problems.push_back({"", "a manifest must have a kind"});
  const auto items = object.find("items");
  if (kind.ends_with("List") && items != object.end() && items->is_array()) {
    for (const Json& item : *items) {
      // A List inside a List is nothing that kubectl writes; not following it bounds the recursion.
      if (item.is_object() && text_at(item, "kind").ends_with("List")) {
        ++into.others;
      } else {
        add_object(item, options, into);
      }
    }
    return;
  }
  ++into.others;
}

void merge(const Objects& objects, const std::string& origin, Snapshot& into,
           const OnDuplicate& on_duplicate) {
  const auto twice = [&](const std::string& what) {
    on_duplicate(origin + ": " + what + " is given twice; this one is ignored");
  };
  for (const auto& policy : objects.policies) {
    if (!into.policies.try_emplace(policy->name, PolicyEntry{policy, {}}).second)
      twice("NcclPolicy " + policy->name);
  }
  for (const auto& refused : objects.refused_policies) {
    if (!into.policies.try_emplace(refused.name, PolicyEntry{nullptr, refused.problem}).second)
      twice("NcclPolicy " + refused.name);
  }
  for (const auto& table : objects.tables) {
    if (!into.tables.insert(table)) twice("NodeFabric " + std::string(table->name()));
  }
  for (const auto& claim : objects.claims) {
    if (!into.claims.try_emplace(claim.ref, claim.requests).second) twice(describe(claim.ref));
  }
  for (const auto& entry : objects.namespaces) {
    if (entry.policy.empty()) continue;
    if (!into.opted_in.try_emplace(entry.name_space, entry.policy).second) {
      twice("Namespace " + entry.name_space);
    } else if (entry.at_binding) {
      into.at_binding.insert(entry.name_space);
    }
  }
}

}  // namespace nccl_env::store
