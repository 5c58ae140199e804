// SPDX-License-Identifier: Apache-2.0
#include "certificates/service.h"

namespace nccl_env::webhook {
namespace {

// Makes a certificate for connections that come before the Secret was read, though the program is not ready
// then. It has the names of the later certificate, so that a bad name makes the start fail. Its source has
// the client CA, so that strangers are refused from the first connection on.
Result<std::shared_ptr<net::TlsSource>> untrusted(const CertificateOptions& options) {
  const auto client_ca = net::read_client_ca(options.client_ca);
  if (!client_ca) return client_ca.error();
  const auto now = std::chrono::system_clock::now();
  const auto ca = net::make_ca("nccl-env, thrown away", now, std::chrono::hours(24));
  if (!ca) return ca.error();
  const auto leaf = net::issue_server_certificate(*ca, options.names, now, std::chrono::hours(24));
  if (!leaf) return leaf.error();
  return net::TlsSource::make({leaf->certificate, leaf->key, *client_ca});
}

// A round asks the API server three times.
constexpr std::chrono::seconds kBetweenHastyLooks{2};

double unix_seconds(net::SystemTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

Result<std::unique_ptr<CertificateService>> CertificateService::make(std::shared_ptr<kube::Client> client,
                                                                     const CertificateOptions& options,
                                                                     const std::shared_ptr<Logger>& log,
                                                                     std::function<void()> on_swap) {
  auto tls = untrusted(options);
  if (!tls) return tls.error();
  ManagedCertificatesOptions managed{options.name_space,
                                     options.secret,
                                     options.webhook_configuration,
                                     {options.names, options.certificate_lifetime},
                                     options.client_ca,
                                     [] { return std::chrono::system_clock::now(); },
                                     std::move(on_swap)};
  return std::unique_ptr<CertificateService>(
      new CertificateService(std::move(client), std::move(managed), *std::move(tls), log));
}

CertificateService::CertificateService(std::shared_ptr<kube::Client> client,
                                       ManagedCertificatesOptions options,
                                       std::shared_ptr<net::TlsSource> tls,
                                       const std::shared_ptr<Logger>& log)
    : client_(std::move(client)),
      tls_(std::move(tls)),
      certificates_([this](const kube::Call& call) { return client_->call(call); }, std::move(options), tls_,
                    log),
      pace_(certificates_.interval()) {}

CertificateService::~CertificateService() {
  client_->stop();
}

void CertificateService::start() {
  repeating_ = std::make_unique<Repeating>([this] { return pace_.after(certificates_.round().ok()); });
}

void CertificateService::look_now() {
  const auto now = std::chrono::steady_clock::now();
  auto due = looks_again_at_.load();
  const auto next = (now + kBetweenHastyLooks).time_since_epoch().count();
  if (now.time_since_epoch().count() < due || !looks_again_at_.compare_exchange_strong(due, next)) return;
  repeating_->wake();
}

void CertificateService::add_metrics(MetricRegistry& registry) const {
  const auto stats = [this] { return certificates_.stats(); };
  registry.add_gauge(
      {"nccl_env_certificates_last_success_timestamp_seconds",
       "When certificate, Secret and caBundle were last found or made as they should be; 0, and so "
       "an age beyond all limits, before the first time. With --managed-certificates, as the next three."},
      [stats](std::size_t) { return unix_seconds(stats().last_success); });
  registry.add_counter_reader({"nccl_env_certificates_errors_total",
                               "Looks at certificate, Secret and caBundle, about one in 30 s, that failed."},
                              [stats](std::size_t) { return static_cast<double>(stats().errors); });
  registry.add_counter_reader(
      {"nccl_env_ca_bundle_writes_total", "Webhook configurations whose caBundle was written."},
      [stats](std::size_t) { return static_cast<double>(stats().bundle_writes); });
  std::vector<std::vector<std::string>> steps;
  for (std::size_t i = 0; i < kCertificateSteps; ++i)
    steps.push_back({std::string(to_string(static_cast<CertificateStep>(i)))});
  registry.add_counter_reader({"nccl_env_certificate_steps_total",
                               "Changes that this replica made to the certificates in the Secret.",
                               {"step"},
                               std::move(steps)},
                              [stats](std::size_t i) { return static_cast<double>(stats().steps[i]); });
}

}  // namespace nccl_env::webhook
