// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "nccl_env/kube/config.h"

namespace nccl_env::kube {

// Reads a context of a kubeconfig, YAML or JSON; "": its current one. Files that it names are taken from
// `base` on, and have to be there only when a Client is made. As in kubectl, inline data beats a file, and a
// token's file the token. A credential plugin is read here and not run. Refused, because acting without them
// would be someone else: auth-provider plugins, basic authentication, impersonation; two ways to be someone;
// and unchecked certificates, proxies and plain http.
Result<ClientConfig> read_kubeconfig(std::string_view text, const std::filesystem::path& base,
                                     const std::string& context = "");

}  // namespace nccl_env::kube
