// SPDX-License-Identifier: Apache-2.0
// Turns Kubernetes manifests into the objects that decisions look up.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/result.h"

namespace nccl_env::store {

// The objects of one file or list.
struct Objects {
  std::vector<std::shared_ptr<const NcclPolicy>> policies;
  std::vector<SharedTable> tables;
  struct NamedPolicy {
    std::string name_space;
    std::string policy;       // "" if the namespace has no policy label
    bool at_binding = false;  // its label keeps our init container away
    std::optional<Timestamp> labelled =
        std::nullopt;  // when the policy label was written, by the server's clock
  };
  std::vector<NamedPolicy> namespaces;

  struct NamedClaim {
    ClaimRef ref;
    SharedRequests requests;
  };
  std::vector<NamedClaim> claims;  // ResourceClaims and ResourceClaimTemplates

  struct RefusedPolicy {
    std::string name;
    std::string problem;
  };
  std::vector<RefusedPolicy> refused_policies;  // read, but refused: pods get PolicyInvalid

  struct Problem {
    std::string kind;  // of the object that was refused; "" if it has none
    std::string sentence;
    std::string name = {};  // of the object; "" if it has none
  };
  std::vector<Problem> problems;
  int others = 0;  // objects of kinds that are not looked up
};

// PATH/*.yaml, *.yml and *.json, sorted; not recursive, hidden files left out. As text: a store keeps
// thousands, and a std::filesystem::path stores each of its parts once more. `links`: whether one is a
// symbolic link.
Result<std::vector<std::string>> manifests_in(const std::filesystem::path& path, bool* links = nullptr);
bool is_manifest(std::string_view path);

// Adds one manifest: NcclPolicy, NodeFabric, Namespace, ResourceClaim, ResourceClaimTemplate, or a List of
// them. A claim without a namespace is of "default", as kubectl creates it.
void add_object(const nlohmann::json& object, const PolicyOptions& options, Objects& into);

// The policy that a Namespace object opts in to, by its label; "" if none.
std::string policy_label(const nlohmann::json& name_space);
// When the label's manager last wrote, by managedFields: no earlier than the label; nothing where they do not
// say.
std::optional<Timestamp> label_time(const nlohmann::json& name_space);
// True if a Namespace's label keeps our init container away (key::kResolve).
bool is_at_binding(const nlohmann::json& name_space);

// Called with a sentence for every name that is given twice; the first one counts.
using OnDuplicate = std::function<void(const std::string&)>;

// Adds objects to a snapshot; objects that the snapshot already has stay.
void merge(const Objects& objects, const std::string& origin, Snapshot& into,
           const OnDuplicate& on_duplicate);

}  // namespace nccl_env::store
