// SPDX-License-Identifier: Apache-2.0
// PolicyConditions: keeps four fields of each NcclPolicy up to date: condition "Accepted", which says why a
// policy is refused; status.maxTableAgeSeconds and status.resolverImage, so that readers of policies decide
// as the webhook does; and status.carrier, how a node's values reach its pods. Every replica does so; what
// another one wrote already is left alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/env_files.h"
#include "nccl_env/kube/informer.h"
#include "nccl_env/kube/watch.h"
#include "nccl_env/result.h"
#include "repeating.h"

namespace nccl_env::webhook {

// The words of status.carrier. Whether a cluster can have EnvFile is asked once for each generation of a
// policy that wants it, and again where --carrier has changed: all replicas then plan alike.
inline constexpr std::string_view kUnavailable = "EnvFileUnavailable";  // wanted, and File takes its place
inline constexpr std::string_view kToBeAsked;                           // "": never written

// Options of the webhook that decide about a policy's status.
struct Installation {
  PolicyOptions policies;
  std::chrono::seconds max_table_age{0};
  std::string resolver_image;  // without it EnvFile is File
};

// Returns the status that `policy`, as the API server has it, should get: the one condition, the age, the
// image and the carrier; nothing if the policy has them. The condition's message holds every finding, up to 4
// KiB; its lastTransitionTime moves only with its status.
std::optional<nlohmann::json> missing_status(const nlohmann::json& policy, const Installation& installation,
                                             Timestamp now);

// Writes the carrier that the answer gives into a status with kToBeAsked.
void settle_carrier(nlohmann::json& status, bool kept);

struct PolicyConditionsStats {
  std::uint64_t written = 0, failed = 0;  // attempts
};

// The members of TreeSink are called on the informer's thread, write() on another one.
class PolicyConditions : public kube::TreeSink {
 public:
  using Clock = std::function<Timestamp()>;  // for the conditions' times
  using EnvFileAsker = std::function<Result<kube::EnvFiles>()>;
  using SteadyTime = std::chrono::steady_clock::time_point;

  // `on_work` is called when there may be something to write().
  PolicyConditions(kube::ApiCall api, EnvFileAsker ask_for_env_files, Installation installation, Clock clock,
                   std::function<void()> on_work, std::shared_ptr<Logger> log);

  void begin_list() override;
  void list_item(const nlohmann::json& object) override;
  void complete_list() override;
  void upsert(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override;

  // Writes what is due, and returns how long nothing more will be due. A policy whose condition can't be
  // written, or that somebody else changes back each time, is tried again after a second, then two, up to ten
  // minutes; its next edit begins anew.
  std::chrono::milliseconds write(SteadyTime now);

  [[nodiscard]] PolicyConditionsStats stats() const;  // from any thread

 private:
  struct Entry {
    std::string uid;
    std::int64_t generation = 0;
    std::optional<nlohmann::json> missing;
    std::uint64_t events = 0;  // seen of this policy
    std::chrono::milliseconds backoff{0};
    SteadyTime due{};
  };

  bool write_one(const std::string& name, const std::string& uid, nlohmann::json status);
  bool settle(const std::string& name, nlohmann::json& status);
  void note(const std::string& name, std::uint64_t events, bool written);

  const kube::ApiCall api_;
  const EnvFileAsker ask_for_env_files_;
  const Installation installation_;
  const Clock clock_;
  const std::function<void()> on_work_;
  const std::shared_ptr<Logger> log_;
  std::set<std::string> listed_;  // of the informer's thread
  mutable std::mutex mutex_;      // guards the two below
  std::map<std::string, Entry> entries_;
  PolicyConditionsStats stats_;
};

// The conditions of a cluster's policies, with the watch and threads that they need.
class PolicyStatusService {
 public:
  // Nothing is asked yet.
  PolicyStatusService(std::shared_ptr<kube::Client> client, Installation installation,
                      const std::shared_ptr<Logger>& log);
  ~PolicyStatusService();  // stops the client

  void start();  // the threads
  // The registry must not be rendered after the service's end.
  void add_metrics(MetricRegistry& registry) const;

 private:
  const std::shared_ptr<kube::Client> client_;
  PolicyConditions conditions_;
  const std::shared_ptr<Logger> log_;
  // Last: their threads end before anything that they use, the informer's first, since it wakes the writer.
  std::unique_ptr<Repeating> writer_;
  std::unique_ptr<kube::Informer> informer_;
};

}  // namespace nccl_env::webhook
