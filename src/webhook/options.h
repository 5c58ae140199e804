// SPDX-License-Identifier: Apache-2.0
// The webhook's command line.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "memory_budget.h"
#include "nccl_env/base/log.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env::webhook {

// Source of the serving certificate: files, one made for this machine, or one that replicas manage.
struct CertificateOptions {
  std::filesystem::path tls_cert, tls_key;  // files
  std::filesystem::path self_signed;        // a directory
  std::string name_space, secret;           // of --managed-certificates
  std::filesystem::path client_ca;          // with any of them; "": clients show no certificate
  std::vector<std::string> names;           // of a certificate that is made
  std::string webhook_configuration = "nccl-env";
  std::chrono::seconds certificate_lifetime = std::chrono::hours(24 * 90);

  [[nodiscard]] bool managed() const { return !secret.empty(); }
};

struct WebhookOptions {
  bool check = false;                // only look whether it could start
  bool kubernetes = false;           // --store kubernetes
  std::filesystem::path store;       // of --store dir:PATH
  std::filesystem::path kubeconfig;  // "": in the cluster around us, or $KUBECONFIG
  std::string listen = ":8443";
  std::string ops_listen = ":8080";
  CertificateOptions certificates;
  std::chrono::seconds max_table_age{3 * 3600};
  std::chrono::seconds drain_grace{95};
  int threads = 0;  // 0: default_threads()
  int max_connections = 1024;
  LogLevel log_level = LogLevel::Info;
  PolicyOptions policies;
  Resolver resolver;  // its image is "" without --resolver-image
};

// The options, or the exit code to leave with: --help and --version (0), a usage error (2, said on stderr).
// Options that may need more memory than the container has are a usage error.
struct ParsedOptions {
  std::optional<WebhookOptions> options;
  int exit_code = 0;
};
ParsedOptions parse_webhook_options(int argc, const char* const* argv);

// Translates the options for memory_bound().
MemoryInput memory_input(const WebhookOptions& options);

}  // namespace nccl_env::webhook
