// SPDX-License-Identifier: Apache-2.0
// Admission: one review in, one response out, with a record of the decision. No sockets: the server calls it.
//
//   [ Snapshot ] + [ review's bytes ] --> Decision --> [ response ] + [ DecisionRecord ]
//                                            |
//                                            v
//                    [ Pod, claims, table ] that no snapshot has, or Postponed
//
// A Decision lives for one review. Admission owns only what is used again: the parsers, whose documents the
// record has views of, and the plans of nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "nccl_env/base/log.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/result.h"
#include "nccl_env/store/attempt.h"
#include "nccl_env/store/store.h"
#include "nccl_env/webhook/binding_cache.h"

namespace nccl_env::webhook {

enum class Outcome { Inject, Skip, Annotate, Deny };
std::string_view to_string(Outcome outcome);

// How the look-up of a namespace and its policy ended; LeftOut: too many waited, or were read lately.
enum class PolicyRead { Found, Absent, Failed, LeftOut };

// The object that a review is about, and the policy by which it was judged. The views are the review's.
struct Subject {
  Review::Kind kind = Review::Kind::Other;
  std::string_view uid;
  std::string_view name_space;
  std::string_view pod;  // name, or generateName
  std::string_view node;
  bool dry_run = false;  // of the request
  std::string policy;
  std::int64_t generation = 0;
};

// The decision on one review; its views live until the next call of Admission::answer() or trim().
struct DecisionRecord {
  Subject subject;
  Outcome outcome = Outcome::Skip;
  std::optional<Reason> reason;
  std::string detail;
  std::optional<Exposure> exposure;  // of a pod
  // Variables. Their scope is a container; in a Binding it is "host" or "subinterface".
  std::vector<LogName> set;
  std::vector<std::pair<LogName, Reason>> omitted;
  std::vector<ContainerPlan> containers;  // of a pod: hold the names in the two lists above
  std::size_t warnings = 0;
  std::optional<store::BootCheck> boot;   // of the table that a node's values come from
  const BindingPlan* lacking = nullptr;   // of a Binding that passes although its node lacks something
  std::optional<PolicyRead> policy_read;  // where the snapshot did not know the namespace or its policy
};

// Reads the pod of a Binding: its JSON text, or nothing if there is none.
using PodReader =
    std::function<Result<std::optional<std::string>>(std::string_view name_space, std::string_view name)>;

// store::Store::read_claim.
using ClaimLookup = std::function<store::Attempt<SharedRequests>(const ClaimRef& ref, bool may_wait)>;

// store::Store::read_table.
using TableLookup = std::function<store::Attempt<SharedTable>(std::string_view node, bool may_wait)>;

// store::Store::read_policy.
using NamespaceLookup =
    std::function<store::Attempt<std::optional<PolicyLookup>>(std::string_view name_space, bool may_wait)>;

// store::Store::check_boot.
using BootLookup = std::function<store::Attempt<store::BootCheck>(std::string_view node,
                                                                  std::string_view boot_id, bool may_wait)>;

struct AdmissionOptions {
  std::chrono::seconds max_table_age{3 * 3600};
  std::function<Timestamp()> clock;
  PodReader read_pod;
  ClaimLookup read_claim;
  TableLookup read_table;
  PlanOptions plan = {};
  NamespaceLookup read_policy = {};  // not called for snapshots that never lag
  BootLookup check_boot = {};        // none: tables count by their age alone
};

// How to read objects that are not in the snapshot, which takes time. Only the pod itself can tell whether
// its Binding is held back, and whether the pod waits for values although its policy gives none now. Only the
// objects of its claims tell what the claims ask for. Until all tables are loaded, only the API server can
// tell what a node has, and what a namespace has that was made a moment ago.
enum class PodLookup {
  Await,        // as Postpone; but first the watch may bring what it has not yet of the namespace
  Postpone,     // not now: the caller asks again on a thread that may wait
  Read,         // AdmissionOptions::read_pod, read_claim, read_table, read_policy, check_boot
  Unavailable,  // as if reading had failed: too many wait already
};

// Returns the size of the largest response to a review of `review_bytes`; a patch that needs a larger
// response is left out. The first term is for small pods with many containers, the second for pods that are
// injected again.
constexpr std::size_t most_reply(std::size_t review_bytes) {
  return (64u << 10) + 4 * review_bytes;
}

// How a review ends: with a response document and the record of its decision, or in one of three ways
// without.
struct Answered {
  std::string response;
  DecisionRecord record;
};
struct Malformed {
  std::string problem;  // with the path of the field
};
// The node's table is not known yet and could not be read.
struct Unavailable {
  std::string problem;
};
// Postponed: something has to be read first, or to come; only with PodLookup::Await and Postpone.
using Answer = std::variant<Answered, store::Postponed, Malformed, Unavailable>;

// Answers reviews from snapshots; keeps nothing from one review to the next but buffers. One per thread.
class Admission {
 public:
  explicit Admission(AdmissionOptions options) : options_(std::move(options)) {}

  // `padded`: kJsonPadding bytes behind the review are readable.
  Answer answer(const Snapshot& snapshot, std::string_view review, bool padded,
                PodLookup lookup = PodLookup::Read);
  // Gives back the memory that a large review took, and ends the views of its record.
  void trim();

 private:
  class Decision;

  const AdmissionOptions options_;
  ReviewParser reviews_;
  ReviewParser pods_;  // of Bindings: the review's views must stay
  BindingCache binding_plans_;
};

}  // namespace nccl_env::webhook
