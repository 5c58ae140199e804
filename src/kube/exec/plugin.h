// SPDX-License-Identifier: Apache-2.0
// What a kubeconfig says of a credential plugin, and what the plugin is told in KUBERNETES_EXEC_INFO. Source:
// the reference of client.authentication.k8s.io/v1, and how client-go reads it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/kube/config.h"

namespace nccl_env::kube {

// `exec` of a user; `cluster` is the one that is asked. A command with a slash is taken from `base` on.
Result<ExecPlugin> read_exec_plugin(const nlohmann::json& exec, const nlohmann::json& cluster,
                                    const std::filesystem::path& base);

// The ExecCredential for the plugin `config.exec`. `ca`: PEM, "" for the system's authorities.
std::string exec_info(const ClientConfig& config, const std::string& ca, bool interactive);

}  // namespace nccl_env::kube
