// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/held_values.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace nccl_env::difference_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_EQ(nodes.render_text(),
            "\n10 nodes: gpu-0, gpu-1, gpu-2, gpu-3, gpu-4, gpu-5, gpu-6, gpu-7 and 2 more\n"
            "    Host  NCCL_IB_GID_INDEX: 3 -> 5\n"
            "\n1 node: gpu-10\n"
            "    Host  NCCL_IB_GID_INDEX: 3 -> none (GidNotUniform)\n");
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
  EXPECT_EQ(pods.render_text(kinds),
            "\n2 pods: Pod/a, Pod/b\n  on 3 nodes: gpu-1, gpu-2, gpu-4\n    Host  NCCL_IB_GID_INDEX: 3 -> 5\n"
            "\n2 pods: Pod/a, Pod/b\n  on 1 node: gpu-3\n    Host  NCCL_IB_GID_INDEX: 3 -> 7\n");
  EXPECT_EQ(pods.to_json(kinds)["groups"][1]["on"].dump(), R"(["gpu-3"])");
}

TEST(Difference, GroupsBeyondTheMostAreCounted) {
  Difference nodes("node");
  for (int n = 0; n < 150; ++n) nodes.add(node(n), {{index_change(std::to_string(n)), {}}});
  EXPECT_EQ(nodes.sum(), "150 of 150 nodes");
  EXPECT_THAT(nodes.render_text(), HasSubstr("\nand 50 further groups of nodes\n"));
  EXPECT_EQ(nodes.to_json()["groups"].size(), kMostGroups);
  EXPECT_EQ(nodes.to_json()["moreGroups"], 50);
}

TEST(Difference, ForeignTextIsPrintable) {
  Difference nodes("node");
  nodes.add("gpu\x1b[1m", {{{{{"Ho\x1bst"}, "a\nb", {"NAME", "c"}}}, {}}});
  EXPECT_THAT(nodes.render_text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(nodes.render_text(), HasSubstr("NAME: a?b -> c"));
}

}  // namespace
}  // namespace nccl_env::difference_test
