// SPDX-License-Identifier: Apache-2.0
#include "policy_conditions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/program/clock.h"

namespace nccl_env::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kFieldManager = "nccl-env-webhook";
constexpr std::size_t kMaxMessage = 4096;  // kubectl describe still shows this well; the API takes 32 KiB
constexpr std::chrono::milliseconds kFirstBackoff = 1s, kLastBackoff = 10min, kRound = 1min;
constexpr const char* kAccepted = "Accepted";
constexpr const char* kPods = "PodsWithoutValues";
constexpr std::chrono::seconds kQuiet = 1h;                // without such a pod
constexpr std::size_t kMostNoted = 256;                    // reads of pods in a minute
constexpr int kOk = 200, kNoRight = 403, kConflict = 409;  // of HTTP

std::int64_t generation_of(const Json& policy) {
  const Json& generation = member(member(policy, "metadata"), "generation");
  return generation.is_number_integer() ? generation.get<std::int64_t>() : 0;
}

void cut(std::string& message) {
  if (message.size() <= kMaxMessage) return;
  std::size_t end = kMaxMessage - 4;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80)
    --end;  // not inside a character
  message.resize(end);
  message += " ...";
}

std::string joined(const std::vector<Finding>& findings, Severity severity) {
  std::string all;
  for (const Finding& finding : findings) {
    if (finding.severity != severity) continue;
    all += (all.empty() ? "" : "; ") + line_of(finding);
  }
  return all;
}

constexpr const char* kNoEnvFile = " This cluster has no fileKeyRef: EnvFile is File here.";
constexpr const char* kNoResolver = " The webhook has no --resolver-image: EnvFile is File here.";

Json verdict(const PolicyReading& reading) {
  const bool accepted = reading.policy.has_value();
  std::string message = joined(reading.findings, Severity::Error);
  if (accepted) {
    const std::string warnings = joined(reading.findings, Severity::Warning);
    message = warnings.empty() ? "In use." : "In use, with warnings: " + warnings;
  }
  cut(message);
  return {{"type", kAccepted},
          {"status", accepted ? "True" : "False"},
          {"reason", accepted ? "Accepted" : "PolicyInvalid"},
          {"message", message}};
}

const Json& condition_of(const Json& policy, std::string_view type) {
  static const Json kNull;
  for (const Json& condition : member(member(policy, "status"), "conditions")) {
    if (member(condition, "type") == type) return condition;
  }
  return kNull;
}

// Sets lastTransitionTime: that of `before`, if both say the same.
void set_transition(Json& condition, const Json& before, Timestamp now) {
  const Json& since = member(before, "lastTransitionTime");
  const bool stays = member(before, "status") == condition["status"] && since.is_string();
  condition["lastTransitionTime"] = stays ? since : Json(format_timestamp(now));
}

// Brings condition and count of pods without values up to date. Both stay null before the first such pod.
void add_pods(Json& condition, Json& counted, const PodsWithout& pods, std::int64_t generation,
              Timestamp now) {
  const auto last = parse_timestamp(text_at(counted, "last"));
  const bool quiet = !last || now - *last >= kQuiet, was = member(condition, "status") == "True";
  if (pods.count == 0 && !(was && quiet)) return;
  const bool goes_on = was && !quiet && member(condition, "observedGeneration") == generation;
  const Json& before = member(counted, "count");
  const std::int64_t count =
      pods.count + (goes_on && before.is_number_integer() ? before.get<std::int64_t>() : 0);
  Json wanted{{"type", kPods},
              {"status", "False"},
              {"reason", "NoneLately"},
              {"message", "None in the last hour."},
              {"observedGeneration", generation}};
  if (pods.count > 0) {
    wanted["status"] = "True";
    wanted["reason"] = to_string(pods.reason);
    wanted["message"] = std::to_string(count) + (count == 1 ? " pod" : " pods") +
                        " got a node without what they wait for; the last was " + pods.pod + " on " +
                        pods.node + ". " + std::string(meaning(pods.reason)) + " " +
                        std::string(remedy(pods.reason));
    counted["last"] = format_timestamp(now);
  }
  set_transition(wanted, condition, now);
  counted["count"] = count;
  condition = std::move(wanted);
}

// The carrier as the status should say it. An answer is kept for a generation.
std::string carrier_of(const NcclPolicy& policy, bool has_resolver, const Json& status,
                       bool same_generation) {
  if (!policy.deliver_env_file || !has_resolver) return std::string(to_string(Carrier::File));
  const std::string recorded = text_at(status, "carrier");
  const bool answered = recorded == to_string(Carrier::EnvFile) || recorded == kUnavailable;
  return same_generation && answered ? recorded : std::string(kToBeAsked);
}

// Which engines get nothing of a node where File takes the place of EnvFile.
std::string engines_note(std::optional<NcclPolicy> policy) {
  if (!policy) return {};
  policy->deliver_env_file = false;
  const std::string names = unavailable_engines(*policy);
  return names.empty() ? names : " EnginesUnavailable: " + names + " get constants alone.";
}

}  // namespace

void settle_carrier(Json& status, bool kept) {
  status["carrier"] = kept ? to_string(Carrier::EnvFile) : kUnavailable;
  if (!kept) status["conditions"][0]["message"].get_ref<std::string&>() += kNoEnvFile;
}

std::optional<Json> missing_status(const Json& policy, const Installation& installation, Timestamp now,
                                   const PodsWithout& pods) {
  Json whole = policy;  // items of a list lack these two members
  whole["apiVersion"] = "nccl-env.io/v1alpha1";
  whole["kind"] = "NcclPolicy";
  whole.erase("status");  // the carrier that the policy wants is asked for, not the one that was recorded
  if (whole.contains("metadata") && whole["metadata"].is_object()) whole["metadata"].erase("resourceVersion");
  const PolicyReading reading = read_policy(whole, installation.policies);
  Json wanted = verdict(reading);
  wanted["observedGeneration"] = generation_of(policy);
  const Json& present = condition_of(policy, kAccepted);
  const Json& recorded = member(policy, "status");
  const auto same = [&](const char* key) { return member(present, key) == wanted[key]; };
  const std::string& image = installation.resolver_image;
  const std::string carrier =
      reading.policy ? carrier_of(*reading.policy, !image.empty(), recorded, same("observedGeneration"))
                     : text_at(recorded, "carrier");
  if (carrier == kUnavailable)
    wanted["message"].get_ref<std::string&>() += kNoEnvFile + engines_note(reading.policy);
  if (image.empty() && reading.policy && reading.policy->deliver_env_file)
    wanted["message"].get_ref<std::string&>() += kNoResolver + engines_note(reading.policy);
  const auto max_table_age = installation.max_table_age.count();
  Json without = condition_of(policy, kPods), counted = member(recorded, "podsWithoutValues");
  add_pods(without, counted, pods, generation_of(policy), now);
  const bool same_rest =
      without == condition_of(policy, kPods) && member(recorded, "maxTableAgeSeconds") == max_table_age &&
      text_at(recorded, "carrier") == carrier && text_at(recorded, "resolverImage") == image &&
      (!reading.policy || carrier != kToBeAsked);
  if (same("status") && same("reason") && same("message") && same("observedGeneration") && same_rest)
    return std::nullopt;
  set_transition(wanted, present, now);
  Json status{{"conditions", Json::array({std::move(wanted)})}, {"maxTableAgeSeconds", max_table_age}};
  if (reading.policy || !carrier.empty()) status["carrier"] = carrier;
  if (!image.empty()) status["resolverImage"] = image;
  if (!without.is_null()) status["conditions"].push_back(std::move(without));
  if (!counted.is_null()) status["podsWithoutValues"] = std::move(counted);
  return status;
}

PolicyConditions::PolicyConditions(kube::ApiCall api, EnvFileAsker ask_for_env_files,
                                   Installation installation, Clock clock, std::function<void()> on_work,
                                   std::shared_ptr<Logger> log)
    : api_(std::move(api)),
      ask_for_env_files_(std::move(ask_for_env_files)),
      installation_(installation),
      clock_(std::move(clock)),
      on_work_(std::move(on_work)),
      log_(std::move(log)) {}

void PolicyConditions::begin_list() {
  listed_.clear();
}

void PolicyConditions::list_item(const Json& object) {
  listed_.insert(text_at(member(object, "metadata"), "name"));
  upsert(object);
}

void PolicyConditions::complete_list() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return !listed_.contains(entry.first); });
  listed_.clear();
}

void PolicyConditions::upsert(const Json& object) {
  const Json& metadata = member(object, "metadata");
  const std::string name = text_at(metadata, "name");
  if (name.empty()) return;
  const bool work = missing_status(object, installation_, clock_()).has_value();
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    const Json& before = member(entry.object, "metadata");
    const auto same = [&](const char* key) { return member(before, key) == member(metadata, key); };
    if (!same("uid") || !same("generation")) entry = {};
    entry.object = object;
  }
  if (work) on_work_();
}

void PolicyConditions::remove(const Json& object) {
  const std::lock_guard lock(mutex_);
  entries_.erase(text_at(member(object, "metadata"), "name"));
}

void PolicyConditions::note(const DecisionRecord& record) {
  const Subject& subject = record.subject;
  if (!record.lacking || subject.dry_run || !is_dns_subdomain(subject.name_space) ||
      !is_dns_subdomain(subject.pod))
    return;
  const std::lock_guard lock(noted_mutex_);
  if (noted_.size() < kMostNoted)
    noted_.insert_or_assign({std::string(subject.name_space), std::string(subject.pod)}, *record.lacking);
}

// Adds the pods that are bound to such a node and wait for what it lacks.
void PolicyConditions::look(SteadyTime now) {
  if (now < next_look_) return;
  next_look_ = now + kRound;
  std::unique_lock noted_lock(noted_mutex_);
  const auto noted = std::exchange(noted_, {});
  noted_lock.unlock();
  for (const auto& [name, plan] : noted) {
    kube::Call call;
    call.target = kube::path_in(name.first, kube::kPods, name.second);
    const auto reply = api_(call);
    // The installation has less rights, or the server is away: each further call would wait for its deadline.
    if (!reply || reply->status == kNoRight) return;
    const Result<Pod> pod = reply->status == kOk ? pods_.parse_pod(reply->body) : Error{"none"};
    if (!pod || pod->node_name != plan.host.node) continue;
    const auto consumed = consumed_exposure(*pod);
    const std::optional<Value> lack = plan.no_env_file && reads_env_file(*pod) ? plan.no_env_file
                                      : consumed ? values_of(plan, *consumed).deny
                                                 : std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(plan.policy->name);
    if (!lack || entry == entries_.end()) continue;
    PodsWithout& pods = entry->second.pods;
    pods = {pods.count + 1, *lack->reason, name.first + "/" + name.second, plan.host.node};
  }
}

std::chrono::milliseconds PolicyConditions::write(SteadyTime now) {
  look(now);
  std::map<std::string, std::pair<Json, Json>> due;  // an object, and the status that it should have
  std::chrono::milliseconds pause = kRound;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entry] : entries_) {
      auto missing = missing_status(entry.object, installation_, clock_(), entry.pods);
      if (!missing) continue;
      if (now >= entry.due) {
        due.emplace(name, std::pair(entry.object, *std::move(missing)));
        entry.backoff = std::clamp(2 * entry.backoff, kFirstBackoff, kLastBackoff);
        entry.due = now + entry.backoff;
      }
      pause = std::min(pause, std::chrono::ceil<std::chrono::milliseconds>(entry.due - now));
    }
  }
  for (auto& [name, both] : due) {
    const int answer = write_one(name, both.first, std::move(both.second));
    const std::lock_guard lock(mutex_);
    if (answer == kOk) ++stats_.written;
    if (answer != kOk && answer != kConflict) ++stats_.failed;
    const auto entry = entries_.find(name);
    if (answer == kOk && entry != entries_.end()) entry->second.pods = {};
  }
  return pause;
}

// False where the API server gave no answer: it is asked again later.
bool PolicyConditions::settle(const std::string& name, Json& status) {
  if (!status.contains("carrier") || status["carrier"] != kToBeAsked) return true;
  const auto answer = ask_for_env_files_();
  const std::string problem = answer ? answer->problem : answer.error().message;
  if (!problem.empty()) log_->warn("EnvFile is not available", {{"policy", name}, {"problem", problem}});
  if (answer) settle_carrier(status, answer->kept);
  return answer.ok();
}

// A count is added to what was read: where another replica wrote meanwhile there is a conflict, and an event
// that begins anew.
int PolicyConditions::write_one(const std::string& name, const Json& object, Json status) {
  if (!settle(name, status)) return 0;
  const Json& seen = object["metadata"];
  kube::Call call;
  call.method = "PATCH";
  call.target = kube::path_of(kube::kPolicies, name) + "/status?force=true&fieldManager=" + kFieldManager;
  call.content_type = kube::kApply;
  call.body = Json{
      {"apiVersion", "nccl-env.io/v1alpha1"},
      {"kind", "NcclPolicy"},
      {"metadata",
       {{"name", name}, {"uid", member(seen, "uid")}, {"resourceVersion", member(seen, "resourceVersion")}}},
      {"status",
       status}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto reply = api_(call);
  const int answer = reply ? reply->status : 0;
  if (answer == kOk) {
    const Json& condition = status["conditions"][0];
    log_->info("policy condition written", {{"policy", name},
                                            {"carrier", text_at(status, "carrier")},
                                            {"accepted", condition["status"].get<std::string>()},
                                            {"message", condition["message"].get<std::string>()}});
  } else if (answer != kConflict) {
    log_->warn("policy condition not written",
               {{"policy", name}, {"problem", reply ? kube::status_message(*reply) : reply.error().message}});
  }
  return answer;
}

PolicyConditionsStats PolicyConditions::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

PolicyStatusService::PolicyStatusService(std::shared_ptr<kube::Client> client, Installation installation,
                                         const std::shared_ptr<Logger>& log)
    : client_(std::move(client)),
      conditions_([this](const kube::Call& call) { return client_->call(call); },
                  [this] { return kube::ask_for_env_files(*client_); }, installation, program::clock_now,
                  [this] { writer_->wake(); }, log),
      log_(log) {}

void PolicyStatusService::start() {
  writer_ =
      std::make_unique<Repeating>([this] { return conditions_.write(std::chrono::steady_clock::now()); });
  informer_ = std::make_unique<kube::Informer>(*client_, kube::Collection{kube::path_of(kube::kPolicies), {}},
                                               conditions_, log_);
}

PolicyStatusService::~PolicyStatusService() {
  client_->stop();
}

void PolicyStatusService::add_metrics(MetricRegistry& registry) const {
  registry.add_counter_reader(
      {"nccl_env_policy_condition_writes_total",
       "Conditions of NcclPolicies, by what became of writing them. With --store kubernetes.",
       {"outcome"},
       {{"written"}, {"failed"}}},
      [this](std::size_t i) {
        const PolicyConditionsStats stats = conditions_.stats();
        return static_cast<double>(i == 0 ? stats.written : stats.failed);
      });
}

}  // namespace nccl_env::webhook
