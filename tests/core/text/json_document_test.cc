// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_document.h"

#include <gtest/gtest.h>

#include <string>

namespace nccl_env::json_document_test {
namespace {

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(JsonDocument, TakesWhatKubernetesSends) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": null}], "c": "d"})"),
            nlohmann::json({{"a", nlohmann::json::array({1, {{"b", nullptr}}})}, {"c", "d"}}));
  EXPECT_EQ(parse_json("null"), nlohmann::json());
  EXPECT_FALSE(parse_json(nested(kMaxJsonDepth)).is_discarded());
}

TEST(JsonDocument, RefusesWhatIsNotOneValue) {
  for (const char* text : {"", "{", "{} {}", "[1,]", "nul", "\"\xff\""})
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
}

TEST(JsonDocument, RefusesAMillionLevelsAsItDoesOneTooMany) {
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth + 1)).is_discarded());
  EXPECT_TRUE(parse_json(nested(1'000'000)).is_discarded());
  EXPECT_TRUE(parse_json("{\"a\": 1, \"b\": " + nested(kMaxJsonDepth) + ", \"c\": 2}").is_discarded());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"\":";
  EXPECT_TRUE(parse_json(objects).is_discarded());
}

// The work is by the text's length: searching the list again at the end of each object took hours.
TEST(JsonDocument, ReadsALongListOfObjectsInOnePass) {
  std::string list = "[{}";
  for (int i = 1; i < 1'000'000; ++i) list += ",{}";
  EXPECT_EQ(parse_json(list + "]").size(), 1'000'000U);
}

TEST(JsonDocument, CountsNoBracketsInStrings) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(parse_json(R"(["\"",")" + brackets + "\"]").size(), 2U);
}

}  // namespace
}  // namespace nccl_env::json_document_test
