// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include "core/decide/decided.h"
#include "decide/container_env.h"

namespace nccl_env::tests::keys_test {
namespace {

// An annotation whose prefix is not there could be written by anybody.
TEST(NodeKeys, AreGuardedAgainstEveryoneElse) {
  std::ifstream file(in_source("/manifests/base/bound-pods.yaml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "k.startsWith('";
  std::map<std::string, int, std::less<>> guarded;  // prefix -> times: of added keys, of removed ones
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    ++guarded[text.substr(from, text.find('\'', from) - from)];
  }
  EXPECT_EQ(guarded.size(), node_keys().size());
  for (const NodeKeys& keys : node_keys()) EXPECT_EQ(guarded[std::string(keys.prefix)], 2) << keys.prefix;
  for (const std::string_view key : {key::kStatus, key::kNode})
    EXPECT_NE(text.find("k == '" + std::string(key) + "'"), text.npos) << key;
}

bool is_own(const std::string& path) {
  EnvEntry entry;
  entry.name = "NCCL_IB_HCA";
  entry.field_path = path;
  return is_own_field(entry);
}

TEST(ContainerEnv, AnOwnFieldNamesTheVariablesAnnotation) {
  EXPECT_TRUE(is_own("metadata.annotations['host.nccl-env.io/NCCL_IB_HCA']"));
  EXPECT_TRUE(is_own("metadata.annotations['subinterface.nccl-env.io/NCCL_IB_HCA']"));
  EXPECT_FALSE(is_own("metadata.annotations['host.nccl-env.io/NCCL_IB_TC']"));
  EXPECT_FALSE(is_own("metadata.annotations['example.com/NCCL_IB_HCA']"));
}

// One quote was taken for both, and 20 bytes behind the path were read.
TEST(ContainerEnv, AnUnfinishedPathIsNotOurs) {
  const std::string whole = "metadata.annotations['']";
  for (std::size_t size = 0; size <= whole.size(); ++size) EXPECT_FALSE(is_own(whole.substr(0, size)));
  EXPECT_FALSE(is_own("metadata.annotations[']"));
  EXPECT_FALSE(is_own("metadata.annotations']"));
}

TEST(Keys, APathHoldsAKeyBetweenTwoQuotes) {
  EXPECT_EQ(annotation_of(field_path("host.nccl-env.io/NCCL_IB_HCA")), "host.nccl-env.io/NCCL_IB_HCA");
  EXPECT_EQ(annotation_of("metadata.annotations['']"), "");
  // The shortest that begins and ends as such a path does, and is none: one quote is both.
  const std::string shared_quote = "metadata.annotations[']";
  EXPECT_EQ(annotation_of(shared_quote), "");
  for (const char* other : {"", "metadata.name", "metadata.annotations['a'", "metadata.annotations[a]"})
    EXPECT_EQ(annotation_of(other), "") << other;
  const Json entry{{"name", ""}, {"valueFrom", {{"fieldRef", {{"fieldPath", shared_quote}}}}}};
  EXPECT_NE(admit(pod({container("c", {entry})}), policy_for("rdma/hca", Exposure::Host)).patch, "");
}

}  // namespace
}  // namespace nccl_env::tests::keys_test
