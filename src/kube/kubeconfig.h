// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/kube/config.h"

namespace nccl_env::kube {

// Reads the current context of a kubeconfig, YAML or JSON. Paths in it are relative to `base`; the files have
// to be there only when a Client is made. As in kubectl, inline data counts before a file, but tokenFile
// counts before token. Credential plugins, auth-provider, basic authentication and impersonation are refused,
// because without them we would act as someone else. Unchecked certificates, proxies and plain http are
// refused, too.
Result<ClientConfig> read_kubeconfig(std::string_view text, const std::filesystem::path& base);

// 1-65535, digits only.
std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace nccl_env::kube
