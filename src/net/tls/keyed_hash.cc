// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/tls/keyed_hash.h"

#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cassert>

#include "nccl_env/hex.h"
#include "tls/openssl.h"

namespace nccl_env::net {

KeyedHash keyed_hash(std::string_view key, std::string_view text) {
  KeyedHash hash{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  [[maybe_unused]] const unsigned char* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), hash.data(), nullptr);
  assert(made != nullptr);
  return hash;
}

Result<std::string> random_key() {
  KeyedHash key{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1)
    return Error{"random bytes: " + openssl_error()};
  return hex_of(key);
}

}  // namespace nccl_env::net
