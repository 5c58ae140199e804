// SPDX-License-Identifier: Apache-2.0
#include "cluster/connection.h"

#include <csignal>

#include "cluster/kubectl.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli {

Result<std::shared_ptr<kube::ApiServer>> connect_cluster(const ClusterArguments& arguments) {
  if (arguments.instead) return arguments.instead;
  if (std::string path = find_program("kubectl"); !path.empty())
    return std::shared_ptr<kube::ApiServer>(
        std::make_shared<Kubectl>(std::move(path), arguments.kubeconfig, arguments.context));
  const kube::Surroundings around = kube::Surroundings::current();
  const std::string& file = arguments.kubeconfig.empty() ? around.kubeconfig : arguments.kubeconfig;
  if (!arguments.context.empty() || (file.empty() && around.service_host.empty()))
    return Error{
        "clusters are asked through kubectl, and there is none in $PATH: install it (https://kubernetes.io/"
        "docs/tasks/tools), or name a kubeconfig whose current context has a token or a certificate"};
  auto config = kube::load_config(file, around);
  if (!config) return config.error();
  config->user_agent = "nccl-env/" + std::string(program::kVersion);
  std::signal(SIGPIPE, SIG_IGN);
  auto client = kube::Client::make(*std::move(config), Logger::to_stderr(LogLevel::Off));
  if (!client) return client.error();
  return std::shared_ptr<kube::ApiServer>(*std::move(client));
}

Result<Connection> connect_namespace(const ClusterArguments& arguments) {
  auto server = connect_cluster(arguments);
  if (!server) return server.error();
  auto name_space = arguments.name_space.empty() ? (*server)->name_space() : arguments.name_space;
  if (!name_space) return name_space.error();
  if (!is_dns_subdomain(*name_space))
    return Error{"namespace: '" + *name_space + "' is not a namespace's name"};
  return Connection{*std::move(server), *std::move(name_space)};
}

}  // namespace nccl_env::cli
