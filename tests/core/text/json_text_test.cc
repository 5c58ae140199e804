// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::tests::json_text_test {
namespace {

TEST(JsonText, EscapesEachByteAtEachPlaceOfAWord) {
  for (int byte = 0; byte < 0x100; ++byte) {
    for (std::size_t size = 1; size < 20; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(byte);
        EXPECT_EQ(is_printable_ascii(text), byte >= ' ' && byte <= '~') << text;
        if (byte >= 0x80) continue;
        text.back() = text.size() % 2 == 0 ? '"' : text.back();
        std::string out = "before";
        json::append_string(out, text);
        ASSERT_EQ(nlohmann::json::parse(out.substr(6)), text) << out;
      }
    }
  }
}

TEST(JsonText, LeavesTheRestAsItIs) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "aé\"\\\x7f\xf0\x9f\x98\x80";
  std::string out, expected = "\"";
  json::append_string(out, text);
  for (const char c : text) {
    if (c == '"' || c == '\\') expected += '\\';
    expected += c;
  }
  EXPECT_EQ(out, expected + "\"");
  out.clear();
  json::append_string(out, std::string("\0\x1f", 2));
  EXPECT_EQ(out, "\"\\u0000\\u001f\"");
}

}  // namespace
}  // namespace nccl_env::tests::json_text_test
