// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/base64.h"

#include <gtest/gtest.h>

namespace nccl_env::kube::base64_test {
namespace {

TEST(Base64, DecodesAndEncodesTheVectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9vYmE=", "fooba"}, {"/+8=", "\xff\xef"}};
  for (const auto& [text, plain] : vectors) {
    EXPECT_EQ(decode_base64(text), plain) << text;
    EXPECT_EQ(encode_base64(plain), text);
  }
}

TEST(Base64, DecodesWhatItEncodedOfEachLengthAndByte) {
  for (std::size_t at = 0; at < 70 * 256; ++at) {
    std::string plain(at / 256, 'x');
    if (!plain.empty()) plain[at % plain.size()] = static_cast<char>(at % 256);
    EXPECT_EQ(decode_base64(encode_base64(plain)), plain);
  }
}

TEST(Base64, TakesLineBreaksBetweenGroups) {
  EXPECT_EQ(decode_base64("Zm9v\r\nYmFy\n"), "foobar");
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zm9", "Z===", "====", "Zg==Zg==", "Zm9v!", "Z m9v", "Zg=a", "Zh==", "Zm9="})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace nccl_env::kube::base64_test
