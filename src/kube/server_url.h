// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::kube {

struct ServerUrl {
  std::string host;  // IPv6 without brackets
  std::uint16_t port = 443;
  std::string path;  // "" or "/a/b", without a slash at its end
};

// https://HOST[:PORT][/PATH], and nothing else.
Result<ServerUrl> parse_server_url(std::string_view url);

// 1-65535, digits only.
std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace nccl_env::kube
