// SPDX-License-Identifier: Apache-2.0
// Admission: one review in, one response out, with a record of the decision. No sockets: the server calls it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/result.h"
#include "nccl_env/store/published.h"
#include "nccl_env/webhook/binding_cache.h"

namespace nccl_env::webhook {

enum class Outcome { Inject, Skip, Annotate, Deny };
std::string_view to_string(Outcome outcome);

// The decision on one review; its views live until the next review.
struct DecisionRecord {
  Review::Kind kind = Review::Kind::Other;
  std::string_view uid;
  std::string_view name_space;
  std::string_view pod;  // name, or generateName
  std::string_view node;
  Outcome outcome = Outcome::Skip;
  std::optional<Reason> reason;
  std::string detail;
  std::string policy;
  std::int64_t generation = 0;
  std::optional<Exposure> exposure;  // of a pod
  // Variables. Their scope is a container; in a Binding it is "host" or "subinterface".
  std::vector<LogName> set;
  std::vector<std::pair<LogName, Reason>> omitted;
  std::size_t warnings = 0;
  bool dry_run = false;  // of the request
  // The node's table is not known yet and could not be read: there is no answer.
  bool unavailable = false;
};

// Reads the pod of a Binding: its JSON text, or nothing if there is none.
using PodReader =
    std::function<Result<std::optional<std::string>>(std::string_view name_space, std::string_view name)>;

// store::Store::read_claim.
using ClaimLookup = std::function<std::optional<Result<SharedRequests>>(const ClaimRef& ref, bool may_wait)>;

// store::Store::read_table.
using TableLookup = std::function<std::optional<Result<SharedTable>>(std::string_view node, bool may_wait)>;

struct AdmissionOptions {
  std::chrono::seconds max_table_age{3 * 3600};
  std::function<Timestamp()> clock;
  PodReader read_pod;
  ClaimLookup read_claim;
  TableLookup read_table;
  PlanOptions plan = {};
};

// How to read objects that are not in the snapshot, which takes time. Only the pod itself can tell whether
// its Binding is held back, and whether the pod waits for values although no policy gives any now. Only the
// objects of its claims tell what the claims ask for. Until all tables are loaded, only the API server can
// tell what a node has.
enum class PodLookup {
  Postpone,     // not now: the caller asks again on a thread that may wait
  Read,         // AdmissionOptions::read_pod, read_claim, read_table
  Unavailable,  // as if reading had failed: too many wait already
};

// Returns the size of the largest response to a review of `review_bytes`; a patch that needs a larger
// response is left out. The first term is for small pods with many containers, the second for pods that are
// injected again.
constexpr std::size_t most_reply(std::size_t review_bytes) {
  return (64u << 10) + 4 * review_bytes;
}

// One per thread.
class Admission {
 public:
  Admission(const store::Published<Snapshot>& snapshots, AdmissionOptions options);

  // Returns the response document, or why there is none: the review is malformed, or record().unavailable.
  // `padded`: kJsonPadding bytes behind the review are readable. The record is valid until the next call.
  // With Postpone it returns nothing, and there is no record, if the pod, its claims or its node's table have
  // to be read first.
  Result<std::optional<std::string>> answer(std::string_view review, bool padded,
                                            PodLookup lookup = PodLookup::Read);
  [[nodiscard]] const DecisionRecord& record() const { return record_; }
  // Gives back the memory that a large review took, and ends the record's views. Call it once the record has
  // been logged.
  void trim();

 private:
  using Answer = Result<std::optional<std::string>>;
  Answer answer_pod(const Snapshot& snapshot, const Review& review, PodLookup lookup);
  Answer answer_binding(const Snapshot& snapshot, const Review& review, PodLookup lookup);
  Answer with_caution(Answer answer);
  // Returns nothing if the table has to be read first.
  std::optional<Result<SharedTable>> find_table(const Snapshot& snapshot, std::string_view node,
                                                PodLookup lookup);
  [[nodiscard]] NodeContext context(const Snapshot& snapshot) const;
  std::optional<Result<const BindingPlan*>> plan_of_node(const Snapshot& snapshot,
                                                         std::shared_ptr<const NcclPolicy> policy,
                                                         PodLookup lookup);
  void record_plan(const Review& review);
  std::string left_alone(const Review& review, std::string detail);
  std::string bounded(const Review& review, const AdmissionResponse& response, bool too_large);
  void record_binding(const BindingPlan& plan);
  void record_policy(const NcclPolicy& policy);
  bool holds_back(const Pod& pod, const BindingPlan& plan);
  Answer answer_without_policy(const Snapshot& snapshot, const Review& review, PolicyLookup found,
                               PodLookup lookup);
  std::string refuse(const Review& review, const BindingPlan& plan);
  std::string annotate(const Review& review, const BindingPlan& plan);
  std::string finish_binding(const Review& review, const BindingPlan* plan, AdmissionResponse& response,
                             bool too_large = false);
  [[nodiscard]] std::optional<PodClaims> find_claims(const Pod& pod, PodLookup lookup) const;
  [[nodiscard]] Result<Pod> read_pod(const Review& review, PodLookup lookup);

  store::Published<Snapshot>::Reader snapshots_;
  AdmissionOptions options_;
  ReviewParser parser_;
  BindingCache binding_plans_;
  ReviewParser pod_parser_;  // for the pods of Bindings: the review's views must stay
  std::size_t review_bytes_ = 0;
  Plan plan_;  // the last pod's: the record refers to it
  DecisionRecord record_;
  std::string caution_;  // about the table that the last review was decided by; mostly none
};

}  // namespace nccl_env::webhook
