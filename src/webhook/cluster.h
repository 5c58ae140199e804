// SPDX-License-Identifier: Apache-2.0
// The webhook's cluster: the API server, the store that follows it, and the services that do not answer
// reviews.
#pragma once

#include <functional>
#include <memory>

#include "certificates/service.h"
#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/result.h"
#include "nccl_env/store/store.h"
#include "options.h"
#include "policy_conditions.h"

namespace nccl_env::webhook {

// Returns a client of the API server that --kubeconfig names, or of the cluster that we run in; null if none
// is needed.
Result<std::shared_ptr<kube::Client>> connect(const WebhookOptions& options,
                                              const std::shared_ptr<Logger>& log);

// Opens the store that --store names.
Result<std::unique_ptr<store::Store>> open_store(const WebhookOptions& options,
                                                 const std::shared_ptr<kube::Client>& client,
                                                 const std::shared_ptr<Logger>& log);

// Runs the webhook's other tasks in a cluster: its certificate (--managed-certificates) and the conditions of
// policies (--store kubernetes). Each runs only with its option.
class ClusterServices {
 public:
  // `on_swap` is called on a thread of these services, when another certificate is in use.
  static Result<ClusterServices> make(const WebhookOptions& options,
                                      const std::shared_ptr<kube::Client>& client,
                                      const std::shared_ptr<Logger>& log, std::function<void()> on_swap);

  // The registry must not be rendered after the services' end.
  void add_metrics(MetricRegistry& registry) const;
  void start();

  // Called with each decision, from any thread.
  void note(const DecisionRecord& record) const {
    if (policy_status_) policy_status_->note(record);
  }

  // Called when a client does not trust the certificate: a managed one is looked at now. Only after start(),
  // from any thread.
  void look_at_trust();

  // The managed certificate; null if it comes from elsewhere.
  [[nodiscard]] std::shared_ptr<net::TlsSource> tls() const;
  // False while a managed certificate is yet to come.
  [[nodiscard]] bool ready() const { return !certificates_ || certificates_->serving(); }

 private:
  std::unique_ptr<CertificateService> certificates_;
  std::unique_ptr<PolicyStatusService> policy_status_;
};

}  // namespace nccl_env::webhook
