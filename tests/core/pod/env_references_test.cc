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

// The names of the entries whose references stay text.
std::vector<std::string> texts_in(const std::vector<Entry>& entries, bool env_from = false) {
  Container container;
  for (const Entry& entry : entries) container.env.push_back({entry.name, entry.value, false, {}, {}});
  if (env_from) container.env_from_prefixes.emplace_back();
  const EnvReferences references(container);
  std::vector<std::string> names;
  for (const EnvEntry& entry : container.env) {
    if (references.stays_text(entry)) names.emplace_back(entry.name);
  }
  return names;
}

TEST(EnvReferences, WhatAnEarlierEntryDefinesIsReplaced) {
  EXPECT_THAT(texts_in({{"A", "x"}, {"B", "$(A)"}}), testing::IsEmpty());
  EXPECT_THAT(texts_in({{"B", "$(A)"}, {"A", "x"}}), testing::ElementsAre("B")) << "defined later";
  EXPECT_THAT(texts_in({{"A", "$(A)"}}), testing::ElementsAre("A")) << "by itself";
  EXPECT_THAT(texts_in({{"A", "x"}, {"A", "$(A)y"}}), testing::IsEmpty()) << "by its namesake";
  EXPECT_THAT(texts_in({{"A", "x"}, {"B", "$(A),$(C)"}}), testing::ElementsAre("B")) << "one of two";
}

TEST(EnvReferences, WhatMayComeFromElsewhereIsNotJudged) {
  EXPECT_THAT(texts_in({{"B", "$(A)"}}, true), testing::IsEmpty());
  EXPECT_THAT(texts_in({{"B", "$(HUB_SERVICE_HOST):$(HUB_PORT)"}}), testing::IsEmpty());
  Container container;
  container.env.push_back({"A", "$(B)", true, {}, {}});
  EXPECT_FALSE(EnvReferences(container).stays_text(container.env[0]));
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
