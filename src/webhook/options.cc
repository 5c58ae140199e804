// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "nccl_env/base/container.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/net/server/server.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/program/duration.h"
#include "nccl_env/program/help_formatter.h"
#include "nccl_env/program/resolver_options.h"
#include "nccl_env/program/store_option.h"
#include "nccl_env/program/usage.h"
#include "nccl_env/program/version.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::webhook {
namespace {

using namespace std::chrono_literals;

constexpr const char* kFooter = R"(
Example, on one machine:
  nccl-env-webhook --store dir:./store --listen 127.0.0.1:8443 --ops-listen 127.0.0.1:8080 --self-signed ./pki
  curl --cacert ./pki/ca.crt -H 'Content-Type: application/json' --data @review.json https://localhost:8443/admit

Endpoints: POST /admit (pods and bindings) and POST /validate (policies) on --listen;
GET /healthz, /readyz and /metrics on --ops-listen.

Exit codes: 0 after SIGTERM or SIGINT, 1 it could not start, 2 usage.)";

// Replicas look at the Secret once a second at most, and have to see a new certificate before the old one
// ends.
constexpr std::chrono::seconds kShortestLifetime = 10s;
// Short beside the ten years of the CA.
constexpr std::chrono::seconds kLongestLifetime = std::chrono::hours(24 * 365);

CLI::Validator secret_name(CertificateOptions& options) {
  return {[&options](std::string& text) {
            const std::size_t slash = text.find('/');
            options.name_space = text.substr(0, slash);
            options.secret = slash == text.npos ? "" : text.substr(slash + 1);
            const bool good = is_dns_subdomain(options.name_space) && is_dns_subdomain(options.secret);
            return good ? std::string() : "must be NAMESPACE/SECRET";
          },
          "NAMESPACE/SECRET"};
}

void add_certificate_options(CLI::App& app, CertificateOptions& options) {
  const std::function<void(const std::string&)> ignore = [](const std::string&) {};  // the checks store it
  auto* cert =
      app.add_option("--tls-cert", options.tls_cert, "Certificate chain, PEM; reloaded when it changes")
          ->type_name("FILE");
  auto* key =
      app.add_option("--tls-key", options.tls_key, "Its private key, PEM")->type_name("FILE")->needs(cert);
  cert->needs(key);
  auto* self =
      app.add_option("--self-signed", options.self_signed,
                     "Make ca.crt, tls.crt and tls.key in this directory and use them, for local runs")
          ->type_name("DIR")
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
      ->type_name("NAME")
      ->needs(managed)
      ->check([](const std::string& name) {
        return is_dns_subdomain(name) ? std::string() : "must be an object's name";
      })
      ->capture_default_str();
  app.add_option(
         "--tls-name,--self-signed-name", options.names,
         "DNS name or address in a certificate that is made; repeatable [localhost, 127.0.0.1, ::1 and "
         "nccl-env-webhook.NAMESPACE.svc]")
      ->type_name("NAME")
      ->excludes(cert);
  app.add_option_function("--certificate-lifetime", ignore, "Renewed after two thirds of it [90d]")
      ->needs(managed)
      ->check(program::duration(options.certificate_lifetime));
  app.add_option("--client-ca", options.client_ca,
                 "CA bundle, PEM: clients must show a certificate that it signed")
      ->type_name("FILE");
}

// Fills in the names that were not given. Returns a sentence if the options don't fit together, "" if they
// do.
std::string complete_certificate_options(CertificateOptions& options) {
  if (options.tls_cert.empty() && options.self_signed.empty() && !options.managed()) {
    return "One of --managed-certificates, --tls-cert with --tls-key, or --self-signed, is required";
  }
  if (options.certificate_lifetime < kShortestLifetime || options.certificate_lifetime > kLongestLifetime) {
    return "--certificate-lifetime must be 10s to 365d";
  }
  if (options.names.empty()) {
    const std::string name_space = options.managed() ? options.name_space : "nccl-env";
    options.names = {"localhost", "127.0.0.1", "::1", "nccl-env-webhook." + name_space + ".svc"};
  }
  return {};
}

// Options whose text is read once all are there.
struct OptionTexts {
  std::string store, level = "info", carrier = "File", table_age, grace;
};

void add_source_options(CLI::App& app, WebhookOptions& options, OptionTexts& texts) {
  app.add_option(
         "--store", texts.store,
         "Where policies, tables and namespaces come from: kubernetes, the API server; or dir:PATH, a "
         "directory of manifests")
      ->required()
      ->check(program::store_directory(options.store));
  app.add_option("--kubeconfig", options.kubeconfig,
                 "Kubeconfig that names the API server [in a pod: its service account; else $KUBECONFIG]")
      ->type_name("FILE");
  app.add_option("--max-table-age", texts.table_age, "Older tables count as none [3h]")
      ->check(program::duration(options.max_table_age));
  app.add_flag(
      "--allow-code-paths", options.policies.allow_code_paths,
      "Accept policies whose constants name plugins or libraries to load, programs to run or files of "
      "UCX to write");
  app.add_option("--carrier", texts.carrier,
                 "How what a node gives reaches pods whose policy has no delivery: File, nccl.conf; EnvFile, "
                 "variables that are not set where there is no value (Kubernetes 1.35, --resolver-image)")
      ->envname("NCCL_ENV_CARRIER")
      ->check(program::one_of({"File", "EnvFile"}))
      ->capture_default_str();
}

void add_serving_options(CLI::App& app, WebhookOptions& options, OptionTexts& texts) {
  app.add_option("--listen", options.listen,
                 "ADDR:PORT of the admission server (HTTPS); :PORT is all addresses, IPv4 and IPv6")
      ->type_name("ADDR:PORT")
      ->check(net::listen_problem)
      ->capture_default_str();
  app.add_option("--ops-listen", options.ops_listen, "ADDR:PORT of health and metrics (plain HTTP)")
      ->type_name("ADDR:PORT")
      ->check(net::listen_problem)
      ->capture_default_str();
  app.add_option("--drain-grace", texts.grace,
                 "After SIGTERM, idle connections are kept this long: the API server keeps them 90 s [95s]")
      ->check(program::duration(options.drain_grace));
  app.add_option("--threads", options.threads, "Server threads; 0: one per CPU that it may use, at most 8")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_option(
         "--max-connections", options.max_connections,
         "Connections to the admission server; each may take 150 KiB. When all are taken, the address "
         "with most of them loses one")
      ->check(CLI::Range(16, 65536))
      ->capture_default_str();
}

void add_log_options(CLI::App& app, OptionTexts& texts) {
  app.add_option("--log-level", texts.level, "Least level of the lines to write")
      ->capture_default_str()
      ->check(program::one_of({"debug", "info", "warn", "error", "off"}));
}

void group_options(CLI::App& app) {
  program::group_options(app, "Policies and tables",
                         {"--store", "--kubeconfig", "--max-table-age", "--carrier", "--allow-code-paths"});
  program::group_options(app, "Serving",
                         {"--listen", "--ops-listen", "--drain-grace", "--threads", "--max-connections"});
  program::group_options(app, "Certificate",
                         {"--tls-cert", "--tls-key", "--self-signed", "--managed-certificates",
                          "--webhook-configuration", "--tls-name", "--certificate-lifetime", "--client-ca"});
  program::group_options(app, "Log", {"--log-level"});
}

// Says why the options do not fit together, or "".
std::string problem_of(const WebhookOptions& options, const OptionTexts& texts) {
  if (texts.carrier != to_string(Carrier::File) && options.resolver.image.empty())
    return "--carrier EnvFile needs --resolver-image: an init container writes the file";
  if (options.listen == options.ops_listen && !options.listen.ends_with(":0"))
    return "--listen and --ops-listen: both are " + options.listen;
  if (!options.kubernetes && !options.certificates.managed() && !options.kubeconfig.empty())
    return "--kubeconfig is for --store kubernetes and --managed-certificates";
  return memory_problem(memory_input(options), container_limits().memory).value_or("");
}

int refused(const std::string& problem) {
  return program::refuse_usage({problem, "nccl-env-webhook --help"}, program::Reader::Log);
}

}  // namespace

MemoryInput memory_input(const WebhookOptions& options) {
  const net::ServerOptions server;
  MemoryInput input;
  input.threads = options.threads > 0 ? options.threads : default_threads();
  input.waiting_threads = server.waiting_threads;
  input.max_connections = options.max_connections;
  input.large_bodies = server.max_large_bodies;
  return input;
}

ParsedOptions parse_webhook_options(int argc, const char* const* argv) {
  WebhookOptions options;
  OptionTexts texts;
  CLI::App app{"Mutating admission webhook that gives RDMA pods the NCCL environment of their node.",
               "nccl-env-webhook"};
  app.footer("\nMemory, at most, with 8 threads: " + memory_formula({}) +
             ".\nIt refuses to start where that is more than the container's limit.\n" + kFooter);
  app.formatter(std::make_shared<program::HelpFormatter>());
  program::add_version(app, "nccl-env-webhook");
  app.add_flag(
      "--check", options.check,
      "Only check whether it could start: options, store and certificate. Exit 1 if something is wrong; "
      "nothing listens, and nothing is written to the API server");
  add_source_options(app, options, texts);
  add_serving_options(app, options, texts);
  add_certificate_options(app, options.certificates);
  add_log_options(app, texts);
  program::add_resolver_options(app, options.resolver);
  group_options(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    return {std::nullopt, error.get_exit_code() == 0
                              ? app.exit(error)
                              : refused(program::usage_problem(app, words, error.what()).problem)};
  }
  if (const std::string problem = complete_certificate_options(options.certificates); !problem.empty())
    return {std::nullopt, refused(problem)};
  options.kubernetes = texts.store == "kubernetes";
  if (const std::string problem = problem_of(options, texts); !problem.empty())
    return {std::nullopt, refused(problem)};
  options.log_level = *parse_log_level(texts.level);
  if (texts.carrier == to_string(Carrier::EnvFile)) options.policies.carrier = Carrier::EnvFile;
  return {std::move(options), 0};
}

}  // namespace nccl_env::webhook
