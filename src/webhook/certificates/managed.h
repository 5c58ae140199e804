// SPDX-License-Identifier: Apache-2.0
// ManagedCertificates: the webhook as its own certificate authority. Replicas share one Secret; each replica
// serves the certificate in the Secret, renews it when due, and keeps the webhook configurations trusting it.
// docs/operate/operations.md.
#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "certificates/plan.h"
#include "nccl_env/base/log.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/net/tls/tls.h"

namespace nccl_env::webhook {

struct ManagedCertificatesOptions {
  std::string name_space, secret;
  std::string configuration;  // of the Mutating- and the ValidatingWebhookConfiguration
  CertificateRules rules;
  std::filesystem::path client_ca;  // "": clients show no certificate
  std::function<net::SystemTime()> clock;
  std::function<void()> on_swap;  // another certificate is in use
};

struct ManagedCertificatesStats {
  bool serving = false;            // a certificate that clients can be told to trust is in use
  net::SystemTime last_success{};  // the epoch: none yet
  std::array<std::uint64_t, kCertificateSteps> steps{};  // that this replica took, by CertificateStep
  std::uint64_t bundle_writes = 0, errors = 0;           // errors: failed rounds
};

class ManagedCertificates {
 public:
  // `serving`: where the certificate goes.
  ManagedCertificates(kube::ApiCall api, ManagedCertificatesOptions options,
                      std::shared_ptr<net::TlsSource> serving, std::shared_ptr<Logger> log);

  // Reads the Secret, changes it if that is due, has the webhook configurations trust its CAs, and serves its
  // certificate. On one thread only. An error is logged, though not the same again, and the certificate in
  // use stays. A failure to write the webhook configurations does not prevent serving; without the Secret
  // neither is done. Safe to repeat at any time.
  Status round();
  // The time between rounds by default: short enough for the lifetime that was asked for. A CA that all
  // configurations have been seen to trust for as long may serve: API servers learn of a changed
  // configuration within seconds.
  [[nodiscard]] std::chrono::milliseconds interval() const;

  [[nodiscard]] ManagedCertificatesStats stats() const;  // from any thread

 private:
  Result<CertificateSet> agree();
  CertificateSet found_in(const std::optional<nlohmann::json>& secret) const;
  bool seen_trusted(const CertificateSet& found);
  Result<std::optional<nlohmann::json>> read(const std::string& target, const std::string& what);
  Result<bool> store(const std::optional<nlohmann::json>& secret, const CertificateSet& set);
  Status ensure_trusted(const std::string& trusted);
  Result<bool> ensure_trusted_by(const std::string& kind, const std::string& trusted);
  Status serve(const CertificateSet& set);
  void report(const CertificatePlan& plan);

  const kube::ApiCall api_;
  const ManagedCertificatesOptions options_;
  const std::shared_ptr<net::TlsSource> serving_;
  const std::shared_ptr<Logger> log_;
  CertificateSet known_;  // the set agreed last
  std::string told_;      // what the last round failed for: the same is logged once
  struct {                // CAs that all configurations were last seen to trust, and since when
    std::string bundle;
    std::optional<net::SystemTime> since;
  } trusted_;
  mutable std::mutex mutex_;  // guards stats_
  ManagedCertificatesStats stats_;
};

}  // namespace nccl_env::webhook
