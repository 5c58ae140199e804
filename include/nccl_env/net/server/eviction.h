// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace nccl_env::net {

// Causes for which the server ends a connection before its deadline.
enum class Eviction {
  Unused,  // makes room: never finished a request
  Idle,    // makes room: idle longest, and none was Unused
  Share,   // makes room for one of the same address, which already has its share
  Silent,  // no first request in time, and more than half of the connections are open
  Unread,  // a reply that its client did not take
};
constexpr std::size_t kEvictions = 5;
std::string_view to_string(Eviction cause);  // in lower case: the metric's label

}  // namespace nccl_env::net
