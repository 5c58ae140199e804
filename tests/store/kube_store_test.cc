// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/kube_store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "kube/fake_api.h"
#include "nccl_env/base/yaml.h"
#include "store/manifests.h"
#include "support/matchers.h"
#include "support/patience.h"

namespace nccl_env::store::kube_store_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;
using Json = nlohmann::json;

const std::string kPolicies = "/apis/nccl-env.io/v1alpha1/ncclpolicies";
const std::string kTables = "/apis/nccl-env.io/v1alpha1/nodefabrics";
const std::string kNamespaces = "/api/v1/namespaces";

Json object_of(const std::string& yaml) {
  return parse_documents(yaml, "test.yaml")->front();
}
Json policy(const std::string& timeout = "22") {
  return object_of(tests::policy_yaml("", timeout));
}
Json table(const std::string& name, const std::string& hca = "mlx5_1") {
  return object_of(tests::table_yaml(name, hca));
}
Json name_space(const std::string& policy_name) {
  return {{"metadata", {{"labels", {{"nccl-env.io/policy", policy_name}}}}}};  // a list's items have no kind
}

// A log that can be read while it is written.
class SharedLog : public std::streambuf {
 public:
  [[nodiscard]] std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::ostream stream{this};

 protected:
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    const std::lock_guard lock(mutex_);
    text_.append(data, static_cast<std::size_t>(size));
    return size;
  }
  int overflow(int c) override {
    const char byte = static_cast<char>(c);
    xsputn(&byte, 1);
    return c;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

class KubeStore : public ::testing::Test {
 protected:
  FakeApi api;
  SharedLog log_;
  std::unique_ptr<KubernetesStore> store;

  KubeStore() {
    api.put(kPolicies, "p", policy());
    api.put(kTables, "node-a", table("node-a"));
    api.put(kNamespaces, "ml", name_space("p"));
  }
  void start() {
    const auto log = Logger::to_stream(log_.stream, LogLevel::Info);
    auto started = KubernetesStore::start(kube::Client::make(api.config(), log).value(), {}, log);
    ASSERT_TRUE(started.ok()) << started.error().message;
    store = std::move(*started);
  }
  void start_ready() {
    start();
    ASSERT_TRUE(eventually([&] { return loaded() && api.open_watches() == 3; }));
  }
  [[nodiscard]] std::shared_ptr<const Snapshot> now() const { return store->snapshots().get(); }
  [[nodiscard]] bool loaded() const { return store->ready() && now()->tables_known; }
  [[nodiscard]] Result<std::optional<std::string>> read_pod(const char* where, const char* name) const {
    return read_in_time([&] { return store->read_pod(where, name); });
  }
  [[nodiscard]] Attempt<SharedTable> read_table(const char* node) const {
    return read_in_time([&] { return store->read_table(node, true); });
  }
  [[nodiscard]] std::optional<PolicyLookup> read_policy(const char* name_space) const {
    return *read_in_time([&] { return store->read_policy(name_space, true); });
  }
  [[nodiscard]] Attempt<SharedRequests> read_claim(const ClaimRef& ref) const {
    return read_in_time([&] { return store->read_claim(ref, true); });
  }
  template <class Wanted>
  bool becomes(Wanted wanted) {
    return eventually([&] { return wanted(*now()); });
  }
  WatchStats watch(const std::string& kind) {
    for (WatchStats& stats : store->stats().watches) {
      if (stats.kind == kind) return stats;
    }
    return {};
  }
  bool becomes_hca(const std::string& node, const std::string& hca) {
    return becomes([&](const Snapshot& s) {
      const auto found = s.tables.find(node);
      return found != s.tables.end() && found->second->unpack().ports[0].hca == hca;
    });
  }
  static std::string timeout_of(const Snapshot& snapshot) {
    const auto found = snapshot.policies.find("p");
    if (found == snapshot.policies.end() || !found->second.policy) return "";
    return found->second.policy->env.at("NCCL_IB_TIMEOUT");
  }
};

TEST_F(KubeStore, LoadsEverythingThereIs) {
  start();
  ASSERT_TRUE(eventually([&] { return loaded(); }));
  EXPECT_THAT(now()->policies, ElementsAre(Key("p")));
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-a")));
  EXPECT_THAT(now()->opted_in, ElementsAre(Pair("ml", "p")));
  EXPECT_TRUE(now()->in_sync);
  EXPECT_TRUE(eventually([&] { return watch("NodeFabric").in_contact; }));
  EXPECT_TRUE(eventually([&] { return watch("NcclPolicy").synced; }));
  EXPECT_EQ(watch("Namespace").objects, 1u);
  EXPECT_EQ(watch("Namespace").relists, 0u);
}

TEST_F(KubeStore, FollowsWhatComesChangesAndGoes) {
  start_ready();
  api.put(kTables, "node-b", table("node-b"));
  EXPECT_TRUE(becomes_hca("node-b", "mlx5_1"));
  api.put(kTables, "node-b", table("node-b", "mlx5_7"));
  EXPECT_TRUE(becomes_hca("node-b", "mlx5_7"));
  api.erase(kTables, "node-a");
  EXPECT_TRUE(becomes([](const Snapshot& s) { return !s.tables.contains("node-a"); }));
  api.put(kPolicies, "p", policy("18"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return timeout_of(s) == "18"; }));
  api.put(kNamespaces, "ml", name_space("q"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.opted_in.at("ml") == "q"; }));
  Json quiet = name_space("q");
  quiet["metadata"]["labels"]["nccl-env.io/resolve"] = "Binding";
  api.put(kNamespaces, "ml", quiet);
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.at_binding.contains("ml"); }));
  api.put(kNamespaces, "ml", name_space("q"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.at_binding.empty() && s.opted_in.contains("ml"); }));
  Json moved = name_space("q");
  for (const auto& [label, time] : {std::pair("f:nccl-env.io/policy", "2026-11-20T07:00:00Z"),
                                    std::pair("f:team", "2026-11-21T07:00:00Z")})
    moved["metadata"]["managedFields"].push_back(
        {{"time", time}, {"fieldsV1", {{"f:metadata", {{"f:labels", {{label, Json::object()}}}}}}}});
  moved["metadata"]["labels"]["nccl-env.io/policy"] = "r";
  const auto is_of_its_move = [](const Snapshot& s) {
    const auto written = s.labelled.find("ml");
    return written != s.labelled.end() && format_timestamp(written->second) == "2026-11-20T07:00:00Z";
  };
  api.put(kNamespaces, "ml", moved);
  EXPECT_TRUE(becomes(is_of_its_move)) << "when the label was written, and not another one";
  moved["metadata"]["managedFields"][0]["time"] = "2026-11-25T07:00:00Z";
  moved["metadata"]["labels"]["nccl-env.io/resolve"] = "Binding";
  api.put(kNamespaces, "ml", moved);
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.at_binding.contains("ml"); }));
  EXPECT_TRUE(is_of_its_move(*now())) << "its manager wrote something else";
  api.put(kNamespaces, "ml", name_space(""));
  EXPECT_TRUE(
      becomes([](const Snapshot& s) { return find_policy(s, "ml").reason == Reason::NamespaceNotOptedIn; }));
  EXPECT_FALSE(find_policy(*now(), "ml").unknown) << "a label without a value is known";
}

TEST_F(KubeStore, ReadsWhatAppliesToANamespaceThatItDoesNotKnow) {
  start_ready();
  api.mute_watches();
  EXPECT_TRUE(find_policy(*now(), "new").unknown);
  EXPECT_TRUE(store->read_policy("new", false).postponed());
  EXPECT_EQ(read_policy("new")->reason, Reason::NamespaceNotOptedIn);
  EXPECT_EQ((*store->read_policy("new", false))->reason, Reason::NamespaceNotOptedIn) << "remembered";
  api.put(kNamespaces, "labelled", name_space("p"));
  EXPECT_EQ(read_policy("labelled")->policy, now()->policies.at("p").policy);
  api.put(kNamespaces, "quiet", name_space("fresh"));
  EXPECT_EQ(read_policy("quiet")->reason, Reason::PolicyMissing);
  api.put(kNamespaces, "both", name_space("fresh"));
  api.put(kPolicies, "fresh", policy("18"));
  EXPECT_EQ(read_policy("both")->policy->env.at("NCCL_IB_TIMEOUT"), "18");
  api.put(kNamespaces, "odd", name_space("bad"));
  api.put(kPolicies, "bad", policy("99"));
  EXPECT_EQ(read_policy("odd")->reason, Reason::PolicyInvalid);
  api.put(kNamespaces, "gone", name_space("p"));
  api.erase(kNamespaces, "gone");
  for (const char* none : {"gone", "../pods", ""})
    EXPECT_EQ(read_policy(none)->reason, Reason::NamespaceNotOptedIn) << none;
}

TEST_F(KubeStore, AFailedLookUpOfANamespaceIsAnErrorAndIsNotRemembered) {
  start_ready();
  api.refuse_path(kNamespaces + "/new", 500);
  EXPECT_THAT(read_in_time([&] { return store->read_policy("new", true); }).error().message,
              HasSubstr("HTTP 500"));
  EXPECT_TRUE(store->read_policy("new", false).postponed());
  api.hang(kNamespaces + "/slow");
  EXPECT_THAT(store->read_policy("slow", true).error().message, HasSubstr("the deadline is over"));
  api.stop();
  EXPECT_FALSE(store->read_policy("new", true).ok());
}

TEST_F(KubeStore, StrangersCauseNoMoreReadsOfNamespacesThanTheBudget) {
  start_ready();
  const auto begin = std::chrono::steady_clock::now();
  int left_out = 0;
  for (int i = 0; i < 200; ++i) {
    const auto read = store->read_policy("stranger-" + std::to_string(i), true);
    left_out += read && !*read ? 1 : 0;
  }
  const auto passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(left_out, 200 - 50 - 1 - static_cast<int>(20 * passed));
  EXPECT_LE(left_out, 150);
}

TEST_F(KubeStore, IsNotReadyWhilePoliciesOrNamespacesAreMissing) {
  for (const std::string& missing : {kPolicies, kNamespaces}) {
    const std::size_t logged = log_.text().size();
    api.refuse_path(missing, 404);  // no CRD yet
    start();
    ASSERT_TRUE(eventually([&] { return watch("NodeFabric").synced; }));
    ASSERT_TRUE(eventually([&] { return log_.text().find("HTTP 404", logged) != std::string::npos; }));
    EXPECT_FALSE(store->ready());
    EXPECT_THAT(now()->policies, IsEmpty());
    api.refuse_path(missing, 0);
    EXPECT_TRUE(eventually([&] { return loaded(); }));
    EXPECT_THAT(now()->policies, ElementsAre(Key("p")));
    store.reset();
  }
}

TEST_F(KubeStore, IsReadyBeforeItsTablesAndReadsThoseThatAreAskedFor) {
  api.refuse_path(kTables, 503);
  start();
  ASSERT_TRUE(eventually([&] { return store->ready(); }));
  EXPECT_THAT(now()->opted_in, ElementsAre(Pair("ml", "p")));
  EXPECT_FALSE(now()->tables_known);
  EXPECT_TRUE(store->read_table("node-a", false).postponed());
  const auto read = read_table("node-a");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ((*read)->unpack().ports[0].hca, "mlx5_1");
  EXPECT_EQ(*store->read_table("node-a", false), *read) << "a gang's other pods find it";
  Json bad = table("node-bad");
  bad["observed"]["ports"][0]["port"] = "one";
  api.put(kTables, "node-bad", bad);
  for (const char* none : {"node-b", "node-bad", "../ncclpolicies/p", ""})
    EXPECT_EQ(*read_table(none), nullptr) << none;
  EXPECT_GE(store->stats().table_reads[static_cast<std::size_t>(TableRead::Found)], 1u);
  EXPECT_GE(store->stats().table_reads[static_cast<std::size_t>(TableRead::Absent)], 4u);
  api.refuse_path(kTables, 0);
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables_known && s.tables.size() == 1; }));
}

TEST_F(KubeStore, SaysWhenNoWatchFollowsItsTables) {
  start_ready();
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables_followed; }));
  api.refuse_path(kTables, 403);
  api.drop_connections();
  EXPECT_TRUE(becomes([](const Snapshot& s) { return !s.tables_followed; }));
  EXPECT_TRUE(now()->tables_known);
  api.put(kTables, "node-a", table("node-a", "mlx5_7"));
  EXPECT_EQ((*read_table("node-a"))->unpack().ports[0].hca, "mlx5_7");
  api.refuse_path(kTables, 0);
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables_followed; }));
}

TEST_F(KubeStore, ATableThatCannotBeReadIsNotTakenForNone) {
  api.refuse_path(kTables, 503);
  start();
  ASSERT_TRUE(eventually([&] { return store->ready(); }));
  api.refuse_path(kTables + "/node-a", 500);
  const auto refused = read_table("node-a");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("the table of node node-a could not be read: HTTP 500"));
  api.hang(kTables + "/node-a");
  const auto late = store->read_table("node-a", true);
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("the deadline is over"));
  EXPECT_GE(store->stats().table_reads[static_cast<std::size_t>(TableRead::Failed)], 2u);
}

// Tables of the first list are there page by page, for Bindings that cannot read theirs; those of later lists
// come at once.
TEST_F(KubeStore, TablesAreThereWhileTheRestIsListed) {
  for (int i = 0; i < 600; ++i)
    api.put(kTables, "node-" + std::to_string(i), table("node-" + std::to_string(i)));
  api.refuse_later_pages(true);
  start();
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.size() == 500; }));
  EXPECT_FALSE(now()->tables_known);
  api.refuse_later_pages(false);
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables_known; }));
  EXPECT_EQ(now()->tables.size(), 601u);
}

TEST_F(KubeStore, AnswersOnFromWhatItHasWhileTheServerIsAway) {
  start_ready();
  api.stop();
  EXPECT_TRUE(eventually([&] { return !watch("NodeFabric").in_contact && !watch("Namespace").in_contact; }));
  EXPECT_TRUE(store->ready());
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-a")));
  api.erase(kTables, "node-a");
  api.put(kTables, "node-b", table("node-b"));
  api.compact();
  api.restart();
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-b") && s.tables.size() == 1; }));
  EXPECT_TRUE(eventually([&] { return watch("NodeFabric").relists == 1 && watch("NodeFabric").in_contact; }));
}

TEST_F(KubeStore, ARefusedPolicyIsThereWithItsProblemAndAGoodOneKeepsItsForm) {
  api.put(kPolicies, "never-good", policy("99"));
  start_ready();
  EXPECT_EQ(now()->policies.at("never-good").policy, nullptr);
  EXPECT_THAT(now()->policies.at("never-good").problem, HasSubstr("spec.env.NCCL_IB_TIMEOUT"));
  EXPECT_EQ(watch("NcclPolicy").refused, 1u);
  api.put(kPolicies, "p", policy("99"));
  EXPECT_TRUE(eventually([&] { return watch("NcclPolicy").refused == 2; }));
  EXPECT_EQ(timeout_of(*now()), "22");
  api.put(kPolicies, "p", policy("18"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return timeout_of(s) == "18"; }));
  api.erase(kPolicies, "never-good");
  EXPECT_TRUE(eventually([&] { return watch("NcclPolicy").refused == 0; }));
  EXPECT_THAT(log_.text(), HasSubstr("\"kind\":\"NcclPolicy\",\"name\":\"p\""));
}

// Writing its status, as the webhook does, brings the object again.
TEST_F(KubeStore, ARefusedPolicyIsLoggedOnceForEachProblem) {
  Json bad = policy("99");
  api.put(kPolicies, "bad", bad);
  start_ready();
  bad["status"]["conditions"] = Json::array({{{"type", "Accepted"}, {"status", "False"}}});
  api.put(kPolicies, "bad", bad);
  api.put(kPolicies, "bad", policy("98"));
  const auto problems = [&] {
    std::vector<std::string> found;
    std::istringstream lines(log_.text());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("object refused") != std::string::npos) found.push_back(line);
    }
    return found;
  };
  EXPECT_TRUE(eventually([&] { return problems().size() > 1; }));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("99\\\" is outside"), HasSubstr("98\\\" is outside")));
}

TEST_F(KubeStore, ARefusedTableKeepsItsLastGoodFormAlsoThroughANewList) {
  start_ready();
  Json bad = table("node-a", "mlx5_9");
  bad["observed"]["ports"][0]["port"] = "one";
  api.put(kTables, "node-a", bad);
  api.put(kTables, "node-bad", bad);
  EXPECT_TRUE(eventually([&] { return watch("NodeFabric").refused == 2; }));
  api.compact();
  api.drop_connections();
  api.send_line(kTables, "garbage");
  EXPECT_TRUE(eventually([&] { return watch("NodeFabric").relists >= 1; }));
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-a")));
  EXPECT_EQ(now()->tables.find("node-a")->second->unpack().ports[0].hca, "mlx5_1");
  EXPECT_EQ(watch("NodeFabric").refused, 2u);
}

TEST_F(KubeStore, ANewListKeepsTheObjectsThatDidNotChange) {
  api.put(kTables, "node-b", table("node-b"));
  start_ready();
  const auto before = now()->tables.find("node-a")->second;
  api.send_line(kTables, "garbage");
  api.put(kTables, "node-b", table("node-b", "mlx5_3"));
  EXPECT_TRUE(becomes_hca("node-b", "mlx5_3"));
  EXPECT_TRUE(eventually([&] { return watch("NodeFabric").relists == 1; }));
  EXPECT_EQ(now()->tables.find("node-a")->second, before);
}

TEST_F(KubeStore, ABurstIsAFewSnapshots) {
  start_ready();
  const auto before = store->stats().loads;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i)
    api.put(kTables, "node-" + std::to_string(i), table("node-" + std::to_string(i)));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.size() == 501; }));
  const auto passed = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(store->stats().loads - before, static_cast<std::uint64_t>(passed / 50ms) + 2);
}

TEST_F(KubeStore, ReadsAPodByName) {
  api.put("/api/v1/namespaces/ml/pods", "w-0", {{"kind", "Pod"}});
  start_ready();
  const auto pod = read_pod("ml", "w-0");
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  ASSERT_TRUE(pod->has_value());
  EXPECT_EQ(Json::parse(**pod)["kind"], "Pod");
  const std::pair<const char*, const char*> absent[] = {
      {"ml", "w-1"}, {"other", "w-0"}, {"ml", "../pods/w-0"}, {"", "w-0"}, {"ml", "W"}};
  for (const auto& [where, name] : absent) {
    const auto none = read_pod(where, name);
    ASSERT_TRUE(none.ok()) << name << none.error().message;
    EXPECT_FALSE(none->has_value()) << name;
  }
  api.refuse_with(403);
  EXPECT_THAT(read_pod("ml", "w-0").error().message, HasSubstr("HTTP 403: refused by the test"));
  api.refuse_with(0);
  api.hang("/api/v1/namespaces/ml/pods/w-0");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(store->read_pod("ml", "w-0").error().message, HasSubstr("the deadline is over"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

const ClaimRef kNics{ClaimRef::Kind::Template, "ml", "nics"};

TEST_F(KubeStore, ReadsAClaimOnceAndOnlyWhereItMayWaitAndAMissingOneAgain) {
  const std::string templates = "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaimtemplates";
  api.put(templates, "other", object_of(tests::claim_template_yaml()));
  start_ready();
  EXPECT_TRUE(store->read_claim(kNics, false).postponed());
  EXPECT_EQ(read_claim(kNics).error().message, "ResourceClaimTemplate ml/nics does not exist");
  EXPECT_TRUE(store->read_claim(kNics, false).postponed());
  const auto hostile = read_claim({ClaimRef::Kind::Claim, "ml", "../pods/x"});
  EXPECT_THAT(hostile.error().message, HasSubstr("with an impossible name does not exist"));
  api.put(templates, "nics", object_of(tests::claim_template_yaml()));
  const auto read = read_claim(kNics);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ((*read)->at(0).classes.at(0), "rdma");
  api.refuse_with(403);
  const auto known = store->read_claim(kNics, false);
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, *read);
  const auto refused = read_claim({ClaimRef::Kind::Claim, "ml", "nics"});
  EXPECT_THAT(refused.error().message, HasSubstr("ResourceClaim ml/nics could not be read: HTTP 403"));
}

TEST_F(KubeStore, AnOlderServerIsAskedInItsOwnVersionAndOneWithoutClaimsSaysSo) {
  start_ready();
  EXPECT_THAT(read_claim(kNics).error().message, HasSubstr("does not serve resource.k8s.io"));
  store.reset();
  Json old{{"kind", "ResourceClaimTemplate"}};
  old["spec"]["spec"]["devices"]["requests"] = {{{"name", "nic"}, {"deviceClassName", "rdma"}}};
  api.put("/apis/resource.k8s.io/v1beta1/namespaces/ml/resourceclaimtemplates", "nics", old);
  start_ready();
  const auto read = read_claim(kNics);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ((*read)->at(0).classes.at(0), "rdma");
}

// The first watch's thread went on calling what the constructor had already taken down.
TEST(KubeStoreStart, WithoutThreadsForAllWatchesIsAnErrorAndNotACrash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (rlim_t threads = 1; threads < 7; ++threads) {
    const auto start = [threads] {
      // Root has no limit. For others their other processes count, too: they find no thread for the first
      // watch.
      constexpr uid_t kNobodyElse = 54321;
      const rlimit limit{threads, threads};
      if (::geteuid() == 0 && ::setresuid(kNobodyElse, kNobodyElse, kNobodyElse) != 0) ::_exit(1);
      if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(1);
      std::ostringstream text;
      const auto log = Logger::to_stream(text, LogLevel::Off);
      kube::ClientConfig config;
      config.host = "127.0.0.1";
      config.port = 1;
      auto client = kube::Client::make(config, log);
      if (!client) ::_exit(client.error().message.empty() ? 1 : 0);
      const auto store = KubernetesStore::start(*std::move(client), {}, log);
      ::_exit(store.ok() || !store.error().message.empty() ? 0 : 1);
    };
    EXPECT_EXIT(start(), ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace nccl_env::store::kube_store_test
