// SPDX-License-Identifier: Apache-2.0
// Where the serving certificate comes from: files, one made for this machine, or one that replicas manage.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nccl_env::app {

struct CertificateOptions {
  std::filesystem::path tls_cert, tls_key;  // files
  std::filesystem::path self_signed;        // a directory
  std::string name_space, secret;           // of --managed-certificates
  std::filesystem::path client_ca;          // with any of them; "": clients show no certificate
  std::vector<std::string> names;           // of a certificate that is made
  std::string webhook_configuration = "nccl-env";
  std::chrono::seconds certificate_lifetime = std::chrono::hours(24 * 90);
  std::chrono::seconds ca_lifetime = std::chrono::hours(24 * 365);

  [[nodiscard]] bool managed() const { return !secret.empty(); }
};

// Options of `app` into `options`; complete_certificate_options() after the parsing: a sentence if they don't
// fit together, "" if they do; names that were not given are filled in.
void add_certificate_options(CLI::App& app, CertificateOptions& options);
std::string complete_certificate_options(CertificateOptions& options);

}  // namespace nccl_env::app
