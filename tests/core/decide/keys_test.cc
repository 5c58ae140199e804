// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "support/places.h"

namespace nccl_env::keys_test {
namespace {

// An annotation whose prefix is not there could be written by anybody.
TEST(NodeKeys, AreGuardedAgainstEveryoneElse) {
  std::ifstream file(tests::in_source("/manifests/base/bound-pods.yaml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "k.startsWith('";
  std::map<std::string, int, std::less<>> guarded;  // prefix -> times: of added keys, of removed ones
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    ++guarded[text.substr(from, text.find('\'', from) - from)];
  }
  EXPECT_EQ(guarded.size(), node_keys().size());
  for (const NodeKeys& keys : node_keys()) EXPECT_EQ(guarded[std::string(keys.prefix)], 2) << keys.prefix;
  for (const std::string_view key : {key::kStatus, key::kNode})
    EXPECT_NE(text.find("k == '" + std::string(key) + "'"), text.npos) << key;
}

}  // namespace
}  // namespace nccl_env::keys_test
