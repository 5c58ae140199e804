// SPDX-License-Identifier: Apache-2.0
// A pod of the cluster with what could be read besides it, and the answer.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/judge/explain/engine_choices.h"
#include "nccl_env/judge/explain/pod_record.h"

namespace nccl_env {

enum class PodState {
  Given,              // it has what it was to get
  OwnValues,          // it was to get nothing beside its user's own variables or file
  WaitingForNode,     // the webhook saw it, and it has no node yet
  NotInjected,        // for the answer's reason
  MissedAtAdmission,  // the policy matches it, and the webhook was not asked
  MissedAtBinding,    // its containers read annotations that nobody wrote
  Foreign,            // its containers read values that are another pod's, another node's or a person's
  NotStarted,         // it finds its values itself, and has not found them yet or cannot
  Unknown,            // nothing was injected, and the objects that would tell why could not be read
};
inline std::string_view to_string(PodState state) {
  constexpr std::array<std::string_view, 9> kNames{"given",        "own values",          "waiting",
                                                   "not injected", "missed at admission", "missed at Binding",
                                                   "foreign",      "not started",         "not known"};
  return name_in(kNames, state);
}

// True if the pod lacks nothing that it was to get.
inline bool has_its_values(PodState state) {
  return state == PodState::Given || state == PodState::OwnValues;
}

// Other objects that were read. An absent object is not known.
struct PodSurroundings {
  bool exists = true;          // false: the pod is what admission would make of a template, and has never run
  std::string node;            // of a template: that it is to run on, also without its table
  std::string one_of;          // likewise: "PyTorchJob/llama has 2 pods"; "" where no object tells
  const Plan* plan = nullptr;  // of a template's pod, while it is answered
  const PodClaims* claims = nullptr;            // likewise; null: none is known
  std::optional<std::string> namespace_policy;  // its label; "" without one
  std::shared_ptr<const NcclPolicy> policy;     // of the namespace's label, else of the pod's status
  std::optional<Reason> policy_problem;         // PolicyMissing, PolicyInvalid
  std::string policy_detail;                    // of that, or of a namespace that is not opted in
  bool table_known = false;                     // `table` is that of the pod's node; null: it has none
  std::string table_problem;                    // why it is not known, a clause
  std::shared_ptr<const NodeFabric> table;
  std::vector<std::string> events;  // texts of its FailedScheduling events, newest last
  std::vector<std::string> unread;  // sentences: what could not be read, and so is left out
  NodeContext context;
  NcclVersion version = kNewestNccl;
};

// The demands of a pod other than processors and memory, each once and at most 32 of a kind.
struct PodDemands {
  std::vector<std::string> resources;  // "nvidia.com/gpu"
  std::vector<std::string> claims;     // "nics: ResourceClaimTemplate ml/rdma (mrdma.google.com)"
  std::vector<std::string> networks;   // "ml/rail-0"
  std::vector<std::string> devices;    // host paths below /dev
  std::vector<std::string> misplaced;  // at spec.resources, where it has no effect
};

// A value that a pod was given, and what its node gives today.
struct Change {
  std::string container;
  std::optional<std::string> then;
  Value now;  // without a text it has a reason, if that is known
};

struct PodAnswer {
  PodState state = PodState::Unknown;
  std::optional<Reason> reason;
  std::string sentence;           // the answer in one sentence: of a pod with findings, the worst of them
  std::string remedy;             // "" if there is nothing to do
  std::vector<Finding> findings;  // of the pod, the worst first; none where there is nothing to act on
  std::vector<Change> changes;    // since the pod was bound
  // Details by variable. For one that the node could not give: today's sentence, if the reason is still the
  // same. For a constant that differs from node to node: the variant that gives it.
  TextsByName details;
  std::vector<std::string> notes;  // sentences: what else is worth knowing
  std::optional<NcclSelection> nccl_alone;
  std::optional<NcclSelection> nccl_with_us;
  std::vector<EngineChoices> engines;
  bool takes_nodes = false;  // NCCL takes by the user's own list what the node's list names, and no other
  bool node_unseen = false;  // Given, and whether NCCL can use the values on the node is not known
  // Names what a template's pods get, "inject, 3 variables: 8 HCAs, GID index 3"; "" of a pod that exists.
  std::string in_all;
  std::optional<PodDemands> demands = {};  // of a template that the policy does not match

  [[nodiscard]] bool has(Code code) const {
    return std::ranges::find(findings, code, &Finding::code) != findings.end();
  }
};

struct AnsweredPod {
  PodRecord record;
  PodAnswer answer;
  PodSurroundings around = {};
};

// The values that the container does not have, each with its reason or, where there is none, a clause.
std::vector<Value> omitted_values(const PodAnswer& answer, const PodRecord& record,
                                  const GivenContainer& container);
// True for one that nobody lacks: the policy means it so, or the user's own index leaves nothing to search.
bool is_unneeded(const Value& omitted, const GivenContainer& container);

}  // namespace nccl_env
