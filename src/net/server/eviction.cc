// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/server/eviction.h"

#include <array>

namespace nccl_env::net {

std::string_view to_string(Eviction cause) {
  constexpr std::array<std::string_view, kEvictions> kNames{"unused", "unfinished", "idle", "unread"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace nccl_env::net
