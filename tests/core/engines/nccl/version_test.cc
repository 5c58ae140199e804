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

TEST(NcclVersion, AnImagesTagMayTellThatItSearchesForNoIndex) {
  for (const char* image :
       {"nvcr.io/nvidia/pytorch:24.03-py3", "nvcr.io/nvidia/nemo:23.11.framework@sha256:0a",
        "nvcr.io/nvidia/pytorch:23.10-py3", "registry:5000/a/torch:cuda12.2-nccl2.19.3-1"})
    EXPECT_TRUE(has_old_nccl(image)) << image;
  for (const char* image :
       {"nvcr.io/nvidia/pytorch:24.04-py3", "nvcr.io/nvidia/tritonserver:23.10-py3", "nvcr.io/nvidia/pytorch",
        "example.com/nvidia/pytorch:23.10-py3", "registry:23.10/pytorch", "a/torch:nccl2.21.5",
        "a/torch:nccl", "nvcr.io/nvidia/pytorch:latest", ""})
    EXPECT_FALSE(has_old_nccl(image)) << image;
  for (const auto& [version, old] :
       {std::pair("2.15.5-1", true), std::pair("2.21.5-1", false), std::pair("", false)})
    EXPECT_EQ(is_before_search(version), old) << version;
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
