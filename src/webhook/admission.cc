// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/webhook/admission.h"
#include "nccl_env/core/text/enum_names.h"

#include <map>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/patch.h"

namespace nccl_env::webhook {
namespace {

constexpr int kForbidden = 403;

// Objects that are read for one pod: each may take 300 ms, and the hook has 5 s.
constexpr std::size_t kMaxClaims = 8;

bool may_hold_back(const BindingPlan& plan) {
  return plan.policy && plan.policy->on_unresolved == OnUnresolved::Deny &&
         plan.policy->mode == PolicyMode::Enforce && (plan.host.deny || plan.sub_interface.deny);
}

// Returns the policy by which a pod was injected, if it still exists. A pod that waits for values of that
// policy gets them even if its namespace has another policy by now, or the promised policy is in mode DryRun.
std::shared_ptr<const NcclPolicy> promised_policy(const Snapshot& snapshot, const Pod& pod) {
  const auto entry = snapshot.policies.find(policy_of_status(pod));
  return entry == snapshot.policies.end() ? nullptr : entry->second.policy;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames{"inject", "skip", "annotate", "deny"};
  return name_in(kNames, outcome);
}

Admission::Admission(const store::Published<Snapshot>& snapshots, AdmissionOptions options)
    : snapshots_(snapshots), options_(std::move(options)) {}

Result<std::optional<std::string>> Admission::answer(std::string_view text, bool padded, PodLookup lookup) {
  record_ = {};
  caution_.clear();
  review_bytes_ = text.size();
  const Result<Review> review = parser_.parse_review(text, padded);
  if (!review) return review.error();
  record_.kind = review->kind;
  record_.uid = review->uid;
  record_.name_space = review->name_space;
  record_.pod = review->name;
  record_.dry_run = review->dry_run;
  const Snapshot& snapshot = *snapshots_.newest();
  if (review->create && review->kind == Review::Kind::Pod) {
    return with_caution(answer_pod(snapshot, *review, lookup));
  }
  if (review->create && review->kind == Review::Kind::Binding) {
    return with_caution(answer_binding(snapshot, *review, lookup));
  }
  AdmissionResponse response;
  response.uid = review->uid;
  return std::optional(render_response(response));
}

// Whatever was decided, and whatever its detail says, the table may have been an old one.
Admission::Answer Admission::with_caution(Answer answer) {
  if (!caution_.empty()) record_.detail += (record_.detail.empty() ? "" : " ") + caution_;
  return answer;
}

void Admission::trim() {
  // Larger than any honest pod's review; the plan for a smaller one is small, too.
  constexpr std::size_t kLarge = 64u << 10;
  pod_parser_.trim();
  if (review_bytes_ <= kLarge) return;
  record_ = {};
  plan_ = {};
  parser_.trim();
}

// Answers a review that is too large for the webhook: the object passes, without our annotations.
std::string Admission::left_alone(const Review& review, std::string detail) {
  DecisionRecord record;
  record.kind = record_.kind;
  record.uid = record_.uid;
  record.name_space = record_.name_space;
  record.pod = record_.pod;
  record.node = record_.node;
  record.dry_run = record_.dry_run;
  record.policy = record_.policy;
  record.generation = record_.generation;
  record.reason = Reason::BudgetExceeded;
  record.detail = std::move(detail);
  record_ = std::move(record);
  AdmissionResponse response;
  response.uid = review.uid;
  response.patch = render_pod_patch(review.pod, {}, nullptr).text;  // far smaller than the review
  response.audit.emplace_back("decision", to_string(record_.outcome));
  response.audit.emplace_back("reason", to_string(*record_.reason));
  return render_response(response);
}

// Returns the response as text, or left_alone() if it is too large. Every response with a patch goes through
// here.
std::string Admission::bounded(const Review& review, const AdmissionResponse& response, bool too_large) {
  if (too_large) return left_alone(review, patch_excess());
  std::string text = render_response(response);
  if (text.size() <= most_reply(review_bytes_)) return text;
  return left_alone(review, "Its patch would be far larger than the review itself.");
}

// While tables are being loaded, or their watch is away, the table is read singly: it may be another by now,
// for minutes where an API server starts again and again. If that fails, what is known counts, and the
// record's detail says so. If tables are being loaded and this one is not known, there is no answer: an
// answer without values would say that the node has no table.
std::optional<Result<SharedTable>> Admission::find_table(const Snapshot& snapshot, std::string_view node,
                                                         PodLookup lookup) {
  const auto listed = snapshot.tables.find(node);
  SharedTable known = listed == snapshot.tables.end() ? SharedTable() : listed->second;
  if (snapshot.tables_known && snapshot.tables_followed) return known;
  auto read = options_.read_table(node, lookup == PodLookup::Read);
  if (!read && lookup == PodLookup::Postpone) return std::nullopt;
  if (!read) read = Error{"the table of node " + std::string(node) + " was not read: too many look-ups wait"};
  if (!*read && (known || snapshot.tables_known)) {
    caution_ = "The node's table may have changed since it was listed: " + read->error().message + ".";
    read = known;
  }
  record_.unavailable = !*read;
  return read;
}

NodeContext Admission::context(const Snapshot& snapshot) const {
  return {options_.clock(), options_.max_table_age, snapshot.in_sync};
}

void Admission::record_plan(const Review& review) {
  Plan& plan = plan_;
  record_.outcome = plan.inject ? Outcome::Inject : Outcome::Skip;
  record_.reason = plan.reason;
  record_.detail = std::move(plan.detail);
  record_.policy = std::move(plan.policy);
  record_.generation = plan.generation;
  record_.warnings = plan.warnings.size();
  if (record_.pod.empty()) record_.pod = review.pod.name.empty() ? review.pod.generate_name : review.pod.name;
  record_.node = review.pod.node_name;
  if (plan.status.empty()) return;
  record_.exposure = plan.exposure;
  for (const ContainerPlan& container : plan.containers) {
    const std::string_view scope = review.pod.containers[container.position].name;
    for (const PlannedVariable& planned : container.set) record_.set.push_back({scope, planned.name});
    for (const Omission& omission : container.omitted)
      record_.omitted.push_back({{scope, omission.name}, omission.reason});
  }
}

// Returns what the pod's claims ask for; nothing if that has to be read first.
std::optional<PodClaims> Admission::find_claims(const Pod& pod, PodLookup lookup) const {
  PodClaims claims;
  const std::vector<bool> used = used_claims(pod);
  std::map<ClaimRef, PodClaims::Entry> asked;  // each object once
  for (std::size_t i = 0; i < pod.claims.size(); ++i) {
    PodClaims::Entry& entry = claims.entries.emplace_back();
    if (!used[i]) continue;
    ClaimRef ref = claim_ref(pod.claims[i], pod.name_space);
    if (const auto same = asked.find(ref); same != asked.end()) {
      entry = same->second;
      continue;
    }
    if (asked.size() == kMaxClaims) {
      entry.problem = "the pod has claims of more than " + std::to_string(kMaxClaims) + " objects";
      continue;
    }
    auto known = options_.read_claim(ref, lookup == PodLookup::Read);
    if (!known && lookup == PodLookup::Postpone) return std::nullopt;
    if (!known) {
      entry.problem = describe(ref) + " was not read: too many look-ups wait already";
    } else if (!*known) {
      entry.problem = known->error().message;
    } else {
      entry.requests = **known;
    }
    asked.emplace(std::move(ref), entry);
  }
  return claims;
}

Admission::Answer Admission::answer_pod(const Snapshot& snapshot, const Review& review, PodLookup lookup) {
  PolicyLookup found = find_policy(snapshot, review.name_space);
  std::optional<PodClaims> claims;
  if (found.policy && needs_claims(review.pod, *found.policy)) {
    claims = find_claims(review.pod, lookup);
    if (!claims) return std::optional<std::string>();
  }
  plan_ = plan_review(found, review, options_.plan, claims ? &*claims : nullptr);
  Plan& plan = plan_;
  record_plan(review);
  const BindingPlan* binding = nullptr;
  if (plan.inject && !review.pod.node_name.empty()) {  // it will never see a Binding
    const auto planned = plan_of_node(snapshot, std::move(found.policy), lookup);
    if (!planned) return std::optional<std::string>();
    if (!*planned) return planned->error();
    binding = **planned;
    record_binding(*binding);
  }
  AdmissionResponse response;
  response.uid = review.uid;
  Patch patch = render_pod_patch(review.pod, plan, binding);
  response.patch = std::move(patch.text);
  response.audit.reserve(3);
  response.audit.emplace_back("decision", to_string(record_.outcome));
  if (plan.reason) response.audit.emplace_back("reason", to_string(*plan.reason));
  if (!plan.status.empty()) response.audit.emplace_back("status", std::move(plan.status));
  response.warnings = std::move(plan.warnings);
  return std::optional(bounded(review, response, patch.too_large));
}

void Admission::record_policy(const NcclPolicy& policy) {
  record_.policy = policy.name;
  record_.generation = policy.generation;
}

void Admission::record_binding(const BindingPlan& plan) {
  const auto add = [&](const NodeValues& values, std::string_view scope) {
    // An index of -1 stands for one that is left out.
    for (const auto& [name, value] : values.set) {
      if (value != kNoGidIndex) record_.set.push_back({scope, name});
    }
    for (const Omission& omission : values.omitted)
      record_.omitted.push_back({{scope, omission.name}, omission.reason});
  };
  add(plan.host, "host");
  add(plan.sub_interface, "subinterface");
}

// Reads the pod that the review binds; fails for a later pod of that name.
Result<Pod> Admission::read_pod(const Review& review, PodLookup lookup) {
  if (lookup != PodLookup::Read) return Error{"Too many pods are being read at once."};
  const auto text = options_.read_pod(review.name_space, review.name);
  if (!text) return text.error();
  if (!*text) return Error{"There is no such pod."};
  Result<Pod> pod = pod_parser_.parse_pod(**text);
  if (pod && !review.binding.pod_uid.empty() && pod->uid != review.binding.pod_uid) {
    return Error{"The pod has another uid."};
  }
  return pod;
}

// True, and recorded as Deny, if this pod waits for values that its node cannot give. Any other pod passes.
bool Admission::holds_back(const Pod& pod, const BindingPlan& plan) {
  const auto exposure = consumed_exposure(pod);
  if (!exposure) return false;
  const NodeValues& values = values_of(plan, *exposure);
  if (!values.deny) return false;
  record_.outcome = Outcome::Deny;
  record_.reason = values.deny;
  record_.detail = values.deny_detail;
  return true;
}

// The plan for the node that the review names; nothing if its table has to be read first.
std::optional<Result<const BindingPlan*>> Admission::plan_of_node(const Snapshot& snapshot,
                                                                  std::shared_ptr<const NcclPolicy> policy,
                                                                  PodLookup lookup) {
  auto table = find_table(snapshot, record_.node, lookup);
  if (!table) return std::nullopt;
  if (!*table) return table->error();
  return &binding_plans_.find(std::move(policy), record_.node, **std::move(table), context(snapshot));
}

Admission::Answer Admission::answer_binding(const Snapshot& snapshot, const Review& review,
                                            PodLookup lookup) {
  record_.node = review.binding.node;
  PolicyLookup found = find_policy(snapshot, review.name_space);
  if (found.policy) record_policy(*found.policy);
  if (!review.binding.excess.empty()) return std::optional(left_alone(review, review.binding.excess));
  if (!found.policy || found.policy->mode == PolicyMode::DryRun)
    return answer_without_policy(snapshot, review, std::move(found), lookup);
  const auto planned = plan_of_node(snapshot, std::move(found.policy), lookup);
  if (!planned) return std::optional<std::string>();
  if (!*planned) return planned->error();
  const BindingPlan& plan = ***planned;
  if (may_hold_back(plan)) {
    if (lookup == PodLookup::Postpone) return std::optional<std::string>();
    const Result<Pod> pod = read_pod(review, lookup);
    if (!pod) {
      record_.reason = Reason::PodLookupFailed;
      record_.detail = pod.error().message;
    } else if (holds_back(*pod, plan)) {
      return std::optional(refuse(review, plan));
    }
  }
  return std::optional(annotate(review, plan));
}

// Answers a Binding in a namespace to which no policy gives values now. If a policy gave values when the pod
// was created, the pod waits for them; only the Binding of such a pod is touched.
Admission::Answer Admission::answer_without_policy(const Snapshot& snapshot, const Review& review,
                                                   PolicyLookup found, PodLookup lookup) {
  if (lookup == PodLookup::Postpone) return std::optional<std::string>();
  record_.reason = found.policy ? Reason::DryRun : *found.reason;
  record_.detail = found.policy ? "Policy " + found.policy->name + " is in mode DryRun." : found.detail;
  const Result<Pod> pod = read_pod(review, lookup);
  if (!pod) record_.detail += " Whether the pod waits for values is not known: " + pod.error().message;
  const bool waits = pod.ok() && waits_for_binding(*pod);
  auto policy = waits ? promised_policy(snapshot, *pod) : std::move(found.policy);
  if (!policy && waits)
    return std::optional(annotate(review, plan_empty_binding(record_.node, *record_.reason, *pod)));
  AdmissionResponse response;
  response.uid = review.uid;
  if (!policy) return std::optional(finish_binding(review, nullptr, response));
  const auto planned = plan_of_node(snapshot, policy, lookup);
  if (!*planned) return planned->error();
  const BindingPlan& plan = ***planned;
  if (!waits) {
    record_binding(plan);
    return std::optional(finish_binding(review, &plan, response));
  }
  record_policy(*policy);
  record_.reason.reset();
  record_.detail += " The pod was created by policy " + policy->name + ", which gives it its values.";
  return std::optional(may_hold_back(plan) && holds_back(*pod, plan) ? refuse(review, plan)
                                                                     : annotate(review, plan));
}

std::string Admission::refuse(const Review& review, const BindingPlan& plan) {
  record_binding(plan);
  AdmissionResponse response;
  response.uid = review.uid;
  response.allowed = false;
  response.code = kForbidden;
  response.message = "nccl-env: " + std::string(to_string(*record_.reason)) + ": " + record_.detail + " " +
                     std::string(remedy(*record_.reason));
  return finish_binding(review, &plan, response);
}

std::string Admission::annotate(const Review& review, const BindingPlan& plan) {
  record_binding(plan);
  AdmissionResponse response;
  response.uid = review.uid;
  Patch patch;
  if (within_budget(review.binding, plan)) {
    record_.outcome = Outcome::Annotate;
    patch = render_binding_patch(review.binding, plan);
    response.patch = std::move(patch.text);
  } else {
    record_.reason = Reason::BudgetExceeded;
    record_.detail = "The Binding's annotations leave no room for ours within 256 KiB.";
  }
  return finish_binding(review, &plan, response, patch.too_large);
}

std::string Admission::finish_binding(const Review& review, const BindingPlan* plan,
                                      AdmissionResponse& response, bool too_large) {
  response.audit.emplace_back("decision", to_string(record_.outcome));
  if (record_.reason) response.audit.emplace_back("reason", to_string(*record_.reason));
  if (plan) response.audit.emplace_back("node", plan->annotations.at(std::string(key::kNode)));
  return bounded(review, response, too_large);
}

}  // namespace nccl_env::webhook
