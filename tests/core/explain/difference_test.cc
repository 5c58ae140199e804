// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/held_values.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/golden.h"

namespace nccl_env::difference_test {
namespace {

std::vector<Change> index_change(const std::string& now, std::optional<Reason> reason = {}) {
  return {{{"Host"},
           "3",
           {.name = "NCCL_IB_GID_INDEX",
            .value = now.empty() ? std::optional<std::string>() : now,
            .reason = reason}}};
}

std::string node(int number) {
  return "gpu-" + std::to_string(number);
}

TEST(Difference, EqualChangesAreOneGroupLargestFirst) {
  Difference nodes("node");
  for (int n = 0; n < 40; ++n)
    nodes.add(node(n), {{n < 10   ? index_change("5")
                         : n < 11 ? index_change("", Reason::GidNotUniform)
                                  : std::vector<Change>(),
                         {}}});
  EXPECT_EQ(nodes.sum(), "11 of 40 nodes");
  tests::expect_golden(nodes.render_text());
  const auto json = nodes.to_json();
  EXPECT_EQ(json["compared"], 40);
  EXPECT_EQ(json["changed"], 11);
  EXPECT_EQ(json["groups"][0]["nodes"].size(), 10u);
  EXPECT_EQ(json["groups"][1]["changes"][0].dump(),
            R"({"of":["Host"],"name":"NCCL_IB_GID_INDEX","then":"3","now":null,"reason":"GidNotUniform"})");
  EXPECT_EQ(json["moreGroups"], 0);
}

TEST(Difference, APodCountsOnceOnHoweverManyKindsOfNodeItChanges) {
  Difference pods("pod");
  const Difference::Kinds kinds{{"gpu-1", "gpu-2"}, {"gpu-3"}, {"gpu-4"}};
  for (const char* name : {"Pod/a", "Pod/b"})
    pods.add(name, {{index_change("5"), {0, 2}}, {index_change("7"), {1}}});
  pods.add("Pod/c", {{{}, {0, 1, 2}}});
  EXPECT_EQ(pods.sum(), "2 of 3 pods");
  tests::expect_golden(pods.render_text(kinds));
  EXPECT_EQ(pods.to_json(kinds)["groups"][1]["on"].dump(), R"(["gpu-3"])");
}

TEST(Difference, GroupsBeyondTheMostAreCounted) {
  Difference nodes("node");
  for (int n = 0; n < 150; ++n) nodes.add(node(n), {{index_change(std::to_string(n)), {}}});
  EXPECT_EQ(nodes.sum(), "150 of 150 nodes");
  EXPECT_EQ(nodes.to_json()["groups"].size(), kMostGroups);
  EXPECT_EQ(nodes.to_json()["moreGroups"], 50);
}

TEST(Difference, ForeignTextIsPrintable) {
  Difference nodes("node");
  nodes.add("gpu\x1b[1m", {{{{{"Ho\x1bst"}, "a\nb", {"NAME", "c"}}}, {}}});
  tests::expect_golden(nodes.render_text());
}

}  // namespace
}  // namespace nccl_env::difference_test
