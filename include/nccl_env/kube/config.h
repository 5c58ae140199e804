// SPDX-License-Identifier: Apache-2.0
// Where the API server is, whom to trust, and who we are: from a kubeconfig or from the pod we run in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

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

// Reads the current context of a kubeconfig, YAML or JSON. Paths in it are relative to `base`; the files have
// to be there only when a Client is made. As in kubectl, inline data counts before a file, but tokenFile
// counts before token. Credential plugins, auth-provider, basic authentication and impersonation are refused,
// because without them we would act as someone else. Unchecked certificates, proxies and plain http are
// refused, too.
Result<ClientConfig> read_kubeconfig(std::string_view text, const std::filesystem::path& base);

// `kubeconfig` is a file; "": the cluster that we run in, if any, else the file that $KUBECONFIG names.
Result<ClientConfig> load_config(const std::filesystem::path& kubeconfig,
                                 const Surroundings& surroundings = Surroundings::current());

}  // namespace nccl_env::kube
