// SPDX-License-Identifier: Apache-2.0
#include "open_store.h"

#include "nccl_env/core/policy/reader.h"
#include "nccl_env/program/version.h"
#include "nccl_env/store/dir_store.h"
#include "nccl_env/store/kube_store.h"

namespace nccl_env::app {

Result<kube::ClientConfig> api_server(const WebhookOptions& options) {
  auto config = kube::load_config(options.kubeconfig);
  if (config) config->user_agent = "nccl-env-webhook/" + std::string(kVersion);
  return config;
}

Result<std::unique_ptr<store::Store>> open_store(const WebhookOptions& options,
                                                 const std::shared_ptr<Logger>& log) {
  const PolicyOptions policies{options.allow_code_paths};
  if (!options.kubernetes) {
    auto directory = store::DirectoryStore::open(options.store, policies, log);
    if (!directory) return directory.error();
    return std::unique_ptr<store::Store>(*std::move(directory));
  }
  auto config = api_server(options);
  if (!config) return config.error();
  auto cluster = store::KubernetesStore::start(*std::move(config), policies, log);
  if (!cluster) return cluster.error();
  return std::unique_ptr<store::Store>(*std::move(cluster));
}

}  // namespace nccl_env::app
