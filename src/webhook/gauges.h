// SPDX-License-Identifier: Apache-2.0
// Metrics that are read when Prometheus asks: server, store, certificate (docs/metrics.md).
#pragma once

#include <chrono>
#include <functional>

#include "nccl_env/base/metrics.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/store/store.h"

namespace nccl_env::app {

// All must outlive the registry's last render.
struct GaugeSources {
  const net::Server& server;
  const store::Store& store;
  const net::TlsSource& tls;
  std::function<bool()> ready;
  std::function<Timestamp()> now;
  std::chrono::seconds max_table_age;
};

void add_gauges(MetricRegistry& registry, const GaugeSources& sources);

}  // namespace nccl_env::app
