// SPDX-License-Identifier: Apache-2.0
// Where the API server is, whom to trust, and who we are: from a kubeconfig or from the pod we run in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nccl_env/result.h"

namespace nccl_env::kube {

// A text in place, or the file that holds it now: files are followed (Client).
struct TextSource {
  std::string text;
  std::filesystem::path file;  // "": `text` it is

  [[nodiscard]] bool empty() const { return text.empty() && file.empty(); }
};

struct ClientConfig {
  std::string host;  // a DNS name or an address, IPv6 without brackets
  std::uint16_t port = 443;
  std::string path_prefix;             // before every target; "" or "/a/b"
  std::string tls_name;                // what the server's certificate must name; "": the host
  TextSource ca;                       // PEM; empty: the system's authorities
  TextSource certificate;              // PEM, our own; empty: none
  TextSource key;                      // PEM, its key
  TextSource token;                    // bearer token; empty: none
  std::string name_space = "default";  // of the context, or of the pod
  std::string user_agent = "nccl-env";
};

// The parts of the surroundings that decide; `current()` reads the environment's variables.
struct Surroundings {
  std::string service_host;  // $KUBERNETES_SERVICE_HOST
  std::string service_port;  // $KUBERNETES_SERVICE_PORT
  std::string kubeconfig;    // $KUBECONFIG
  std::filesystem::path service_account = "/var/run/secrets/kubernetes.io/serviceaccount";

  static Surroundings current();
};

// The service of the API server and the pod's service account: its token and ca.crt, followed; its namespace.
Result<ClientConfig> in_cluster_config(const Surroundings& surroundings);

// `kubeconfig`: a file. "": in a cluster if there is one around us, else the file that $KUBECONFIG names.
Result<ClientConfig> load_config(const std::filesystem::path& kubeconfig,
                                 const Surroundings& surroundings = Surroundings::current());

}  // namespace nccl_env::kube
