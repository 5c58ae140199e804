// SPDX-License-Identifier: Apache-2.0
// Where the API server is, whom to trust, and who we are: from a kubeconfig or from the pod we run in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nccl_env/result.h"

namespace nccl_env::kube {

// A text, or the file that holds it; Client follows the file's changes.
struct TextSource {
  std::string text;
  std::filesystem::path file;  // "": `text` counts

  [[nodiscard]] bool empty() const { return text.empty() && file.empty(); }
};

struct ClientConfig {
  std::string host;  // a DNS name or an address, IPv6 without brackets
  std::uint16_t port = 443;
  std::string path_prefix;             // before every target; "" or "/a/b"
  std::string tls_name;                // name in the server's certificate; "": the host
  TextSource ca;                       // PEM; empty: the system's authorities
  TextSource certificate;              // PEM, our own; empty: none
  TextSource key;                      // PEM, its key
  TextSource token;                    // bearer token; empty: none
  std::string name_space = "default";  // of the context, or of the pod
  std::string user_agent = "nccl-env";
};

// The parts of the environment that load_config() uses; `current()` reads the variables.
struct Surroundings {
  std::string service_host;  // $KUBERNETES_SERVICE_HOST
  std::string service_port;  // $KUBERNETES_SERVICE_PORT
  std::string kubeconfig;    // $KUBECONFIG
  std::filesystem::path service_account = "/var/run/secrets/kubernetes.io/serviceaccount";

  static Surroundings current();
};

// For our pod: the API server's service, and the service account's token, ca.crt and namespace.
Result<ClientConfig> in_cluster_config(const Surroundings& surroundings);

// `kubeconfig` is a file; "": the cluster that we run in, if any, else the file that $KUBECONFIG names.
Result<ClientConfig> load_config(const std::filesystem::path& kubeconfig,
                                 const Surroundings& surroundings = Surroundings::current());

}  // namespace nccl_env::kube
