// SPDX-License-Identifier: Apache-2.0
#include "policy_conditions.h"

#include <algorithm>
#include <vector>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/program/clock.h"

namespace nccl_env::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kFieldManager = "nccl-env-webhook";
constexpr std::size_t kMaxMessage = 4096;  // kubectl describe still shows this well; the API takes 32 KiB
constexpr std::chrono::milliseconds kFirstBackoff = 1s, kLastBackoff = 10min;

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
  return {{"type", "Accepted"},
          {"status", accepted ? "True" : "False"},
          {"reason", accepted ? "Accepted" : "PolicyInvalid"},
          {"message", message}};
}

const Json& accepted_condition(const Json& policy) {
  static const Json kNull;
  for (const Json& condition : member(member(policy, "status"), "conditions")) {
    if (member(condition, "type") == "Accepted") return condition;
  }
  return kNull;
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

std::optional<Json> missing_status(const Json& policy, const Installation& installation, Timestamp now) {
  Json whole = policy;  // items of a list lack these two members
  whole["apiVersion"] = "nccl-env.io/v1alpha1";
  whole["kind"] = "NcclPolicy";
  whole.erase("status");  // the carrier that the policy wants is asked for, not the one that was recorded
  if (whole.contains("metadata") && whole["metadata"].is_object()) whole["metadata"].erase("resourceVersion");
  const PolicyReading reading = read_policy(whole, installation.policies);
  Json wanted = verdict(reading);
  wanted["observedGeneration"] = generation_of(policy);
  const Json& present = accepted_condition(policy);
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
  const bool same_rest =
      member(recorded, "maxTableAgeSeconds") == max_table_age && text_at(recorded, "carrier") == carrier &&
      text_at(recorded, "resolverImage") == image && (!reading.policy || carrier != kToBeAsked);
  if (same("status") && same("reason") && same("message") && same("observedGeneration") && same_rest)
    return std::nullopt;
  const Json& since = member(present, "lastTransitionTime");
  wanted["lastTransitionTime"] = same("status") && since.is_string() ? since : Json(format_timestamp(now));
  Json status{{"conditions", Json::array({std::move(wanted)})}, {"maxTableAgeSeconds", max_table_age}};
  if (reading.policy || !carrier.empty()) status["carrier"] = carrier;
  if (!image.empty()) status["resolverImage"] = image;
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
  const std::string name = text_at(metadata, "name"), uid = text_at(metadata, "uid");
  if (name.empty()) return;
  auto missing = missing_status(object, installation_, clock_());
  const bool work = missing.has_value();
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    if (entry.uid != uid || entry.generation != generation_of(object)) {
      entry = {uid, generation_of(object), {}, entry.events, {}, {}};
    }
    ++entry.events;
    entry.missing = std::move(missing);
  }
  if (work) on_work_();
}

void PolicyConditions::remove(const Json& object) {
  const std::lock_guard lock(mutex_);
  entries_.erase(text_at(member(object, "metadata"), "name"));
}

std::chrono::milliseconds PolicyConditions::write(SteadyTime now) {
  struct Due {
    std::string name, uid;
    Json status;
    std::uint64_t events;
  };
  std::vector<Due> due;
  std::chrono::milliseconds pause = kLastBackoff;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entry] : entries_) {
      if (!entry.missing) continue;
      if (now >= entry.due) {
        due.push_back({name, entry.uid, *entry.missing, entry.events});
        entry.backoff = std::clamp(2 * entry.backoff, kFirstBackoff, kLastBackoff);
        entry.due = now + entry.backoff;
      }
      pause = std::min(pause, std::chrono::ceil<std::chrono::milliseconds>(entry.due - now));
    }
  }
  for (const Due& one : due) note(one.name, one.events, write_one(one.name, one.uid, one.status));
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

bool PolicyConditions::write_one(const std::string& name, const std::string& uid, Json status) {
  if (!settle(name, status)) return false;
  kube::Call call;
  call.method = "PATCH";
  call.target = kube::path_of(kube::kPolicies, name) + "/status?force=true&fieldManager=" + kFieldManager;
  call.content_type = kube::kApply;
  call.body = Json{
      {"apiVersion", "nccl-env.io/v1alpha1"},
      {"kind", "NcclPolicy"},
      {"metadata", {{"name", name}, {"uid", uid}}},
      {"status",
       status}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto reply = api_(call);
  const bool written = reply && reply->status == 200;
  if (written) {
    const Json& condition = status["conditions"][0];
    log_->info("policy condition written", {{"policy", name},
                                            {"carrier", text_at(status, "carrier")},
                                            {"accepted", condition["status"].get<std::string>()},
                                            {"message", condition["message"].get<std::string>()}});
  } else {
    log_->warn("policy condition not written",
               {{"policy", name}, {"problem", reply ? kube::status_message(*reply) : reply.error().message}});
  }
  return written;
}

// A status that the API server took comes back as an event. If an event came during the write, that event has
// already shown whether the status is still missing.
void PolicyConditions::note(const std::string& name, std::uint64_t events, bool written) {
  const std::lock_guard lock(mutex_);
  ++(written ? stats_.written : stats_.failed);
  const auto entry = entries_.find(name);
  if (written && entry != entries_.end() && entry->second.events == events) entry->second.missing.reset();
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
