// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "nccl_env/core/text/glob.h"

namespace nccl_env::glob_test {
namespace {

// More pairs than anyone could write stand against fnmatch below.
TEST(Glob, MatchesTheWholeTextAndSlashesToo) {
  EXPECT_TRUE(glob_matches("*/hca*", "rdma/hca"));
  EXPECT_FALSE(glob_matches("rdma/hca", "rdma/hca1"));
  EXPECT_FALSE(glob_matches("RDMA/*", "rdma/hca"));
  EXPECT_TRUE(glob_matches("mlx5_[1-8]", "mlx5_8"));
  EXPECT_FALSE(glob_matches("mlx5_[1-8]", "mlx5_10"));
}

TEST(Glob, OfManyStarsIsAnsweredAtOnce) {
  std::string glob;
  for (int i = 0; i < 500; ++i) glob += "*a";
  EXPECT_FALSE(glob_matches(glob + "b", std::string(20000, 'a')));
}

// The C library as the oracle, over a small alphabet so that many pairs match.
TEST(Glob, AgreesWithFnmatch) {
  std::mt19937 random(20261120);
  const auto draw = [&](std::string_view alphabet, std::size_t longest) {
    std::string out(std::uniform_int_distribution<std::size_t>(0, longest)(random), ' ');
    for (char& c : out)
      c = alphabet[std::uniform_int_distribution<std::size_t>(0, alphabet.size() - 1)(random)];
    return out;
  };
  int matches = 0;
  for (int i = 0; i < 300000; ++i) {
    const std::string glob = draw("ab/*?[]!-^\\c", 8);
    const std::string text = draw("ab/[]-c", 5);
    const bool expected = fnmatch(glob.c_str(), text.c_str(), 0) == 0;
    matches += expected ? 1 : 0;
    ASSERT_EQ(glob_matches(glob, text), expected) << "glob " << glob << " text " << text;
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace nccl_env::glob_test
