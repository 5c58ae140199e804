// SPDX-License-Identifier: Apache-2.0
#include "cluster.h"

#include "nccl_env/program/ending.h"
#include "nccl_env/program/version.h"
#include "nccl_env/store/dir_store.h"
#include "nccl_env/store/kube_store.h"

namespace nccl_env::webhook {

Result<std::shared_ptr<kube::Client>> connect(const WebhookOptions& options,
                                              const std::shared_ptr<Logger>& log) {
  if (!options.kubernetes && !options.certificates.managed()) return std::shared_ptr<kube::Client>();
  auto config = kube::load_config(options.kubeconfig);
  if (!config) return program::at_option("--kubeconfig", config.error());
  config->user_agent = "nccl-env-webhook/" + std::string(program::kVersion);
  auto client = kube::Client::make(*std::move(config), log);
  if (!client) return program::at_option("--kubeconfig", client.error());
  return std::shared_ptr<kube::Client>(*std::move(client));
}

Result<std::unique_ptr<store::Store>> open_store(const WebhookOptions& options,
                                                 const std::shared_ptr<kube::Client>& client,
                                                 const std::shared_ptr<Logger>& log) {
  const PolicyOptions& policies = options.policies;
  if (!options.kubernetes) {
    auto directory = store::DirectoryStore::open(options.store, policies, log);
    if (!directory) return program::at_option("--store", directory.error());
    return std::unique_ptr<store::Store>(*std::move(directory));
  }
  auto cluster = store::KubernetesStore::start(client, policies, log);
  if (!cluster) return program::at_option("--kubeconfig", cluster.error());
  return std::unique_ptr<store::Store>(*std::move(cluster));
}

Result<ClusterServices> ClusterServices::make(const WebhookOptions& options,
                                              const std::shared_ptr<kube::Client>& client,
                                              const std::shared_ptr<Logger>& log,
                                              std::function<void()> on_swap) {
  ClusterServices services;
  if (options.certificates.managed()) {
    auto made = CertificateService::make(client, options.certificates, log, std::move(on_swap));
    if (!made) return program::at_option("--managed-certificates", made.error());
    services.certificates_ = *std::move(made);
  }
  if (options.kubernetes) {
    const Installation installation{options.policies, options.max_table_age, options.resolver.image};
    services.policy_status_ = std::make_unique<PolicyStatusService>(client, installation, log);
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

void ClusterServices::look_at_trust() {
  if (certificates_) certificates_->look_now();
}

std::shared_ptr<net::TlsSource> ClusterServices::tls() const {
  return certificates_ ? certificates_->tls() : nullptr;
}

}  // namespace nccl_env::webhook
