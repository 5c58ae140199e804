// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/tls/keyed_hash.h"

#include <gtest/gtest.h>

#include "nccl_env/hex.h"

namespace nccl_env::keyed_hash_test {
namespace {

// RFC 4231, test case 2.
TEST(KeyedHash, IsThatOfTheRfc) {
  EXPECT_EQ(hex_of(net::keyed_hash("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(KeyedHash, KeysAreRandom) {
  const auto one = net::random_key(), other = net::random_key();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->size(), 2 * net::kHashBytes);
  EXPECT_NE(*one, *other);
}

}  // namespace
}  // namespace nccl_env::keyed_hash_test
