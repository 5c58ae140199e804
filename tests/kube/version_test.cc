// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/version.h"

#include <gtest/gtest.h>

namespace nccl_env::kube::version_test {
namespace {

TEST(Version, IsReadAndCompared) {
  const auto version = parse_version(R"({"major":"1","minor":"36","gitVersion":"v1.36.2"})");
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(version->text, "v1.36.2");
  EXPECT_TRUE(version->supported());
  EXPECT_EQ(parse_version(R"({"major":"1","minor":"30+"})")->minor, 30);
  EXPECT_EQ(parse_version(R"({"major":"1","minor":"30+"})")->text, "v1.30");
  EXPECT_FALSE(parse_version(R"({"major":"1","minor":"29"})")->supported());
  EXPECT_TRUE(parse_version(R"({"major":"2","minor":"0"})")->supported());
}

TEST(Version, WhatIsNoneIsAnError) {
  for (const char* body : {"", "{}", "[]", R"({"major":"1"})", R"({"major":1,"minor":30})",
                           R"({"major":"x","minor":"30"})", R"({"major":"1","minor":"-3"})"})
    EXPECT_FALSE(parse_version(body).ok()) << body;
}

}  // namespace
}  // namespace nccl_env::kube::version_test
