// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "nccl_env/core/engines/nccl/version.h"

namespace nccl_env::version_test {
namespace {

using ::testing::HasSubstr;

TEST(NcclVersion, TextsThatPeopleHave) {
  for (const char* text : {"2.21.5", "v2.21.5-1", "v2.21.5", "2.21.5-1", "2.21.5+cuda12.4"}) {
    const auto version = parse_nccl_version(text);
    ASSERT_TRUE(version) << text;
    EXPECT_EQ(*version, (NcclVersion{2, 21, 5})) << text;
  }
  EXPECT_EQ(parse_nccl_version("2.22").value(), (NcclVersion{2, 22, 0}));
  EXPECT_EQ(format_nccl_version({2, 22, 0}), "2.22.0");
}

TEST(NcclVersion, TheEndsOfWhatIsKnown) {
  for (const char* text : {"2.18", "2.32.9"})
    EXPECT_FALSE(is_newer_than_known(parse_nccl_version(text).value())) << text;
  EXPECT_TRUE(is_newer_than_known(parse_nccl_version("2.33.1+cuda13.0").value()));
  for (const char* text : {"2.17.1", "1.30.0", "3.18.0"}) {
    const auto version = parse_nccl_version(text);
    ASSERT_FALSE(version) << text;
    EXPECT_THAT(version.error().message, HasSubstr("only those of 2.18 to 2.32")) << text;
  }
}

TEST(NcclVersion, OtherTextIsRefused) {
  const std::string long_number(100000, '9');
  for (const std::string& text :
       {std::string(), std::string("2"), std::string("2."), std::string("2.21."), std::string("2.21.5 "),
        std::string(" 2.21.5"), std::string("2.21.5.1"), std::string("2.-21"), std::string("2.21.5-"),
        std::string("2.21.5+"), std::string("2.21.5+cuda"), std::string("latest"), "2." + long_number,
        "2.21.5-" + long_number}) {
    const auto version = parse_nccl_version(text);
    ASSERT_FALSE(version) << text.substr(0, 20);
    EXPECT_THAT(version.error().message, HasSubstr("is not of the form 2.21.5")) << text.substr(0, 20);
    EXPECT_LT(version.error().message.size(), 200U);
  }
}

}  // namespace
}  // namespace nccl_env::version_test
