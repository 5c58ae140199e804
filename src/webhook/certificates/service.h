// SPDX-License-Identifier: Apache-2.0
// CertificateService: runs --managed-certificates on a thread, with its client of the API server.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "certificates/managed.h"
#include "nccl_env/base/log.h"
#include "nccl_env/base/metrics.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/result.h"
#include "options.h"
#include "repeating.h"

namespace nccl_env::webhook {

class CertificateService {
 public:
  // Nothing is asked yet; tls() holds a certificate that nobody trusts. `on_swap` is called on the service's
  // thread, each time that another certificate is in use.
  static Result<std::unique_ptr<CertificateService>> make(std::shared_ptr<kube::Client> client,
                                                          const CertificateOptions& options,
                                                          const std::shared_ptr<Logger>& log,
                                                          std::function<void()> on_swap);
  ~CertificateService();  // stops the client

  void start();  // the thread
  // Begins the next round now, unless one was asked for just before: strangers can cause this as often as
  // they like. Only after start(), from any thread.
  void look_now();
  [[nodiscard]] const std::shared_ptr<net::TlsSource>& tls() const { return tls_; }
  // True once a certificate is served that clients can trust.
  [[nodiscard]] bool serving() const { return certificates_.stats().serving; }
  // The registry must not be rendered after the service's end.
  void add_metrics(MetricRegistry& registry) const;

 private:
  CertificateService(std::shared_ptr<kube::Client> client, ManagedCertificatesOptions options,
                     std::shared_ptr<net::TlsSource> tls, const std::shared_ptr<Logger>& log);

  const std::shared_ptr<kube::Client> client_;
  std::shared_ptr<net::TlsSource> tls_;
  ManagedCertificates certificates_;
  Pace pace_;                                                      // of the thread
  std::atomic<std::chrono::steady_clock::rep> looks_again_at_{0};  // look_now() does nothing before
  std::unique_ptr<Repeating> repeating_;  // last: its thread ends before anything that it uses
};

}  // namespace nccl_env::webhook
