// SPDX-License-Identifier: Apache-2.0
#include "requests.h"

#include <malloc.h>

#include "decision_log.h"
#include "memory_budget.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/resolver_options.h"
#include "policy_review.h"

namespace nccl_env::webhook {
namespace {

using net::error_response;
using net::HttpRequest;
using net::HttpResponse;

constexpr std::size_t kLargePolicy = 64u << 10;  // its tree is up to 3 MiB

HttpResponse policy_too_large() {
  HttpResponse response =
      error_response(413, "a policy's review is larger than " + std::to_string(kMaxPolicyReview) + " bytes");
  response.close = true;
  return response;
}

HttpResponse json_response(std::string document) {
  return {200, "application/json", std::move(document), {}, false};
}

// True for policies, which are read as a tree, and for reviews larger than any pod of a cluster makes. They
// are answered one at a time and off the event loops, so that many of them take no more memory than one.
// They wait in a queue, because a tool may apply a dozen policies at once; a review of a real policy takes
// about a millisecond.
bool is_costly(const HttpRequest& request) {
  return request.path() == "/validate" || request.body.size() > kLargeReview;
}

}  // namespace

Requests::Requests(const WebhookOptions& options, const store::Store& store, WebhookMetrics& metrics,
                   Logger& log, const ClusterServices& services)
    : options_(options), store_(store), metrics_(metrics), log_(log), services_(services) {}

net::ServerHandlers Requests::handlers(int threads) {
  for (int i = 0; i < threads; ++i) desks_.push_back(make_desk());
  const auto handle = [this](const HttpRequest& request) {
    return admit(request, request.awaited ? PodLookup::Postpone : PodLookup::Await);
  };
  return {handle, [this](const net::HttpHead& head) { return check(head); },
          [this](const HttpRequest& request) { return handle_later(request); },
          [this](const HttpRequest& request) { return handle_overload(request); }, is_costly};
}

std::unique_ptr<Requests::Desk> Requests::make_desk() const {
  AdmissionOptions options;
  options.max_table_age = options_.max_table_age;
  options.clock = program::clock_now;
  options.read_pod = [this](auto name_space, auto name) { return store_.read_pod(name_space, name); };
  options.read_claim = [this](auto& ref, bool may_wait) { return store_.read_claim(ref, may_wait); };
  options.read_table = [this](auto node, bool may_wait) { return store_.read_table(node, may_wait); };
  options.read_policy = [this](auto name, bool may_wait) { return store_.read_policy(name, may_wait); };
  options.check_boot = [this](auto node, auto boot, bool wait) {
    return store_.check_boot(node, boot, wait);
  };
  options.plan = program::plan_options(options_.resolver);
  return std::make_unique<Desk>(
      Desk{store::Published<Snapshot>::Reader(store_.snapshots()), Admission(std::move(options))});
}

// Before the body is read: what would be refused anyway need not be received.
std::optional<HttpResponse> Requests::check(const net::HttpHead& head) const {
  if (head.path() != "/admit" && head.path() != "/validate")
    return error_response(404, "POST /admit or /validate");
  if (head.method != "POST") return net::method_not_allowed("POST");
  if (!net::is_json(head.content_type)) return error_response(415, "Content-Type must be application/json");
  if (head.path() == "/validate" && head.content_length > kMaxPolicyReview) return policy_too_large();
  // Before there is a certificate that clients trust, nobody who matters can ask.
  if (!services_.ready()) return error_response(503, "no certificate yet");
  // An answer from an empty store would let our pods pass: an error leaves them to the hook's failurePolicy.
  if (head.path() == "/admit" && !store_.ready()) return error_response(503, kStoreNotRead);
  return std::nullopt;
}

HttpResponse Requests::handle_later(const HttpRequest& request) {
  return request.path() == "/validate" ? validate(request) : *admit(request, PodLookup::Read).response;
}

// A costly request is never answered on an event loop.
HttpResponse Requests::handle_overload(const HttpRequest& request) {
  if (is_costly(request)) return error_response(429, "too many large requests wait already");
  return *admit(request, PodLookup::Unavailable).response;
}

HttpResponse Requests::validate(const HttpRequest& request) const {
  if (request.body.size() > kMaxPolicyReview) return policy_too_large();  // it came in chunks
  auto answer = answer_policy_review(request.body, options_.policies);
  // The C library would keep the tree's memory.
  if (request.body.size() > kLargePolicy) ::malloc_trim(0);
  return answer ? json_response(*std::move(answer)) : error_response(400, answer.error().message);
}

// No response: only with Await and Postpone.
net::Handled Requests::admit(const HttpRequest& request, PodLookup lookup) {
  const auto start = std::chrono::steady_clock::now();
  Desk& desk = *desks_[static_cast<std::size_t>(request.thread)];
  Answer answer = desk.admission.answer(*desk.snapshots.newest(), request.body, true, lookup);
  const auto duration = std::chrono::steady_clock::now() - start;
  if (auto* postponed = std::get_if<store::Postponed>(&answer)) {
    if (postponed->name_space.empty()) return std::nullopt;
    const auto comes = [this, name = std::move(postponed->name_space)] {
      return !find_policy(*store_.snapshots().get(), name).unknown;
    };
    return {std::nullopt, comes};
  }
  if (const auto* none = std::get_if<Unavailable>(&answer)) return not_answered(none->problem, start);
  if (const auto* malformed = std::get_if<Malformed>(&answer)) {
    metrics_.malformed_reviews.add();
    if (const auto held_back = malformed_.pass(start))
      log_.warn("malformed review", {{"problem", malformed->problem}, {"more_before", *held_back}});
    return error_response(400, malformed->problem);
  }
  auto& [response, record] = std::get<Answered>(answer);
  metrics_.count(record, duration);
  services_.note(record);
  tell(record, start, duration);
  desk.admission.trim();
  return json_response(std::move(response));
}

// Another replica may know the table, and this one may read it in a moment: Retry-After makes the API
// server ask again while the hook's time lasts, on another connection. After that its failurePolicy
// decides. One log line is enough for a burst, which has one cause.
HttpResponse Requests::not_answered(const std::string& problem, std::chrono::steady_clock::time_point now) {
  if (const auto held_back = unanswered_.pass(now))
    log_.warn("not answered", {{"problem", problem}, {"more_before", *held_back}});
  HttpResponse response = error_response(503, problem);
  response.close = true;
  response.retry_after = 1;
  return response;
}

// Reviews beyond the limits, or of a namespace without the label, for which no hook of ours asks, are mostly
// strangers', who may send more of them than a log should hold.
void Requests::tell(const DecisionRecord& record, std::chrono::steady_clock::time_point now,
                    std::chrono::nanoseconds duration) {
  if (record.policy_read == PolicyRead::LeftOut) return;  // counted
  if (record.subject.dry_run) return log_decision(log_, record, duration);
  const bool oversized = record.reason == Reason::BudgetExceeded;
  if (oversized || record.reason == Reason::NamespaceNotOptedIn) {
    const auto held_back = (oversized ? oversized_ : not_opted_in_).pass(now);
    if (!held_back) return;
    if (*held_back > 0)
      log_.warn("decisions not logged", {{"reason", to_string(*record.reason)}, {"count", *held_back}});
  }
  log_decision(log_, record, duration);
}

}  // namespace nccl_env::webhook
