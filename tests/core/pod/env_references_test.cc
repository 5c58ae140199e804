// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/env_references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nccl_env {
namespace {

struct Entry {
  std::string name;
  std::string value;
};

// The values of the entries; "?" where it is not known.
std::vector<std::string> values_of(const std::vector<Entry>& entries, bool env_from = false) {
  Container container;
  for (const Entry& entry : entries) container.env.push_back({entry.name, entry.value, false, {}, {}});
  if (env_from) container.env_from_prefixes.emplace_back();
  const EnvReferences references(container);
  std::vector<std::string> values;
  for (const EnvEntry& entry : container.env) values.push_back(references.value_of(entry).value_or("?"));
  return values;
}

TEST(EnvReferences, WhatAnEarlierEntryDefinesIsReplaced) {
  using ::testing::ElementsAre;
  EXPECT_THAT(values_of({{"A", "x"}, {"B", "<$(A)>"}, {"C", "$(B)$(A)"}}), ElementsAre("x", "<x>", "<x>x"));
  EXPECT_THAT(values_of({{"B", "$(A)"}, {"A", "x"}}), ElementsAre("$(A)", "x")) << "defined later";
  EXPECT_THAT(values_of({{"A", "$(A)"}}), ElementsAre("$(A)")) << "by itself";
  EXPECT_THAT(values_of({{"A", "x"}, {"A", "$(A)y"}, {"B", "$(A)"}}), ElementsAre("x", "xy", "xy"));
  EXPECT_THAT(values_of({{"A", "x"}, {"B", "$(A),$(C)"}}), ElementsAre("x", "x,$(C)")) << "one of two";
}

TEST(EnvReferences, WhatMayComeFromElsewhereIsNotKnown) {
  using ::testing::ElementsAre;
  EXPECT_THAT(values_of({{"B", "$(A)"}, {"C", "c"}}, true), ElementsAre("?", "c"));
  EXPECT_THAT(values_of({{"B", "$(HUB_SERVICE_HOST)"}, {"C", "$(HUB_PORT)"}, {"D", "$(B)"}}),
              ElementsAre("?", "?", "?"));
  EXPECT_THAT(values_of({{"B", "$(LWS_LEADER_ADDRESS):29500"}}), ElementsAre("?"))
      << "a webhook puts it first";
  const std::string vast(5000, 'x');
  EXPECT_THAT(values_of({{"B", vast}, {"C", "$(B)"}}), ElementsAre(vast, "?"));
  Container container;
  container.env.push_back({"A", "$(B)", true, {}, {}});
  EXPECT_EQ(EnvReferences(container).value_of(container.env[0]), std::nullopt);
}

TEST(EnvReferences, ATextThatDoublesIsBounded) {
  std::vector<Entry> entries{{"V0", "xx"}};
  for (int i = 1; i < 64; ++i) {
    const std::string before = "$(V" + std::to_string(i - 1) + ")";
    entries.push_back({"V" + std::to_string(i), before + before});
  }
  const auto values = values_of(entries);
  EXPECT_EQ(values[10].size(), 2048U);
  EXPECT_EQ(values[13], "?");
  EXPECT_EQ(values.back(), "?");
}

TEST(EnvReferences, AnEscapedOneOrHalfOneIsNone) {
  EXPECT_EQ(first_reference("a$(B)c$(D)"), "$(B)");
  for (const char* text : {"", "$", "$(", "$(A", "$$(A)", "${A}", "$A", "a)$("})
    EXPECT_EQ(first_reference(text), "") << text;
  EXPECT_EQ(first_reference("$$$(A)"), "$(A)");
  EXPECT_EQ(reference_problem("X", "a$(B)"), "X: nothing before it defines $(B), so the text stays as it is");
}

}  // namespace
}  // namespace nccl_env
