// SPDX-License-Identifier: Apache-2.0
#include "node_labels.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace nccl_env::agent::node_labels_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;

const std::vector<std::string> kKeys{"zone", "nvidia.com/gpu.product"};
const Timestamp kCreated = *parse_timestamp("2026-11-20T08:00:00Z");

Json node_with(const Json& labels) {
  return {
      {"metadata", {{"name", "gpu-1"}, {"creationTimestamp", "2026-11-20T08:00:00Z"}, {"labels", labels}}}};
}

TEST(NodeLabels, AreThoseThatAreAskedFor) {
  const Json node = node_with({{"zone", "b"}, {"nvidia.com/gpu.product", ""}, {"other", "x"}});
  const ReadLabels read = read_labels(node, kKeys, kCreated);
  EXPECT_THAT(read.labels, ElementsAre(NodeLabel{"zone", "b"}, NodeLabel{"nvidia.com/gpu.product", ""}));
  EXPECT_TRUE(read.settled);
  EXPECT_THAT(read_labels(node, {}, kCreated).labels, IsEmpty());
}

// Cloud controllers and feature discovery write theirs when the node has been there for minutes.
TEST(NodeLabels, ANewNodeIsNotSaidToLackOne) {
  const Json node = node_with({{"zone", "b"}});
  for (const auto age : {std::chrono::minutes(-1), std::chrono::minutes(0), std::chrono::minutes(60)}) {
    const ReadLabels read = read_labels(node, kKeys, kCreated + age);
    EXPECT_THAT(read.labels, ElementsAre(NodeLabel{"zone", "b"}));
    EXPECT_FALSE(read.settled);
  }
  const ReadLabels read = read_labels(node, kKeys, kCreated + std::chrono::minutes(61));
  EXPECT_THAT(read.labels, ElementsAre(NodeLabel{"zone", "b"}, NodeLabel{"nvidia.com/gpu.product", {}}));
  EXPECT_TRUE(read.settled);
}

TEST(NodeLabels, NothingIsConcludedFromWhatIsNotANode) {
  const Timestamp later = kCreated + std::chrono::hours(9);
  for (const Json& node :
       {Json(), Json(1), Json::array(), Json::object(), Json{{"metadata", {{"labels", 1}}}},
        Json{{"metadata", {{"creationTimestamp", "soon"}}}}}) {
    EXPECT_THAT(read_labels(node, kKeys, later).labels, IsEmpty()) << node;
    EXPECT_FALSE(read_labels(node, kKeys, later).settled);
  }
  EXPECT_THAT(read_labels(node_with({{"zone", "a b"}, {"nvidia.com/gpu.product", "x"}}), kKeys, later).labels,
              ElementsAre(NodeLabel{"nvidia.com/gpu.product", "x"}));
}

TEST(NodeLabels, TheUsualOnesAreKeys) {
  EXPECT_LE(usual_node_labels().size(), kMaxNodeLabels);
  for (const std::string& key : usual_node_labels()) EXPECT_TRUE(is_label_key(key)) << key;
}

}  // namespace
}  // namespace nccl_env::agent::node_labels_test
