// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/yaml_writer.h"

#include <gmock/gmock.h>

#include <random>

#include "nccl_env/base/yaml.h"
#include "support/golden.h"

namespace nccl_env::yaml_writer_test {
namespace {

using nlohmann::json;
using ::testing::StartsWith;

json read(const std::string& text) {
  const auto documents = parse_documents(text, "f.yaml");
  if (!documents) return {{"error", documents.error().message}};
  return documents->empty() ? json() : documents->front();
}

TEST(YamlWriter, WritesForPeople) {
  const auto value = nlohmann::ordered_json::parse(R"({
    "kind": "NodeFabric", "metadata": {"name": "gpu-node-1"},
    "observed": {"time": "2026-11-20T08:00:00Z", "lag": "", "up": true, "rate": 200,
      "ports": [{"hca": "mlx5_1", "gids": [{"index": 3, "address": "25.11.128.2"}, {"index": 5}]}, {"hca": "no"}],
      "none": [], "nothing": {}, "matrix": [[1, 2], [3]], "cidr": "25.11.128.0/27", "glob": "rdma/hca*",
      "switch": "on", "number": "22", "list": "=mlx5_1", "remark": "a: b", "note": "two words"}})");
  tests::expect_golden(value.dump(), to_yaml(value));
}

std::string random_text(std::mt19937& random) {
  static constexpr std::string_view kCharacters = "aZ019x.: -#~'\"\\\n\r\t[]{},&*!|>%@`?=e+_/\x04\b\x7f\x1b";
  static const std::string longer[] = {"null",     "yes",          "<<",           "---",
                                       "...",      ": ",           " #",           "\xc2\x85",
                                       "\xc3\xa4", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xf0\x9f\x98\x80"};
  const auto piece = [&] {
    const std::size_t choice = random() % (kCharacters.size() + std::size(longer));
    return choice < kCharacters.size() ? std::string(1, kCharacters[choice])
                                       : longer[choice - kCharacters.size()];
  };
  std::string text;
  for (unsigned at = 0, count = random() % 6; at < count; ++at) text += piece();
  return random() % 100 == 0 ? text + std::string(1200, 'k') : text;
}

json random_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 9 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) - (1LL << 31);
    case 3:
      return static_cast<double>(random()) / 1000.0 * (random() % 2 == 0 ? 1e-20 : 1e20);
    case 6:
    case 7: {
      json object = json::object();
      for (unsigned at = 0, count = random() % 4; at < count; ++at) {
        object[random_text(random)] = random_value(random, depth - 1);
      }
      return object;
    }
    case 8: {
      json array = json::array();
      for (unsigned at = 0, count = random() % 4; at < count; ++at)
        array.push_back(random_value(random, depth - 1));
      return array;
    }
    default:
      return random_text(random);
  }
}

// Readers of YAML 1.1 take U+0085 for the end of a line, and fold it to a blank.
TEST(YamlWriter, WhatEndsALineOrIsNotPrintableIsEscaped) {
  EXPECT_EQ(to_yaml(json("a\u0085\u2028\u2029\ufeff\u007f\u009fé")),
            "\"a\\u0085\\u2028\\u2029\\ufeff\\u007f\\u009fé\"\n");
}

TEST(YamlWriter, ReadsBackWhatItWrites) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const json value = json::array({random_value(random, 5)});
    const std::string text = to_yaml(value);
    ASSERT_EQ(read(text), value) << text;
  }
}

TEST(YamlWriter, AnyBytesAreReadOrRefused) {
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (unsigned at = 0, count = random() % 12; at < count; ++at) text += random_text(random);
    const auto documents = parse_documents(text, round % 2 == 0 ? "f.yaml" : "f.json");
    if (!documents) {
      ASSERT_THAT(documents.error().message, StartsWith("f."));
      continue;
    }
    for (const json& document : *documents) ASSERT_EQ(read(to_yaml(document)), document) << text;
  }
}

}  // namespace
}  // namespace nccl_env::yaml_writer_test
