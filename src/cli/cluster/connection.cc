// SPDX-License-Identifier: Apache-2.0
#include "cluster/connection.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "nccl_env/kube/config.h"
#include "nccl_env/program/version.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::app {
namespace {

std::filesystem::path kubeconfig_of(const std::string& given) {
  if (!given.empty()) return given;
  const kube::Surroundings around = kube::Surroundings::current();
  if (!around.kubeconfig.empty()) return around.kubeconfig;
  const char* home = std::getenv("HOME");
  if (!around.service_host.empty() || !home) return {};
  const std::filesystem::path usual = std::filesystem::path(home) / ".kube" / "config";
  std::error_code ignored;
  return std::filesystem::exists(usual, ignored) ? usual : std::filesystem::path();
}

}  // namespace

Result<std::unique_ptr<kube::Client>> connect_cluster(const std::string& kubeconfig,
                                                      const std::string& context) {
  auto config = kube::load_config(kubeconfig_of(kubeconfig), kube::Surroundings::current(), context);
  if (!config) return config.error();
  config->user_agent = "nccl-env/" + std::string(kVersion);
  std::signal(SIGPIPE, SIG_IGN);
  return kube::Client::make(*std::move(config), Logger::to_stderr(LogLevel::Off));
}

Result<Connection> connect_namespace(const ClusterArguments& arguments) {
  auto client = connect_cluster(arguments.kubeconfig, arguments.context);
  if (!client) return client.error();
  Connection connection{*std::move(client), arguments.name_space};
  if (connection.name_space.empty()) connection.name_space = connection.client->config().name_space;
  if (!store::is_object_name(connection.name_space))
    return Error{"namespace: '" + connection.name_space + "' is no namespace's name"};
  return connection;
}

}  // namespace nccl_env::app
