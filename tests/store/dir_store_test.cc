// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/dir_store.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/manifests.h"
#include "support/matchers.h"
#include "support/patience.h"
#include "support/temporary_directory.h"

namespace nccl_env::store::dir_store_test {
namespace {

using namespace nccl_env::tests;

namespace fs = std::filesystem;

class DirStore : public ::testing::Test {
 public:
  ~DirStore() override { store_.reset(); }

 protected:
  DirStore() { fs::create_directory(path()); }

  [[nodiscard]] fs::path path(const std::string& name = "") const { return directory_ / "store" / name; }
  // In one step, as editors and the kubelet do.
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(directory_ / "fresh", std::ios::binary) << text;
    fs::rename(directory_ / "fresh", path(name));
  }
  void open(PolicyOptions options = {}) {
    auto opened = DirectoryStore::open(path(), options, Logger::to_stream(log_, LogLevel::Info));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  [[nodiscard]] std::shared_ptr<const Snapshot> now() const { return store_->snapshots().get(); }
  template <class Wanted>
  [[nodiscard]] bool becomes(Wanted wanted) const {
    return nccl_env::tests::eventually([&] { return wanted(*now()); });
  }
  static std::string timeout_of(const Snapshot& snapshot) {
    const auto found = snapshot.policies.find("p");
    if (found == snapshot.policies.end() || !found->second.policy) return "";
    return found->second.policy->env.at("NCCL_IB_TIMEOUT");
  }
  // Ends the store, whose thread writes the log.
  std::string log() {
    store_.reset();
    return log_.str();
  }

  const tests::TemporaryDirectory place_;
  const fs::path directory_ = place_.path();
  std::ostringstream log_;
  std::unique_ptr<DirectoryStore> store_;
};

TEST_F(DirStore, TakesEveryDocumentOfYamlAndJsonFilesAndLists) {
  write("a.yaml", policy_yaml() + "---\n" + namespace_yaml());
  write("b.yml", table_yaml("node-b"));
  write("c.json", R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "node-c"},
     "observed": {"ports": []}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plain"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "quiet", "labels": {
     "nccl-env.io/policy": "p", "nccl-env.io/resolve": "Binding"}}}]})");
  open();
  EXPECT_THAT(now()->policies, ElementsAre(Key("p")));
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-b"), Key("node-c")));
  EXPECT_THAT(now()->opted_in, ElementsAre(Pair("ml", "p"), Pair("quiet", "p")));
  EXPECT_THAT(now()->at_binding, ElementsAre("quiet"));
  EXPECT_EQ(store_->stats().files, 3u);
  EXPECT_EQ(store_->stats().files_refused, 0u);
}

TEST_F(DirStore, LeavesOutHiddenFilesOtherNamesAndDirectoriesBelow) {
  write(".hidden.yaml", policy_yaml());
  write("notes.txt", "not a manifest");
  write("policy.yaml~", policy_yaml());
  write("below/policy.yaml", policy_yaml());
  write("directory.yaml/policy.yaml", policy_yaml());
  open();
  EXPECT_THAT(now()->policies, IsEmpty());
  EXPECT_EQ(store_->stats().files, 0u);
}

TEST_F(DirStore, OfANameGivenTwiceTheFirstInNameOrderCounts) {
  write("b.yaml", policy_yaml("", "18"));
  write("a.yaml", policy_yaml("", "17"));
  open();
  EXPECT_EQ(timeout_of(*now()), "17");
  EXPECT_EQ(store_->stats().files_refused, 0u);
  fs::remove(path("a.yaml"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return timeout_of(s) == "18"; }));
  EXPECT_THAT(log(), HasSubstr("b.yaml: NcclPolicy p is given twice; this one is ignored"));
}

TEST_F(DirStore, FollowsFilesThatComeChangeAndGo) {
  open();
  EXPECT_THAT(now()->tables, IsEmpty());
  write("a.yaml", table_yaml("node-a"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-a"); }));
  std::ofstream(path("a.yaml")) << table_yaml("node-b");  // in place
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-b"); }));
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-b")));
  fs::remove(path("a.yaml"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.empty(); }));
  const std::string told = log();
  EXPECT_THAT(told, HasSubstr(R"("tables":0,"namespaces":0,"changed":[]})"));
  EXPECT_THAT(told, HasSubstr(R"("tables":1,"namespaces":0,"changed":["NodeFabric/node-a"]})"));
  EXPECT_THAT(told, HasSubstr(R"("tables":0,"namespaces":0,"changed":["NodeFabric/node-b"]})"));
}

TEST_F(DirStore, FollowsARenamedFileAndOneThatIsStillWritten) {
  open();
  write("a.yaml", table_yaml("node-a"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-a"); }));
  const auto loads = store_->stats().loads;
  fs::rename(path("a.yaml"), path("b.yaml"));
  EXPECT_TRUE(becomes([&](const Snapshot&) { return store_->stats().loads > loads; }));
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-a")));
  EXPECT_EQ(store_->stats().files, 1u);
  const std::string text = table_yaml("node-b");
  std::ofstream half(path("b.yaml"));
  half << "a: [" << std::flush;
  EXPECT_TRUE(becomes([&](const Snapshot&) { return store_->stats().files_refused == 1; }));
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-a")));
  half.seekp(0) << text << std::flush;
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-b"); }));
  fs::rename(path("b.yaml"), path(".b.yaml"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.empty(); }));
}

// A file that has another name elsewhere changes without an event here: it is seen once all files are looked
// at.
TEST_F(DirStore, LooksAtTheFilesThatAnEventNamesAndAtAllWhereOneIsALink) {
  write("a.yaml", table_yaml("node-a"));
  fs::create_hard_link(path("a.yaml"), directory_ / "elsewhere");
  open();
  for (const char* name : {"node-b", "node-c"}) {  // after the first look of the watch, which is at all files
    write("b.yaml", table_yaml(name));
    ASSERT_TRUE(becomes([&](const Snapshot& s) { return s.tables.contains(name); }));
  }
  std::ofstream(directory_ / "elsewhere") << table_yaml("node-x");
  write("b.yaml", table_yaml("node-d"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-d"); }));
  EXPECT_TRUE(now()->tables.contains("node-a"));
  fs::create_symlink(directory_ / "elsewhere", path("c.yaml"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-x"); }));
  EXPECT_FALSE(now()->tables.contains("node-a"));
}

TEST_F(DirStore, ABadFileKeepsWhatItLastGave) {
  write("a.yaml", policy_yaml() + "---\n" + table_yaml());
  open();
  const auto loads = store_->stats().loads;
  for (const std::string& bad : {std::string("spec: ["), policy_yaml("", "99"), std::string("- a\n")}) {
    write("a.yaml", bad);
    EXPECT_TRUE(becomes([&](const Snapshot&) { return store_->stats().files_refused == 1; })) << bad;
    EXPECT_EQ(timeout_of(*now()), "22");
    EXPECT_TRUE(now()->tables.contains("node-a"));
    write("a.yaml", policy_yaml() + "---\n" + table_yaml());
    EXPECT_TRUE(becomes([&](const Snapshot&) { return store_->stats().files_refused == 0; }));
  }
  EXPECT_GT(store_->stats().loads, loads);
}

TEST_F(DirStore, AFileThatWasNeverGoodGivesWhatIsGoodInIt) {
  write("a.yaml", policy_yaml("", "99") + "---\n" + table_yaml());
  open();
  EXPECT_TRUE(now()->tables.contains("node-a"));
  EXPECT_EQ(store_->stats().files_refused, 1u);
  const auto refused = now()->policies.find("p");
  ASSERT_NE(refused, now()->policies.end());
  EXPECT_EQ(refused->second.policy, nullptr);
  EXPECT_THAT(refused->second.problem, HasSubstr("spec.env.NCCL_IB_TIMEOUT"));
  EXPECT_THAT(log(), AllOf(HasSubstr("manifest refused"), HasSubstr("\"file\":\"a.yaml\"")));
}

TEST_F(DirStore, ALinkThatLeadsNowhereIsRefusedUntilItLeadsToAFile) {
  fs::create_symlink(directory_ / "later.yaml", path("a.yaml"));
  open();
  EXPECT_EQ(store_->stats().files_refused, 1u);
  std::ofstream(directory_ / "later.yaml") << table_yaml();
  write("touch.txt", "the directory changes");
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-a"); }));
  EXPECT_EQ(store_->stats().files_refused, 0u);
}

TEST_F(DirStore, WhatIsNoRegularFileOrOverEightMebibytesIsRefusedUnread) {
  ASSERT_EQ(::mkfifo(path("a.yaml").c_str(), 0600), 0);
  write("b.yaml", table_yaml());
  write("c.yaml", table_yaml("node-c") + std::string(8u << 20, '#'));
  open();
  EXPECT_EQ(store_->stats().files_refused, 2u);
  EXPECT_THAT(now()->tables, ElementsAre(Key("node-a")));
  EXPECT_THAT(log(), HasSubstr("larger than 8388608 bytes"));
}

TEST_F(DirStore, FollowsDataLinksAsTheKubeletSwapsThem) {
  write("v1/a.yaml", table_yaml("node-1"));
  write("v2/a.yaml", table_yaml("node-2"));
  fs::create_directory_symlink("v1", path("..data"));
  fs::create_symlink("..data/a.yaml", path("a.yaml"));
  open();
  EXPECT_TRUE(now()->tables.contains("node-1"));
  fs::create_directory_symlink("v2", path("..new"));
  fs::rename(path("..new"), path("..data"));
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.tables.contains("node-2") && s.tables.size() == 1; }));
}

TEST_F(DirStore, PoliciesThatLoadCodeNeedTheOption) {
  const std::string policy = policy_yaml() + "---\n" + R"({apiVersion: nccl-env.io/v1alpha1, kind: NcclPolicy,
    metadata: {name: code}, spec: {match: {hostDevices: true}, env: {NCCL_NET_PLUGIN: other}}})";
  write("a.yaml", policy);
  open();
  EXPECT_EQ(now()->policies.at("code").policy, nullptr);
  open({true});
  EXPECT_NE(now()->policies.at("code").policy, nullptr);
}

TEST_F(DirStore, ADirectoryThatIsGoneKeepsItsObjectsAndTheirAgesDoNotCount) {
  write("a.yaml", policy_yaml() + "---\n" + table_yaml());
  open();
  fs::rename(path(), directory_ / "away");
  EXPECT_TRUE(becomes([](const Snapshot& s) { return !s.in_sync; }));
  EXPECT_EQ(timeout_of(*now()), "22");
  EXPECT_EQ(now()->tables.size(), 1u);
  fs::rename(directory_ / "away", path());
  EXPECT_TRUE(becomes([](const Snapshot& s) { return s.in_sync && s.tables.size() == 1; }));
  EXPECT_THAT(log(), HasSubstr("store not readable"));
}

TEST_F(DirStore, OnlyADirectoryOpens) {
  const auto log = Logger::to_stream(log_, LogLevel::Info);
  EXPECT_THAT(DirectoryStore::open(path("missing"), {}, log).error().message,
              AllOf(HasSubstr("missing"), HasSubstr("No such file")));
  write("a.yaml", "");
  EXPECT_FALSE(DirectoryStore::open(path("a.yaml"), {}, log).ok());
}

TEST_F(DirStore, ReadsAPodByNameAndNothingElse) {
  write("pods/ml/p.json", "{}");
  write("pods/secret.json", "hidden");
  write("outside.json", "[]");
  open();
  const auto pod = store_->read_pod("ml", "p");
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(*pod, "{}");
  const std::pair<const char*, const char*> absent[] = {
      {"ml", "q"}, {"other", "p"},          {"ml", "../secret"}, {"..", "outside"}, {".", "secret"},
      {"", "p"},   {"ml/../..", "outside"}, {"ml", ""},          {"ml", "P"},       {"ml", "a/b"}};
  for (const auto& [name_space, name] : absent) {
    const auto none = store_->read_pod(name_space, name);
    ASSERT_TRUE(none.ok()) << name;
    EXPECT_FALSE(none->has_value()) << name_space << " " << name;
  }
  fs::create_directories(path("pods/ml/d.json"));
  EXPECT_FALSE(store_->read_pod("ml", "d").ok());
}

TEST_F(DirStore, ClaimsAreThoseOfItsManifests) {
  write("claims.yaml", claim_template_yaml() + "---\n" + claim_template_yaml("other", "") + "---\n" +
                           R"({"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata":
                             {"name": "nics", "namespace": "ml"}, "spec": {"devices": {"requests": [
                               {"name": "nic", "deviceClassName": "old"}]}}})");
  open();
  using Kind = ClaimRef::Kind;
  const auto class_of = [&](Kind kind, const char* name_space) {
    const auto claim = store_->read_claim({kind, name_space, "nics"}, false);
    return claim ? (*claim)->at(0).classes.at(0) : claim.error().message;
  };
  EXPECT_EQ(class_of(Kind::Template, "ml"), "rdma");
  EXPECT_EQ(class_of(Kind::Claim, "ml"), "old");
  EXPECT_EQ(class_of(Kind::Template, "default"), "other");
  EXPECT_EQ(class_of(Kind::Template, "another"), "ResourceClaimTemplate another/nics does not exist");
}

TEST_F(DirStore, AClaimThatIsNoneRefusesItsFile) {
  write("a.yaml", claim_template_yaml("[x]"));
  open();
  EXPECT_EQ(store_->stats().files_refused, 1u);
  EXPECT_THAT(log_.str(), HasSubstr("ResourceClaimTemplate ml/nics: spec.spec.devices.requests[0].exactly."
                                    "deviceClassName: must be a string"));
}

}  // namespace
}  // namespace nccl_env::store::dir_store_test
