// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/informer.h"

#include <set>
#include <sstream>

#include "kube/fake_api.h"
#include "support/matchers.h"
#include "support/patience.h"

namespace nccl_env::kube::informer_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;

const std::string kPath = "/apis/nccl-env.io/v1alpha1/nodefabrics";

class NameSet : public TreeSink {
 public:
  void begin_list() override { fresh_.clear(); }
  void list_item(const nlohmann::json& o) override {
    fresh_.insert(o["metadata"]["name"].get<std::string>());
  }
  void complete_list() override {
    const std::lock_guard lock(mutex_);
    names_ = std::move(fresh_);
  }
  void upsert(const nlohmann::json& o) override {
    const std::lock_guard lock(mutex_);
    names_.insert(o["metadata"]["name"].get<std::string>());
  }
  void remove(const nlohmann::json& o) override {
    const std::lock_guard lock(mutex_);
    names_.erase(o["metadata"]["name"].get<std::string>());
  }
  std::set<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_, fresh_;
};

class KubeInformer : public ::testing::Test {
 protected:
  FakeApi api;
  NameSet sink;
  std::ostringstream log;
  std::unique_ptr<Client> client;
  std::unique_ptr<Informer> informer;

  void start() {
    auto made = Client::make(api.config(), Logger::to_stream(log, LogLevel::Info));
    ASSERT_TRUE(made.ok()) << made.error().message;
    client = std::move(*made);
    informer = std::make_unique<Informer>(*client, Collection{kPath, "", 2}, sink,
                                          Logger::to_stream(log, LogLevel::Info));
  }
  void stop() {
    if (client) client->stop();
    informer.reset();
  }
  ~KubeInformer() override { stop(); }

  bool becomes(const std::set<std::string>& names) {
    return eventually([&] { return sink.names() == names; });
  }
};

TEST_F(KubeInformer, ListsAllPagesAndFollows) {
  for (const char* name : {"a", "b", "c", "d", "e"}) api.put(kPath, name, {});
  start();
  ASSERT_TRUE(becomes({"a", "b", "c", "d", "e"}));
  EXPECT_EQ(api.lists(), 3);
  api.erase(kPath, "b");
  api.put(kPath, "f", {});
  EXPECT_TRUE(becomes({"a", "c", "d", "e", "f"}));
  EXPECT_TRUE(eventually([&] { return informer->health().in_contact; }));
  EXPECT_TRUE(informer->health().synced);
  EXPECT_EQ(informer->health().relists, 0u);
  EXPECT_EQ(api.lists(), 3);
}

TEST_F(KubeInformer, ADroppedConnectionGoesOnWhereItWas) {
  api.put(kPath, "a", {});
  start();
  ASSERT_TRUE(eventually([&] { return api.open_watches() == 1; }));
  api.drop_connections();
  api.put(kPath, "b", {});
  EXPECT_TRUE(becomes({"a", "b"}));
  EXPECT_EQ(api.lists(), 1);
  stop();
  EXPECT_THAT(log.str(), HasSubstr("watch disturbed"));
}

TEST_F(KubeInformer, ACompactedHistoryMeansANewListThatReplaces) {
  api.put(kPath, "a", {});
  api.put(kPath, "b", {});
  start();
  ASSERT_TRUE(eventually([&] { return api.open_watches() == 1; }));
  api.stop();
  api.erase(kPath, "a");
  api.put(kPath, "c", {});
  api.compact();
  EXPECT_TRUE(eventually([&] { return !informer->health().in_contact; }));
  EXPECT_EQ(sink.names(), (std::set<std::string>{"a", "b"}));
  api.restart();
  EXPECT_TRUE(becomes({"b", "c"}));
  EXPECT_TRUE(eventually([&] { return informer->health().relists == 1; }));
}

// A list that has just ended may be as old as the server's trouble.
TEST_F(KubeInformer, FollowsOnceAWatchIsOpenAndNotByAList) {
  api.put(kPath, "a", {});
  api.refuse_watches(429);
  start();
  ASSERT_TRUE(eventually([&] { return informer->health().problem.find("429") != std::string::npos; }));
  EXPECT_TRUE(informer->health().synced);
  EXPECT_FALSE(informer->health().following);
  api.refuse_watches(0);
  EXPECT_TRUE(eventually([&] { return informer->health().following; }));
  api.stop();
  EXPECT_TRUE(eventually([&] { return !informer->health().following; }));
}

TEST_F(KubeInformer, StartsWhileTheServerIsAwayAndStopsAtOnce) {
  api.put(kPath, "a", {});
  api.stop();
  start();
  EXPECT_TRUE(eventually([&] { return informer->health().problem.find("refused") != std::string::npos; }));
  EXPECT_FALSE(informer->health().synced);
  api.restart();
  EXPECT_TRUE(becomes({"a"}));
  api.refuse_with(503);
  EXPECT_TRUE(eventually([&] { return informer->health().problem.find("503") != std::string::npos; }));
  EXPECT_TRUE(informer->health().synced);
}

}  // namespace
}  // namespace nccl_env::kube::informer_test
