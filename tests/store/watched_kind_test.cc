// SPDX-License-Identifier: Apache-2.0
#include "watched_kind.h"

#include <gtest/gtest.h>

#include <sstream>

namespace nccl_env::store::watched_kind_test {
namespace {

// An API server that sends objects without end takes no more memory than this.
TEST(WatchedKind, HoldsSoManyObjectsAndSaysSoOnce) {
  constexpr int kMost = 100'000;
  std::ostringstream text;
  const auto log = Logger::to_stream(text, LogLevel::Warn);
  SnapshotWriter writer({1, [] { return SnapshotWriter::Contact{}; }, {}}, log);
  WatchedKind<int> kind({.kind = "Namespace",
                         .convert = [](const kube::ApiObject&) -> Result<int> { return 1; },
                         .put = [](Snapshot&, const std::string&, int) {},
                         .erase = [](Snapshot&, const std::string&) {},
                         .clear = [](Snapshot&) {}},
                        writer, log);
  const auto each = [&](const auto& call) {
    for (int i = 0; i < kMost + 3; ++i) {
      const std::string name = "n" + std::to_string(i);
      call(kube::ApiObject{name, "1", "{}"});
    }
  };
  kind.begin_list();
  each([&](const kube::ApiObject& object) { kind.listed(object); });
  kind.complete_list();
  EXPECT_EQ(kind.objects(), kMost);
  kind.removed({"n0", "2", "{}"});
  each([&](const kube::ApiObject& object) { kind.upserted(object); });
  EXPECT_EQ(kind.objects(), kMost);
  writer.stop();
  const std::string said = text.str();
  EXPECT_NE(said.find("objects left out"), said.npos);
  EXPECT_EQ(said.find("objects left out"), said.rfind("objects left out"));
}

}  // namespace
}  // namespace nccl_env::store::watched_kind_test
