// SPDX-License-Identifier: Apache-2.0
// The decision core: which pod gets which variable, and why not. Webhook, CLI and resolver call these
// functions and nothing else decides. Rules: docs/decisions.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

namespace key {
inline constexpr std::string_view kPolicyLabel = "nccl-env.io/policy";  // on a Namespace
inline constexpr std::string_view kInject = "nccl-env.io/inject";       // label or annotation on a Pod
inline constexpr std::string_view kStatus = "nccl-env.io/status";
inline constexpr std::string_view kNode = "nccl-env.io/node";
inline constexpr std::string_view kHostPrefix = "host.nccl-env.io/";
inline constexpr std::string_view kSubInterfacePrefix = "subinterface.nccl-env.io/";
// With conf_file::kName behind them, the texts of nccl.conf for pods with devices as the node has them and a
// network of their own (kHostPrefix), on the node's network, behind a sub-interface (kSubInterfacePrefix),
// and with devices of their own.
inline constexpr std::string_view kHostNetworkPrefix = "hostnetwork.nccl-env.io/";
inline constexpr std::string_view kPodOwnedPrefix = "podowned.nccl-env.io/";
}  // namespace key

// What Kubernetes accepts on a pod (apimachinery, ValidateAnnotationsSize): beyond it every later update
// of the pod fails, the kubelet's status among them.
inline constexpr std::size_t kMaxAnnotationBytes = 256u << 10;

// True for the keys that only Binding writes: those with one of the four prefixes, and the node annotation.
bool is_node_key(std::string_view annotation_key);
// "metadata.annotations['KEY']", the fieldPath that reads it.
std::string field_path(std::string_view annotation_key);

// Where a value comes from.
enum class Source {
  Node,    // a fieldRef to an annotation that Binding writes
  Policy,  // a constant of the policy
  File,    // nccl.conf alone, as Binding writes it
  Pod,     // nccl.conf alone, as it is written inside the pod before the container starts
};
std::string_view to_string(Source source);

struct Omission {
  std::string name;
  Reason reason;
  std::string detail;  // one sentence for people
};

// A variable, or nccl.conf itself (conf_file::kName): its source is then Node or Pod.
struct PlannedVariable {
  std::string name;
  Source source;
  // Policy: the literal. Node: the annotation key that the fieldRef or the volume's item names. File and Pod:
  // the literal, "" for what a node or a pod gives.
  std::string value;
  bool present = false;  // the container has it already, exactly so, from an earlier round of ours

  [[nodiscard]] bool in_env() const;  // an entry of the container's env
};

struct ContainerPlan {
  std::size_t position = 0;  // in Pod::containers
  bool in_scope = false;     // false: only cleaned of entries of ours that do not belong there
  std::vector<PlannedVariable> set;
  std::vector<Omission> omitted;
  std::vector<std::size_t> stale;  // positions in its env of entries of ours that this plan does not want
  bool mounts_conf = false;        // nccl.conf is mounted in it
  bool mount_present = false;      // so it is already
  std::vector<std::size_t> stale_mounts;  // positions in its volumeMounts, as `stale`
};

// How node values reach the pod.
enum class Form { Binding, Constants, ContainerStart };
std::string_view to_string(Form form);

// What becomes of one item of a list in the pod's spec.
struct ListChange {
  enum class Kind { None, Add, Replace, Remove } kind = Kind::None;
  std::size_t index = 0;  // Add: the item that it is put before; the length of the list: it comes last
  std::string item;       // JSON: of Add and Replace
};

// The plan for a pod at CREATE: a function of pod, policy and what the pod's claims ask for, none of which
// changes, so that equal templates mutate equally.
struct Plan {
  bool inject = false;
  std::optional<Reason> reason;  // why not; also DryRun, where `containers` holds what would be set
  std::string detail;
  std::string policy;
  std::int64_t generation = 0;
  Exposure exposure = Exposure::PodOwned;
  Form form = Form::Binding;
  std::vector<ContainerPlan> containers;
  std::vector<PlannedVariable> file;  // what nccl.conf is to hold: constants (Policy), the rest (Node or Pod)
  ListChange volume;                  // of conf_file::kVolume in spec.volumes
  ListChange resolver;                // of conf_file::kResolver in spec.initContainers
  std::vector<std::string> warnings;  // at most three
  std::string status;                 // the text of the status annotation; "" if nothing is injected
};

// The init container that writes nccl.conf in pods whose devices only they see: the agent's image, and what
// it requests and is limited to. The quantities are Kubernetes' and have been checked; "": what the container
// that it serves has, which every LimitRange, quota and QoS class takes because it takes that one.
struct Resolver {
  std::string image;
  std::string cpu;
  std::string memory;
  std::string ephemeral_storage;
};

struct PlanOptions {
  std::optional<Resolver> resolver;  // absent: no pod gets one, whatever its policy says
};

// `policy` applies to the pod's namespace. `claims` matter where needs_claims(); null: none is known.
Plan plan_pod(const Pod& pod, const NcclPolicy& policy, const PlanOptions& options = {},
              const PodClaims* claims = nullptr);

struct NodeValues {
  std::string node;
  std::map<std::string, std::string, std::less<>> set;  // variable -> value, never empty
  std::vector<Omission> omitted;                        // variables the policy wants and the node cannot give
  std::optional<Reason> deny;                           // a reason for which Deny holds pods
  std::string deny_detail;
  std::optional<Timestamp> valid_until;  // the answer may change then, table and policy unchanged
};

struct NodeContext {
  Timestamp now;
  std::chrono::seconds max_table_age{3 * 3600};  // the agent refreshes hourly +- 20 %
  bool in_sync = true;                           // false: ages do not count
};

// Whether the table is as no table by its age. One without a time never is.
bool is_stale(const NodeFabric& table, const NodeContext& context);

// What a node gives to pods of one exposure (Host or SubInterface). PodOwned pods get nothing from a node:
// for these `table` is what the one pod sees itself. It may be null.
NodeValues node_values(const NcclPolicy& policy, std::string_view node, const NodeFabric* table,
                       Exposure exposure, const NodeContext& context);

// Looks up what applies to a namespace: the policy, or the reason why there is none.
struct PolicyLookup {
  std::shared_ptr<const NcclPolicy> policy;
  std::optional<Reason> reason;
  std::string detail;
};
PolicyLookup find_policy(const Snapshot& snapshot, std::string_view name_space);

// plan_pod with the look-up before it: the whole answer for a pod at CREATE.
Plan plan_review(const Snapshot& snapshot, const Review& review, const PlanOptions& options = {},
                 const PodClaims* claims = nullptr);

// The annotations that a Binding to `node` gets (also a pod created with spec.nodeName).
struct BindingPlan {
  bool annotate = false;
  std::optional<Reason> reason;  // why nothing is written
  std::string detail;
  std::shared_ptr<const NcclPolicy> policy;
  NodeValues host;
  NodeValues sub_interface;
  std::map<std::string, std::string, std::less<>> annotations;  // key -> value
};
BindingPlan plan_binding(std::shared_ptr<const NcclPolicy> policy, std::string_view node,
                         const NodeFabric* table, const NodeContext& context);

// Kubernetes does not check a Binding's annotations, and a pod with more than 256 KiB of them can never be
// updated again: false if ours would not fit beside those that the Binding carries.
bool within_budget(const Binding& binding, const BindingPlan& plan);

// Whether a pod consumes node values of ours, by fieldRefs or by file, and of which exposure: looked at only
// before a Deny.
std::optional<Exposure> consumed_exposure(const Pod& pod);

}  // namespace nccl_env
