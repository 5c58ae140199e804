// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/config.h"

#include <cstdlib>

#include "kubeconfig.h"
#include "nccl_env/base/file.h"

namespace nccl_env::kube {
namespace {

constexpr std::size_t kMaxKubeconfig = 1u << 20;  // files made by kubectl reach some tens of KiB
constexpr std::size_t kMaxNamespace = 253;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  return text;
}

}  // namespace

Surroundings Surroundings::current() {
  Surroundings found;
  found.service_host = variable("KUBERNETES_SERVICE_HOST");
  found.service_port = variable("KUBERNETES_SERVICE_PORT");
  found.kubeconfig = variable("KUBECONFIG");
  return found;
}

Result<ClientConfig> in_cluster_config(const Surroundings& surroundings) {
  if (surroundings.service_host.empty() || surroundings.service_port.empty())
    return Error{"not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"};
  const auto port = parse_port(surroundings.service_port);
  if (!port) return Error{"KUBERNETES_SERVICE_PORT: '" + surroundings.service_port + "' is not a port"};
  ClientConfig config;
  config.host = surroundings.service_host;
  config.port = *port;
  config.ca.file = surroundings.service_account / "ca.crt";
  config.token.file = surroundings.service_account / "token";
  const auto name_space = net::read_file(surroundings.service_account / "namespace", kMaxNamespace);
  if (!name_space) return Error{"the pod's service account: " + name_space.error().message};
  config.name_space = without_blanks(*name_space);
  return config;
}

Result<ClientConfig> load_config(const std::filesystem::path& kubeconfig, const Surroundings& surroundings) {
  std::filesystem::path file = kubeconfig;
  if (file.empty()) {
    if (!surroundings.service_host.empty()) return in_cluster_config(surroundings);
    if (surroundings.kubeconfig.empty())
      return Error{
          "no API server: this is not a pod of a cluster (KUBERNETES_SERVICE_HOST is not set), and no "
          "kubeconfig is given, neither as an option nor in $KUBECONFIG"};
    file = surroundings.kubeconfig;
  }
  const auto text = net::read_file(file, kMaxKubeconfig);
  if (!text) return Error{"kubeconfig " + text.error().message};
  auto config = read_kubeconfig(*text, file.parent_path());
  if (!config) return Error{"kubeconfig " + file.string() + ": " + config.error().message};
  return config;
}

}  // namespace nccl_env::kube
