// SPDX-License-Identifier: Apache-2.0
#include "cluster_services.h"

#include "open_store.h"

namespace nccl_env::app {

Result<ClusterServices> ClusterServices::make(const WebhookOptions& options,
                                              const std::shared_ptr<Logger>& log,
                                              std::function<void()> on_swap) {
  ClusterServices services;
  if (!options.kubernetes && !options.certificates.managed()) return services;
  const auto api = api_server(options);
  if (!api) return api.error();
  if (options.certificates.managed()) {
    auto made = CertificateService::make(*api, options.certificates, log, std::move(on_swap));
    if (!made) return made.error();
    services.certificates_ = *std::move(made);
  }
  if (options.kubernetes) {
    auto made = PolicyStatusService::make(*api, {options.allow_code_paths}, log);
    if (!made) return made.error();
    services.policy_status_ = *std::move(made);
  }
  return services;
}

void ClusterServices::add_metrics(MetricRegistry& registry) const {
  if (certificates_) certificates_->add_metrics(registry);
  if (policy_status_) policy_status_->add_metrics(registry);
}

void ClusterServices::start() {
  if (certificates_) certificates_->start();
  if (policy_status_) policy_status_->start();
}

std::shared_ptr<net::TlsSource> ClusterServices::tls() const {
  return certificates_ ? certificates_->tls() : nullptr;
}

}  // namespace nccl_env::app
