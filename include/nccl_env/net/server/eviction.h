// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace nccl_env::net {

// Causes for which the server ends a connection before its deadline.
enum class Eviction {
  Unused,      // makes room: never finished a request
  Unfinished,  // makes room: its request is not whole, or its reply is not taken
  Idle,        // makes room: idle longest of its address
  Unread,      // a reply that its client did not take
};
constexpr std::size_t kEvictions = 4;
std::string_view to_string(Eviction cause);  // in lower case: the metric's label

}  // namespace nccl_env::net
