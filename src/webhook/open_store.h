// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/config.h"
#include "nccl_env/result.h"
#include "nccl_env/store/store.h"
#include "options.h"

namespace nccl_env::app {

// The API server that --kubeconfig names, or that is around us.
Result<kube::ClientConfig> api_server(const WebhookOptions& options);

// The store that --store and --kubeconfig name.
Result<std::unique_ptr<store::Store>> open_store(const WebhookOptions& options,
                                                 const std::shared_ptr<Logger>& log);

}  // namespace nccl_env::app
