// SPDX-License-Identifier: Apache-2.0
// PolicyConditions: keeps the status of each NcclPolicy up to date: condition "Accepted", which says why a
// policy is refused; maxTableAgeSeconds and resolverImage, so that readers of policies decide as the webhook
// does; carrier, how a node's values reach its pods; and condition "PodsWithoutValues" with a count. Every
// replica does so; what another one wrote already is left alone, and a count is added to.
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
#include "nccl_env/webhook/admission.h"
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

// Pods of one policy that were bound to a node without what they wait for, and that no status has yet.
struct PodsWithout {
  std::int64_t count = 0;
  Reason reason{};        // of the last one, as the next two
  std::string pod, node;  // "ml/train-0"
};

// Returns the status that `policy`, as the API server has it, should get: the conditions, the age, the image
// and the carrier; nothing if the policy has them. The message of Accepted holds every finding, up to 4 KiB;
// a lastTransitionTime moves only with its status. PodsWithoutValues is absent before the first such pod, and
// False an hour after the last one; its count begins anew then and with a generation.
std::optional<nlohmann::json> missing_status(const nlohmann::json& policy, const Installation& installation,
                                             Timestamp now, const PodsWithout& pods = {});

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

  // Keeps the Binding of a pod whose node lacks something; from any thread. At most 256 a minute, so that the
  // count is a lower bound.
  void note(const DecisionRecord& record);

  // Writes what is due, and returns how long nothing more will be due. A policy whose status can't be
  // written, or that somebody else changes back each time, is tried again after a second, then two, up to ten
  // minutes; its next edit begins anew.
  std::chrono::milliseconds write(SteadyTime now);

  [[nodiscard]] PolicyConditionsStats stats() const;  // from any thread

 private:
  struct Entry {
    nlohmann::json object;  // as last seen
    PodsWithout pods;
    std::chrono::milliseconds backoff{0};
    SteadyTime due{};
  };

  // Returns the status of the answer; 0 where there is none.
  int write_one(const std::string& name, const nlohmann::json& object, nlohmann::json status);
  bool settle(const std::string& name, nlohmann::json& status);
  void look(SteadyTime now);

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
  std::mutex noted_mutex_;  // guards the next, for which reviews wait
  // By namespace and name of a pod. A Binding cannot tell whether its pod waits for anything: it is read
  // later.
  std::map<std::pair<std::string, std::string>, BindingPlan> noted_;
  ReviewParser pods_;  // of the thread that writes, as the next
  SteadyTime next_look_{};
};

// The conditions of a cluster's policies, with the watch and threads that they need.
class PolicyStatusService {
 public:
  // Nothing is asked yet.
  PolicyStatusService(std::shared_ptr<kube::Client> client, Installation installation,
                      const std::shared_ptr<Logger>& log);
  ~PolicyStatusService();  // stops the client

  void start();                                                          // the threads
  void note(const DecisionRecord& record) { conditions_.note(record); }  // from any thread
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
