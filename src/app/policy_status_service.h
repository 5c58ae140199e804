// SPDX-License-Identifier: Apache-2.0
// PolicyStatusService: the conditions of a cluster's policies, with the client, watch and thread they need.
#pragma once

#include <memory>

#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/base/result.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/config.h"
#include "nccl_env/kube/informer.h"
#include "policy_conditions.h"
#include "repeating.h"

namespace nccl_env::app {

class PolicyStatusService {
 public:
  // Runs from here on.
  static Result<std::unique_ptr<PolicyStatusService>> start(const kube::ClientConfig& api,
                                                            PolicyOptions options,
                                                            const std::shared_ptr<Logger>& log);
  ~PolicyStatusService();  // ends a call that is under way

  // The registry must not be rendered after the service's end.
  void add_metrics(MetricRegistry& registry) const;

 private:
  PolicyStatusService(std::unique_ptr<kube::Client> client, PolicyOptions options,
                      const std::shared_ptr<Logger>& log);

  std::unique_ptr<kube::Client> client_;
  PolicyConditions conditions_;
  Repeating writer_;
  kube::Informer informer_;  // last: it calls the two above
};

}  // namespace nccl_env::app
