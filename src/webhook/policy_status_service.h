// SPDX-License-Identifier: Apache-2.0
// PolicyStatusService: the status of a cluster's policies, with the client, watch and thread they need.
#pragma once

#include <chrono>
#include <memory>

#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/config.h"
#include "nccl_env/kube/informer.h"
#include "nccl_env/result.h"
#include "policy_conditions.h"
#include "repeating.h"

namespace nccl_env::app {

class PolicyStatusService {
 public:
  // Nothing is asked yet.
  static Result<std::unique_ptr<PolicyStatusService>> make(const kube::ClientConfig& api,
                                                           PolicyOptions options,
                                                           std::chrono::seconds max_table_age,
                                                           const std::shared_ptr<Logger>& log);
  ~PolicyStatusService();  // ends a call that is under way

  void start();  // the threads
  // The registry must not be rendered after the service's end.
  void add_metrics(MetricRegistry& registry) const;

 private:
  PolicyStatusService(std::unique_ptr<kube::Client> client, PolicyOptions options,
                      std::chrono::seconds max_table_age, const std::shared_ptr<Logger>& log);

  std::unique_ptr<kube::Client> client_;
  PolicyConditions conditions_;
  const std::shared_ptr<Logger> log_;
  // Last: their threads end before anything that they use, the informer's first, since it wakes the writer.
  std::unique_ptr<Repeating> writer_;
  std::unique_ptr<kube::Informer> informer_;
};

}  // namespace nccl_env::app
