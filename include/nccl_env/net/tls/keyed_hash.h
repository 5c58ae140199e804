// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-256 (RFC 2104), for pseudonyms that only the owner of the key can compute.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::net {

inline constexpr std::size_t kHashBytes = 32;  // of a hash, and of a key that nobody can guess
using KeyedHash = std::array<std::uint8_t, kHashBytes>;

KeyedHash keyed_hash(std::string_view key, std::string_view text);
// Returns kHashBytes random bytes from the system, in hex; an error if it has none.
Result<std::string> random_key();

}  // namespace nccl_env::net
