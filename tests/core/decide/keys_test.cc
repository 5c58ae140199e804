// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include "core/decide/decided.h"

namespace nccl_env::tests::keys_test {
namespace {

// An annotation whose prefix is not there could be written by anybody.
TEST(PodShapes, HaveKeysThatAreGuardedAgainstEveryoneElse) {
  std::ifstream file(in_source("/manifests/base/bound-pods.yaml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "k.startsWith('";
  std::map<std::string, int, std::less<>> guarded;  // prefix -> times: of added keys, of removed ones
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    ++guarded[text.substr(from, text.find('\'', from) - from)];
  }
  EXPECT_EQ(guarded.size(), pod_shapes().size());
  for (const PodShape& shape : pod_shapes()) EXPECT_EQ(guarded[std::string(shape.prefix)], 2) << shape.prefix;
  for (const std::string_view key : {key::kStatus, key::kNode})
    EXPECT_NE(text.find("k == '" + std::string(key) + "'"), text.npos) << key;
}

TEST(Keys, APathHoldsAKeyBetweenTwoQuotes) {
  const std::string key = text_key(shape_of(Exposure::Host, false), "nccl.conf");
  EXPECT_EQ(key, "host.nccl-env.io/nccl.conf");
  EXPECT_EQ(annotation_of(field_path(key)), key);
  // The shortest that begins and ends as such a path does, and is none: one quote is both.
  const std::string shared_quote = "metadata.annotations[']";
  EXPECT_EQ(annotation_of("metadata.annotations['']"), "");
  for (std::size_t size = 0; size <= shared_quote.size(); ++size)  // one quote was taken for both
    EXPECT_EQ(annotation_of(shared_quote.substr(0, size)), "");
  for (const char* other : {"", "metadata.name", "metadata.annotations['a'", "metadata.annotations[a]"})
    EXPECT_EQ(annotation_of(other), "") << other;
  const Json entry{{"name", ""}, {"valueFrom", {{"fieldRef", {{"fieldPath", shared_quote}}}}}};
  EXPECT_NE(admit(pod({container("c", {entry})}), policy_for("rdma/hca", Exposure::Host)).patch, "");
}

}  // namespace
}  // namespace nccl_env::tests::keys_test
