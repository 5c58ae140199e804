// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/webhook/admission.h"
#include "nccl_env/core/text/enum_names.h"

#include <map>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/status.h"

namespace nccl_env::webhook {
namespace {

constexpr int kForbidden = 403;

// Pods that wait longer for their node, behind gates or in queues, are few.
constexpr std::chrono::hours kEditTold{24};

// Objects that are read for one pod: each may take 300 ms, and the hook has 5 s.
constexpr std::size_t kMaxClaims = 8;

bool lacks(const BindingPlan& plan) {
  return plan.policy && (plan.host.deny || plan.sub_interface.deny || plan.no_env_file);
}

bool may_hold_back(const BindingPlan& plan) {
  return lacks(plan) && plan.policy->on_unresolved == OnUnresolved::Deny &&
         plan.policy->mode == PolicyMode::Enforce;
}

AdmissionResponse response_to(const Review& review) {
  AdmissionResponse response;
  response.uid = review.uid;
  return response;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames{"inject", "skip", "annotate", "deny"};
  return name_in(kNames, outcome);
}

// One review's way to its answer.
class Admission::Decision {
 public:
  Decision(Admission& admission, const Snapshot& snapshot, const Review& review, std::size_t review_bytes,
           PodLookup lookup);
  Answer answer() &&;

 private:
  template <class T>
  using Attempt = store::Attempt<T>;

  // Both return the response document.
  Attempt<std::string> answer_pod();
  Attempt<std::string> answer_binding();
  Attempt<std::string> answer_without_policy(PolicyLookup found);
  Attempt<PolicyLookup> policy_of_namespace();
  Attempt<SharedTable> find_table();
  Attempt<store::BootCheck> check_boot(const PackedTable* table) const;
  Attempt<const CachedPlan*> plan_of_node(std::shared_ptr<const NcclPolicy> policy, bool changed = false);
  [[nodiscard]] bool is_recent(std::optional<Timestamp> written) const;
  [[nodiscard]] Attempt<PodClaims> find_claims() const;
  [[nodiscard]] bool may_postpone() const { return lookup_ <= PodLookup::Postpone; }
  Result<Pod> read_pod();
  bool holds_back(const Pod& pod, const BindingPlan& plan);
  void record_plan(const Plan& plan);
  void record_policy(const NcclPolicy& policy);
  void record_binding(const BindingPlan& plan);
  std::string refuse(const CachedPlan& plan);
  std::string annotate(const CachedPlan& plan);
  std::string finish_binding(const CachedPlan* plan, AdmissionResponse& response, bool too_large = false);
  std::string bounded(const AdmissionResponse& response, bool too_large);
  std::string left_alone(std::string detail);

  Admission& admission_;
  const Snapshot& snapshot_;
  const Review& review_;
  const std::size_t review_bytes_;
  const PodLookup lookup_;
  DecisionRecord record_;
  std::string caution_;  // about the table that the review is decided by; mostly none
};

Admission::Decision::Decision(Admission& admission, const Snapshot& snapshot, const Review& review,
                              std::size_t review_bytes, PodLookup lookup)
    : admission_(admission),
      snapshot_(snapshot),
      review_(review),
      review_bytes_(review_bytes),
      lookup_(lookup) {
  Subject& subject = record_.subject;
  subject.kind = review.kind;
  subject.uid = review.uid;
  subject.name_space = review.name_space;
  subject.pod = review.name;
  subject.dry_run = review.dry_run;
  if (review.kind == Review::Kind::Binding) subject.node = review.binding.node;
  if (review.kind != Review::Kind::Pod) return;
  subject.node = review.pod.node_name;
  if (subject.pod.empty()) subject.pod = review.pod.name.empty() ? review.pod.generate_name : review.pod.name;
}

Answer Admission::Decision::answer() && {
  const bool pod = review_.create && review_.kind == Review::Kind::Pod;
  const bool binding = review_.create && review_.kind == Review::Kind::Binding;
  auto response = pod       ? answer_pod()
                  : binding ? answer_binding()
                            : Attempt<std::string>(render_response(response_to(review_)));
  if (response.postponed()) return std::get<store::Postponed>(response.no_value());
  if (!response) return Unavailable{response.error().message};
  // Whatever was decided, and whatever its detail says, the table may have been an old one.
  if (!caution_.empty()) record_.detail += (record_.detail.empty() ? "" : " ") + caution_;
  return Answered{*std::move(response), std::move(record_)};
}

// Answers a review that is too large for the webhook: the object passes, without our annotations.
std::string Admission::Decision::left_alone(std::string detail) {
  DecisionRecord record;
  record.subject = std::move(record_.subject);
  record.reason = Reason::BudgetExceeded;
  record.detail = std::move(detail);
  record_ = std::move(record);
  AdmissionResponse response = response_to(review_);
  response.patch = render_pod_patch(review_.pod, {}, nullptr).text;  // far smaller than the review
  response.audit = {{"decision", to_string(record_.outcome)}, {"reason", to_string(*record_.reason)}};
  return render_response(response);
}

// Returns the response as text, or left_alone() if it is too large. Every response with a patch goes through
// here.
std::string Admission::Decision::bounded(const AdmissionResponse& response, bool too_large) {
  if (too_large) return left_alone(patch_excess());
  std::string text = render_response(response);
  if (text.size() <= most_reply(review_bytes_)) return text;
  return left_alone("Its patch would be far larger than the review itself.");
}

// The API server asks about labelled namespaces alone, so what the snapshot does not know of one is mostly on
// its way: it is waited for, then read. Strangers, who name any namespace, cause no more reads than the store
// allows.
store::Attempt<PolicyLookup> Admission::Decision::policy_of_namespace() {
  PolicyLookup found = find_policy(snapshot_, review_.name_space);
  if (!found.unknown) return found;
  store::Attempt<std::optional<PolicyLookup>> read = std::optional<PolicyLookup>();
  if (lookup_ != PodLookup::Unavailable)
    read = admission_.options_.read_policy(review_.name_space, lookup_ == PodLookup::Read);
  // That a namespace had no label a moment ago spares the read and not the wait, as anybody may have asked.
  const bool settled = read && *read && ((*read)->policy || found.reason == Reason::PolicyMissing);
  if (lookup_ == PodLookup::Await && !settled) return store::Postponed{std::string(review_.name_space)};
  if (read.postponed()) return store::Postponed{};
  if (!read) found.detail += " It could not be looked up: " + read.error().message + ".";
  record_.policy_read = !read             ? PolicyRead::Failed
                        : !*read          ? PolicyRead::LeftOut
                        : (*read)->policy ? PolicyRead::Found
                                          : PolicyRead::Absent;
  return read && *read ? **read : found;
}

// While tables are being loaded, or their watch is away, the table is read singly: it may be another by now,
// for minutes where an API server starts again and again. If that fails, what is known counts, and the
// record's detail says so. If tables are being loaded and this one is not known, there is no answer: an
// answer without values would say that the node has no table.
store::Attempt<SharedTable> Admission::Decision::find_table() {
  const std::string_view node = record_.subject.node;
  const auto listed = snapshot_.tables.find(node);
  SharedTable known = listed == snapshot_.tables.end() ? SharedTable() : listed->second;
  if (snapshot_.tables_known && snapshot_.tables_followed) return known;
  auto read = admission_.options_.read_table(node, lookup_ == PodLookup::Read);
  if (read.postponed() && may_postpone()) return read;
  if (read.postponed())
    read = Error{"the table of node " + std::string(node) + " was not read: too many look-ups wait"};
  if (!read && (known || snapshot_.tables_known)) {
    caution_ = "The node's table may have changed since it was listed: " + read.error().message + ".";
    return known;
  }
  return read;
}

// A Node that cannot be read in time leaves the decision to the table's age.
store::Attempt<store::BootCheck> Admission::Decision::check_boot(const PackedTable* table) const {
  const auto& ask = admission_.options_.check_boot;
  if (!table || !ask) return store::BootCheck::Unknown;
  auto checked = ask(record_.subject.node, table->boot_id(), lookup_ == PodLookup::Read);
  if (checked || (checked.postponed() && may_postpone())) return checked;
  return store::BootCheck::Unknown;
}

void Admission::Decision::record_plan(const Plan& plan) {
  record_.outcome = plan.inject ? Outcome::Inject : Outcome::Skip;
  record_.reason = plan.reason ? plan.reason : plan.fallback;
  record_.detail = plan.detail;
  record_.subject.policy = plan.policy;
  record_.subject.generation = plan.generation;
  record_.warnings = plan.warnings.size();
  if (plan.status.empty()) return;
  record_.exposure = plan.exposure;
  const auto count = [&](SharedValues ContainerPlan::*values) {
    std::size_t sum = 0;
    for (const ContainerPlan& container : plan.containers) sum += (container.*values).size();
    return sum;
  };
  record_.set.reserve(count(&ContainerPlan::set));
  record_.omitted.reserve(count(&ContainerPlan::omitted));
  for (const ContainerPlan& container : plan.containers) {
    const std::string_view scope = review_.pod.containers[container.position].name;
    for (const Value& planned : container.set) record_.set.push_back({scope, planned.name});
    for (const Value& omission : container.omitted)
      record_.omitted.push_back({{scope, omission.name}, *omission.reason});
  }
}

// Returns what the pod's claims ask for, and for each that cannot be read why. Never an error.
store::Attempt<PodClaims> Admission::Decision::find_claims() const {
  const Pod& pod = review_.pod;
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
    const auto known = admission_.options_.read_claim(ref, lookup_ == PodLookup::Read);
    if (known.postponed() && may_postpone()) return store::Postponed{};
    if (known.postponed()) {
      entry.problem = describe(ref) + " was not read: too many look-ups wait already";
    } else if (!known) {
      entry.problem = known.error().message;
    } else {
      entry.requests = *known;
    }
    asked.emplace(std::move(ref), entry);
  }
  return claims;
}

store::Attempt<std::string> Admission::Decision::answer_pod() {
  const Pod& pod = review_.pod;
  auto looked_up = policy_of_namespace();
  if (!looked_up) return looked_up.no_value();
  PolicyLookup found = *std::move(looked_up);
  std::optional<PodClaims> claims;
  if (found.policy && needs_claims(pod, *found.policy)) {
    auto read = find_claims();
    if (!read) return read.no_value();
    claims = *std::move(read);
  }
  Plan plan = plan_review(found, review_, admission_.options_.plan, claims ? &*claims : nullptr);
  record_plan(plan);
  const BindingPlan* binding = nullptr;
  if (plan.inject && !pod.node_name.empty()) {  // it will never see a Binding
    const auto planned = plan_of_node(std::move(found.policy));
    if (!planned) return planned.no_value();
    binding = *planned;
    record_binding(*binding);
  }
  AdmissionResponse response = response_to(review_);
  Patch patch = render_pod_patch(pod, plan, binding);
  response.patch = std::move(patch.text);
  response.audit.reserve(3);
  response.audit.emplace_back("decision", to_string(record_.outcome));
  if (plan.reason) response.audit.emplace_back("reason", to_string(*plan.reason));
  response.status = plan.status;
  response.escaped_status = plan.escaped_status;
  response.warnings = std::move(plan.warnings);
  record_.containers = std::move(plan.containers);
  return bounded(response, patch.too_large);
}

void Admission::Decision::record_policy(const NcclPolicy& policy) {
  record_.subject.policy = policy.name;
  record_.subject.generation = policy.generation;
}

void Admission::Decision::record_binding(const BindingPlan& plan) {
  const auto add = [&](const NodeValues& values, std::string_view scope) {
    for (const auto& [name, value] : values.set) record_.set.push_back({scope, name});
    for (const Value& omission : values.omitted)
      record_.omitted.push_back({{scope, omission.name}, *omission.reason});
    if (values.short_list)
      record_.omitted.push_back({{scope, values.short_list->name}, *values.short_list->reason});
  };
  record_.set.reserve(plan.host.set.size() + plan.sub_interface.set.size());
  record_.omitted.reserve(plan.host.omitted.size() + plan.sub_interface.omitted.size() + 1);
  add(plan.host, "host");
  add(plan.sub_interface, "subinterface");
  if (plan.no_env_file)
    record_.omitted.push_back({{"envFile", plan.no_env_file->name}, *plan.no_env_file->reason});
}

// Reads the pod that the review binds; fails for a later pod of that name.
Result<Pod> Admission::Decision::read_pod() {
  if (lookup_ != PodLookup::Read) return Error{"Too many pods are being read at once."};
  const auto text = admission_.options_.read_pod(review_.name_space, review_.name);
  if (!text) return text.error();
  if (!*text) return Error{"There is no such pod."};
  Result<Pod> pod = admission_.pods_.parse_pod(**text);
  if (pod && !review_.binding.pod_uid.empty() && pod->uid != review_.binding.pod_uid) {
    return Error{"The pod has another uid."};
  }
  return pod;
}

// True, and recorded as Deny, if this pod waits for values that its node cannot give. Any other pod passes.
bool Admission::Decision::holds_back(const Pod& pod, const BindingPlan& plan) {
  const Value* why = refusal_of(plan, consumed_exposure(pod), reads_env_file(pod));
  if (!why) return false;
  record_.outcome = Outcome::Deny;
  record_.reason = why->reason;
  record_.detail = why->detail;
  return true;
}

store::Attempt<const CachedPlan*> Admission::Decision::plan_of_node(std::shared_ptr<const NcclPolicy> policy,
                                                                    bool changed) {
  auto table = find_table();
  if (!table) return table.no_value();
  const auto boot = check_boot((*table).get());
  if (!boot) return boot.no_value();
  if (*table) record_.boot = *boot;
  const AdmissionOptions& options = admission_.options_;
  const NodeContext context{options.clock(),   options.max_table_age,
                            snapshot_.in_sync, *boot == store::BootCheck::Other,
                            changed,           policy->generation > 1 && is_recent(policy->written)};
  return &admission_.binding_plans_.find(std::move(policy), record_.subject.node, *std::move(table), context);
}

// True while pods may be bound that were made before.
bool Admission::Decision::is_recent(std::optional<Timestamp> written) const {
  return written && admission_.options_.clock() < *written + kEditTold;
}

store::Attempt<std::string> Admission::Decision::answer_binding() {
  auto looked_up = policy_of_namespace();
  if (!looked_up) return looked_up.no_value();
  PolicyLookup found = *std::move(looked_up);
  if (found.policy) record_policy(*found.policy);
  if (!review_.binding.excess.empty()) return left_alone(review_.binding.excess);
  if (!found.policy || found.policy->mode == PolicyMode::DryRun)
    return answer_without_policy(std::move(found));
  auto planned = plan_of_node(found.policy);
  if (!planned) return planned.no_value();
  const bool may_hold = may_hold_back(**planned);
  // Another policy may have made the pod: one of that name before, or the one that the label named.
  const auto& written = found.policy->written;
  const bool has_all_texts = found.policy->generation > 1 && is_recent(written);
  if (may_hold ||
      (is_recent(std::max(written, found.labelled)) && (gives_index(**planned) || !has_all_texts))) {
    if (may_postpone()) return store::Postponed{};
    const Result<Pod> pod = read_pod();
    if (!pod) {
      record_.reason = Reason::PodLookupFailed;
      record_.detail = pod.error().message;
    } else if (may_hold && holds_back(*pod, **planned)) {
      return refuse(**planned);
    } else if (is_of_other_values(*pod, *found.policy) || !serves(**planned, *pod)) {
      planned = plan_of_node(found.policy, true);
      if (!planned) return planned.no_value();
    }
  }
  return annotate(**planned);
}

// Answers a Binding in a namespace whose policy gives no values now. A pod that waits for some gets those
// that this policy promised it when it was created, else empty ones; other pods' Bindings are left alone. No
// hook of ours asks for a namespace without a policy, so that strangers' questions cost no look at a pod.
store::Attempt<std::string> Admission::Decision::answer_without_policy(PolicyLookup found) {
  record_.reason = found.policy ? Reason::DryRun : *found.reason;
  record_.detail = found.policy ? "Policy " + found.policy->name + " is in mode DryRun." : found.detail;
  AdmissionResponse response = response_to(review_);
  if (record_.reason == Reason::NamespaceNotOptedIn) return finish_binding(nullptr, response);
  if (may_postpone()) return store::Postponed{};
  const Result<Pod> pod = read_pod();
  if (!pod) record_.detail += " Whether the pod waits for values is not known: " + pod.error().message;
  const bool waits = pod.ok() && !texts_read(*pod).empty();
  const bool promised = waits && found.policy && promised_policy(*pod) == found.policy->name;
  if (waits && !promised) {
    const BindingPlan none = plan_empty_binding(record_.subject.node, *record_.reason, *pod);
    return annotate({none, {}, encoded_node(none)});
  }
  if (!found.policy) return finish_binding(nullptr, response);
  const auto planned = plan_of_node(found.policy, promised && is_of_other_values(*pod, *found.policy));
  if (!planned) return planned.no_value();
  if (!promised) {
    record_binding(**planned);
    return finish_binding(*planned, response);
  }
  record_.reason.reset();
  record_.detail += " The pod was created by it, and gets its values.";
  return annotate(**planned);
}

std::string Admission::Decision::refuse(const CachedPlan& plan) {
  record_binding(plan);
  AdmissionResponse response = response_to(review_);
  response.allowed = false;
  response.code = kForbidden;
  response.message = "nccl-env: " + std::string(to_string(*record_.reason)) + ": " + record_.detail + " " +
                     std::string(remedy(*record_.reason));
  return finish_binding(&plan, response);
}

std::string Admission::Decision::annotate(const CachedPlan& plan) {
  record_binding(plan);
  AdmissionResponse response = response_to(review_);
  Patch patch;
  if (within_budget(review_.binding, plan)) {
    record_.outcome = Outcome::Annotate;
    if (lacks(plan)) record_.lacking = &plan;
    const Binding& binding = review_.binding;
    if (binding.has_metadata && !binding.has_annotations) response.encoded_patch = plan.patch;
    if (response.encoded_patch.empty()) patch = render_binding_patch(binding, plan);
    response.patch = std::move(patch.text);
  } else {
    record_.reason = Reason::BudgetExceeded;
    record_.detail = "The Binding's annotations leave no room for ours within 256 KiB.";
  }
  return finish_binding(&plan, response, patch.too_large);
}

std::string Admission::Decision::finish_binding(const CachedPlan* plan, AdmissionResponse& response,
                                                bool too_large) {
  response.audit.reserve(3);
  response.audit.emplace_back("decision", to_string(record_.outcome));
  if (record_.reason) response.audit.emplace_back("reason", to_string(*record_.reason));
  if (plan) response.node_in_json = plan->node;
  return bounded(response, too_large);
}

Answer Admission::answer(const Snapshot& snapshot, std::string_view text, bool padded, PodLookup lookup) {
  const Result<Review> review = reviews_.parse_review(text, padded);
  if (!review) return Malformed{review.error().message};
  return Decision(*this, snapshot, *review, text.size(), lookup).answer();
}

void Admission::trim() {
  reviews_.trim();
  pods_.trim();
}

}  // namespace nccl_env::webhook
