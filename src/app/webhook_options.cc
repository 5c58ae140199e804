// SPDX-License-Identifier: Apache-2.0
#include "webhook_options.h"

#include <CLI/CLI.hpp>

#include "nccl_env/app/version.h"

namespace nccl_env::app {
namespace {

constexpr const char* kFooter = R"(
Example, on one machine:
  nccl-env-webhook --store dir:./store --listen 127.0.0.1:8443 --ops-listen 127.0.0.1:8080 --self-signed ./pki
  curl --cacert ./pki/ca.crt -H 'Content-Type: application/json' --data @review.json https://localhost:8443/admit

Endpoints: POST /admit (pods and bindings) and POST /validate (policies) on --listen;
GET /healthz, /readyz and /metrics on --ops-listen.

Exit codes: 0 after SIGTERM or SIGINT, 1 it could not start, 2 usage.)";

// "90", "90s", "15m", "3h".
std::string read_duration(const std::string& text, std::chrono::seconds& into) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string unit = text.substr(digits);
  const std::int64_t factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (digits == 0 || digits > 9 || factor == 0) return "must be a number with s, m or h, such as 95s or 3h";
  into = std::chrono::seconds(std::stoll(text.substr(0, digits)) * factor);
  return {};
}

CLI::Validator duration(std::chrono::seconds& into) {
  return {[&into](std::string& text) { return read_duration(text, into); }, "DURATION"};
}

}  // namespace

ParsedOptions parse_webhook_options(int argc, const char* const* argv) {
  WebhookOptions options;
  std::string store, level = "info", table_age, grace;
  CLI::App app{"Mutating admission webhook that gives RDMA pods the NCCL environment of their node.",
               "nccl-env-webhook"};
  app.footer(kFooter);
  app.set_version_flag("--version", std::string(kVersion));
  app.add_option(
         "--store", store,
         "Where policies, tables and namespaces come from: kubernetes, the API server; or dir:PATH, a "
         "directory of manifests")
      ->required()
      ->check([](const std::string& text) {
        const bool known = text == "kubernetes" || (text.starts_with("dir:") && text.size() > 4);
        return known ? std::string() : "must be kubernetes or dir:PATH";
      });
  app.add_option("--kubeconfig", options.kubeconfig,
                 "How the API server is reached [in a pod: its service account; else $KUBECONFIG]");
  app.add_option("--listen", options.listen,
                 "ADDR:PORT of the admission server (HTTPS); port 0: the kernel chooses")
      ->capture_default_str();
  app.add_option("--ops-listen", options.ops_listen, "ADDR:PORT of health and metrics (plain HTTP)")
      ->capture_default_str();
  auto* cert =
      app.add_option("--tls-cert", options.tls_cert, "Certificate chain, PEM; reloaded when it changes");
  auto* key = app.add_option("--tls-key", options.tls_key, "Its private key, PEM")->needs(cert);
  cert->needs(key);
  app.add_option("--client-ca", options.client_ca,
                 "CA bundle, PEM: clients must show a certificate that it signed");
  auto* self =
      app.add_option("--self-signed", options.self_signed,
                     "Make ca.crt, tls.crt and tls.key in this directory and use them, for local runs")
          ->excludes(cert);
  app.add_option("--self-signed-name", options.self_signed_names,
                 "DNS name or address in the self-signed certificate; repeatable")
      ->needs(self)
      ->capture_default_str();
  app.add_option("--max-table-age", table_age, "Older tables count as none [3h]")
      ->check(duration(options.max_table_age));
  app.add_option("--drain-grace", grace,
                 "After SIGTERM, idle connections are kept this long: the API server keeps them 90 s [95s]")
      ->check(duration(options.drain_grace));
  app.add_option("--threads", options.threads, "Server threads; 0: one per CPU")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_option("--capture", options.capture,
                 "Save each review and its answer in this directory. Reviews hold env values: secrets may be "
                 "among them");
  app.add_option("--log-level", level, "debug, info, warn, error or off")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return parse_log_level(text) ? std::string() : "must be debug, info, warn, error or off";
      });
  app.add_flag("--allow-code-paths", options.allow_code_paths,
               "Accept policies whose constants name plugins or libraries to load");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error) == 0 ? 0 : 2};
  }
  if (cert->empty() && self->empty()) {
    std::cerr << "One of --tls-cert with --tls-key, or --self-signed, is required.\nRun with --help for more "
                 "information.\n";
    return {std::nullopt, 2};
  }
  options.kubernetes = store == "kubernetes";
  if (!options.kubernetes) options.store = store.substr(4);
  if (!options.kubernetes && !options.kubeconfig.empty()) {
    std::cerr << "--kubeconfig is for --store kubernetes.\nRun with --help for more information.\n";
    return {std::nullopt, 2};
  }
  options.log_level = *parse_log_level(level);
  return {std::move(options), 0};
}

}  // namespace nccl_env::app
