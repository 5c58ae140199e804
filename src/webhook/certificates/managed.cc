// SPDX-License-Identifier: Apache-2.0
#include "certificates/managed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "certificates/secret.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/kube/cures.h"

namespace nccl_env::webhook {
namespace {

using Json = nlohmann::json;

constexpr int kTries = 5;  // replicas write the same object: each conflict means that another succeeded
constexpr const char* kFieldManager = "nccl-env-webhook-ca";

Error refused(const std::string& what, const kube::Reply& reply) {
  return {what + ": " + kube::status_message(reply)};
}

std::string plural(const std::string& kind) {
  return kind == "MutatingWebhookConfiguration" ? "mutatingwebhookconfigurations"
                                                : "validatingwebhookconfigurations";
}

}  // namespace

ManagedCertificates::ManagedCertificates(kube::ApiCall api, ManagedCertificatesOptions options,
                                         std::shared_ptr<net::TlsSource> serving, std::shared_ptr<Logger> log)
    : api_(std::move(api)),
      options_(std::move(options)),
      serving_(std::move(serving)),
      log_(std::move(log)) {}

std::chrono::milliseconds ManagedCertificates::interval() const {
  using std::chrono::milliseconds;
  return std::clamp(milliseconds(options_.rules.leaf_lifetime) / 10, milliseconds(1000),
                    milliseconds(30'000));
}

Status ManagedCertificates::round() {
  auto set = agree();
  Status outcome = set ? done() : Status(set.error());
  if (set) {
    const Status trusted = ensure_trusted(set->trusted());
    const Status served = serve(*set);
    if (!trusted || !served) outcome = !served ? served.error() : trusted.error();
    known_ = *std::move(set);
  }
  const std::string problem = outcome ? "" : outcome.error().message;
  if (!problem.empty() && problem != told_)
    log_->warn("certificates: not as they should be", {{"problem", problem}});
  told_ = problem;
  const std::lock_guard lock(mutex_);
  if (outcome) {
    stats_.last_success = options_.clock();
  } else {
    ++stats_.errors;
  }
  return outcome;
}

// Makes the changes to the Secret that are due, and returns its content.
Result<CertificateSet> ManagedCertificates::agree() {
  const std::string what = "Secret " + options_.name_space + "/" + options_.secret;
  for (int i = 0; i < kTries; ++i) {
    auto secret = read(path_in(options_.name_space, kube::kSecrets, options_.secret), what);
    if (!secret) return secret.error();
    const CertificateSet found = found_in(*secret);
    auto plan = plan_certificates(found, options_.rules, options_.clock(), seen_trusted(found));
    if (!plan) return plan.error();
    if (plan->steps.empty()) return std::move(plan->set);
    const auto stored = store(*secret, plan->set);
    if (!stored) return stored.error();
    if (!*stored) continue;
    report(*plan);
    return std::move(plan->set);
  }
  return Error{what + ": changed by others each time"};
}

// A Secret that was deleted or emptied asks for a new CA. Replicas go on serving the leaf that was in it, and
// clients trust it until they know the new CA.
CertificateSet ManagedCertificates::found_in(const std::optional<Json>& secret) const {
  CertificateSet found = secret ? read_certificate_secret(*secret) : CertificateSet();
  const net::SystemTime now = options_.clock();
  if (!net::can_sign(found.ca, now) && !leaf_is_trusted(found, now)) {
    found.leaf = known_.leaf;
    found.former_cas = known_.trusted();
  }
  return found;
}

// Looks at the configurations only where the next leaf relies on them; one may have been edited after the
// last round.
bool ManagedCertificates::seen_trusted(const CertificateSet& found) {
  const net::SystemTime now = options_.clock();
  const bool replaced = net::can_sign(found.ca, now) && !found.former_cas.empty() &&
                        !net::is_valid(found.leaf, found.ca.certificate, now);
  if (!replaced || !ensure_trusted(found.trusted())) return false;
  return now - *trusted_.since >= interval();
}

Result<std::optional<Json>> ManagedCertificates::read(const std::string& target, const std::string& what) {
  const auto reply = api_({"GET", target, "", "", kube::Call().deadline});
  if (!reply) return Error{what + ": " + reply.error().message};
  if (reply->status == 404) return std::optional<Json>();
  if (reply->status != 200) return refused(what, *reply);
  Json object = parse_json(reply->body);
  if (!object.is_object()) return Error{what + ": the API server's answer is not an object"};
  return std::optional(std::move(object));
}

// False: somebody else was first.
Result<bool> ManagedCertificates::store(const std::optional<Json>& secret, const CertificateSet& set) {
  kube::Call call;
  call.method = secret ? "PUT" : "POST";
  call.target = secret ? path_in(options_.name_space, kube::kSecrets, options_.secret)
                       : path_in(options_.name_space, kube::kSecrets);
  call.content_type = kube::kJson;
  // With the resourceVersion that was read: the API server takes it only if nothing has changed.
  call.body =
      write_certificate_secret(secret.value_or(Json()), set, options_.name_space, options_.secret).dump();
  const auto reply = api_(call);
  const std::string what = "Secret " + options_.name_space + "/" + options_.secret + ", written";
  if (!reply) return Error{what + ": " + reply.error().message};
  if (reply->status == 200 || reply->status == 201) return true;
  const bool gone = secret && reply->status == 404;
  if (reply->status == 409 || gone) return false;
  if (!secret && reply->status == kube::kForbidden)
    return Error{refused(what, *reply).message + ". Do: " + std::string(kube::kSecretAgain)};
  return refused(what, *reply);
}

void ManagedCertificates::report(const CertificatePlan& plan) {
  for (const CertificateStep step : plan.steps) {
    log_->info("certificates: changed", {{"step", to_string(step)}});
    const std::lock_guard lock(mutex_);
    ++stats_.steps[static_cast<std::size_t>(step)];
  }
}

Status ManagedCertificates::ensure_trusted(const std::string& trusted) {
  bool written = false;
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    const auto ensured = ensure_trusted_by(kind, trusted);
    if (!ensured) {
      trusted_ = {};
      return ensured.error();
    }
    written = written || *ensured;
  }
  if (written || trusted_.bundle != trusted) trusted_ = {trusted, options_.clock()};
  return done();
}

// True if it had to be written.
Result<bool> ManagedCertificates::ensure_trusted_by(const std::string& kind, const std::string& trusted) {
  const std::string what = kind + " " + options_.configuration;
  kube::Call call;
  call.method = "PATCH";
  call.content_type = kube::kApply;
  const std::string target = kube::path_of({kube::kHookGroup, plural(kind)}, options_.configuration);
  call.target = target + "?force=true&fieldManager=" + kFieldManager;
  for (int i = 0; i < kTries; ++i) {
    auto configuration = read(target, what);
    if (!configuration) return configuration.error();
    if (!*configuration) return false;
    (**configuration)["kind"] = kind;
    auto document = ca_bundle_apply(**configuration, trusted);
    if (!document) return false;
    call.body = *std::move(document);
    const auto reply = api_(call);
    if (!reply) return Error{what + ": " + reply.error().message};
    if (reply->status == 200) {
      log_->info("certificates: caBundle written", {{"kind", kind}, {"name", options_.configuration}});
      const std::lock_guard lock(mutex_);
      ++stats_.bundle_writes;
      return true;
    }
    if (reply->status != 409) return refused(what + ", caBundle", *reply);
  }
  return Error{what + ": changed by others each time"};
}

Status ManagedCertificates::serve(const CertificateSet& set) {
  const auto client_ca = net::read_client_ca(options_.client_ca);
  if (!client_ca) return client_ca.error();
  const auto swapped = serving_->swap({set.leaf.certificate, set.leaf.key, *client_ca});
  if (!swapped) return swapped.error();
  if (*swapped == net::TlsSource::Reload::Swapped) options_.on_swap();
  const std::lock_guard lock(mutex_);
  stats_.serving = true;
  return done();
}

ManagedCertificatesStats ManagedCertificates::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace nccl_env::webhook
