// SPDX-License-Identifier: Apache-2.0
#include "certificate_options.h"

#include <CLI/CLI.hpp>

#include "nccl_env/program/duration_option.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::app {
namespace {

using namespace std::chrono_literals;

// Replicas look at the Secret once a second at most, and have to see a new certificate before the old one
// ends.
constexpr std::chrono::seconds kShortestLifetime = 10s;

CLI::Validator secret_name(CertificateOptions& options) {
  return {[&options](std::string& text) {
            const std::size_t slash = text.find('/');
            options.name_space = text.substr(0, slash);
            options.secret = slash == text.npos ? "" : text.substr(slash + 1);
            const bool good =
                store::is_object_name(options.name_space) && store::is_object_name(options.secret);
            return good ? std::string() : "must be NAMESPACE/SECRET";
          },
          "NAMESPACE/SECRET"};
}

}  // namespace

void add_certificate_options(CLI::App& app, CertificateOptions& options) {
  const std::function<void(const std::string&)> ignore = [](const std::string&) {};  // the checks keep it
  auto* cert =
      app.add_option("--tls-cert", options.tls_cert, "Certificate chain, PEM; reloaded when it changes");
  auto* key = app.add_option("--tls-key", options.tls_key, "Its private key, PEM")->needs(cert);
  cert->needs(key);
  auto* self =
      app.add_option("--self-signed", options.self_signed,
                     "Make ca.crt, tls.crt and tls.key in this directory and use them, for local runs")
          ->excludes(cert);
  auto* managed =
      app.add_option_function(
             "--managed-certificates", ignore,
             "Be the certificate authority: keep CA and certificate in this Secret, renew them, and keep "
             "caBundle of the webhook configurations as it has to be")
          ->check(secret_name(options))
          ->excludes(cert)
          ->excludes(self);
  app.add_option("--webhook-configuration", options.webhook_configuration,
                 "Name of the Mutating- and ValidatingWebhookConfiguration that get the caBundle")
      ->needs(managed)
      ->check([](const std::string& name) {
        return store::is_object_name(name) ? std::string() : "must be an object's name";
      })
      ->capture_default_str();
  app.add_option(
         "--tls-name,--self-signed-name", options.names,
         "DNS name or address in a certificate that is made; repeatable [localhost, 127.0.0.1, ::1 and "
         "nccl-env-webhook.NAMESPACE.svc]")
      ->excludes(cert);
  app.add_option_function("--certificate-lifetime", ignore, "Renewed after two thirds of it [90d]")
      ->needs(managed)
      ->check(duration(options.certificate_lifetime));
  app.add_option_function("--ca-lifetime", ignore, "Rolled over after two thirds of it [365d]")
      ->needs(managed)
      ->check(duration(options.ca_lifetime));
  app.add_option("--client-ca", options.client_ca,
                 "CA bundle, PEM: clients must show a certificate that it signed");
}

std::string complete_certificate_options(CertificateOptions& options) {
  if (options.tls_cert.empty() && options.self_signed.empty() && !options.managed()) {
    return "One of --managed-certificates, --tls-cert with --tls-key, or --self-signed, is required.";
  }
  if (options.certificate_lifetime < kShortestLifetime ||
      options.ca_lifetime < options.certificate_lifetime) {
    return "--certificate-lifetime must be at least 10s, and --ca-lifetime not shorter than that.";
  }
  if (options.names.empty()) {
    const std::string name_space = options.managed() ? options.name_space : "nccl-env";
    options.names = {"localhost", "127.0.0.1", "::1", "nccl-env-webhook." + name_space + ".svc"};
  }
  return {};
}

}  // namespace nccl_env::app
