// SPDX-License-Identifier: Apache-2.0
// nccl-env-agent run as a process, over a copy of sysfs that changes, into a directory and into a cluster.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <list>

#include "cli/cli_run.h"
#include "kube/fake_api.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/fabric/node_table.h"
#include "node/sysfs_tree.h"
#include "support/child.h"
#include "support/openssl_client.h"
#include "support/places.h"

namespace nccl_env::tests::loop_test {
namespace {

using Json = nlohmann::json;

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

class AgentRun : public CliTest {
 protected:
  AgentRun() {
    SysfsTree tree;
    add_hca(tree, {.name = "mlx5_1", .netdev = "eth1", .rows = usual_tree_rows("25.11.1.2", "eth1")});
    tree.write_to(path("sys"));
    std::filesystem::create_directories(path("store"));
  }

  void start(const std::vector<std::string>& more) {
    std::vector<std::string> command{tests::in_build("/bin/nccl-env-agent"),
                                     "run",
                                     "--node-name",
                                     "gpu-1",
                                     "--sysfs",
                                     path("sys"),
                                     "--ops-listen",
                                     "127.0.0.1:0",
                                     "--look",
                                     "1s"};
    command.insert(command.end(), more.begin(), more.end());
    agent_ = std::make_unique<Child>(command, path("log"));
  }
  void set_state(const std::string& state) const {
    const std::string file = path("sys/class/infiniband/mlx5_1/ports/1/state");
    std::ofstream(file + ".new") << state << '\n';
    std::filesystem::rename(file + ".new", file);
  }
  [[nodiscard]] std::string log() const {
    std::ifstream file(path("log"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Waits for its line in the log: the table may be there before it.
  [[nodiscard]] std::uint16_t ops_port() const {
    constexpr std::string_view kKey = "\"ops_port\":";
    std::string port;
    (void)eventually([&] {
      const std::string text = log();
      const auto at = text.find(kKey);
      const auto end = text.find_first_of(",}", at);
      if (at != text.npos && end != text.npos) port = text.substr(at + kKey.size(), end - at - kKey.size());
      return !port.empty();
    });
    return static_cast<std::uint16_t>(std::stoi(port));
  }
  [[nodiscard]] std::string ops(const std::string& target) const {
    const std::string url = "http://127.0.0.1:" + std::to_string(ops_port()) + target;
    return run_command({"curl", "-sS", "-w", "%{http_code}", url}).output;
  }
  int stop() {
    agent_->signal(SIGTERM);
    return agent_->wait().value_or(-1);
  }

  std::unique_ptr<Child> agent_;
};

TEST_F(AgentRun, KeepsAFileTrue) {
  write("store/gpu-1.yaml.aB3xYz", "observ");  // of an agent that was killed
  const std::string file = path("store/gpu-1.yaml");
  const auto table = [&]() -> std::optional<NodeFabric> {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto documents = parse_documents(text, file);
    if (!documents || documents->size() != 1) return std::nullopt;
    auto read = parse_node_fabric(documents->front());
    EXPECT_TRUE(read) << read.error().message;
    return read ? std::optional(*read) : std::nullopt;
  };
  const auto state = [&] {
    const auto now = table();
    return now ? now->ports.at(0).state : std::nullopt;
  };
  start({"--store", "dir:" + path("store")});
  ASSERT_TRUE(eventually([&] { return state() == PortState::Active; })) << log();
  EXPECT_FALSE(table()->ports[0].state_since);
  ASSERT_TRUE(eventually([&] { return ops("/readyz") == "ok\n200"; }));
  EXPECT_EQ(ops("/healthz"), "ok\n200");
  EXPECT_THAT(ops("/metrics"), HasSubstr("nccl_env_agent_ports{state=\"Active\"} 1\n"));
  EXPECT_THAT(ops("/metrics"),
              AllOf(HasSubstr("nccl_env_agent_problems 0\n"), HasSubstr("nccl_env_agent_verbs 0\n"),
                    HasSubstr("nccl_env_agent_gid_index_moved 0\n")));
  EXPECT_THAT(ops("/nope"), HasSubstr("404"));
  const auto looks = [&] {
    const std::string text = ops("/metrics");
    const auto at = text.find("nccl_env_agent_look_duration_seconds_count ");
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + 43));
  };
  ASSERT_TRUE(eventually([&] { return looks() >= 3; }));
  EXPECT_THAT(ops("/metrics"), HasSubstr("nccl_env_agent_publishes_total{outcome=\"succeeded\"} 1\n"));

  set_state("1: DOWN");
  ASSERT_TRUE(eventually([&] { return state() == PortState::Down; })) << log();
  EXPECT_TRUE(table()->ports[0].state_since);
  EXPECT_EQ(stop(), 0) << log();
  EXPECT_THAT(log(), HasSubstr("\"msg\":\"stopped\""));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("store")), {}), 1);  // no rest of a write
}

// As a release that has only the older form wrote it.
Json older_table() {
  return Json::parse(R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric",
    "metadata": {"name": "gpu-1"}, "observed": {"ports": [{"hca": "mlx5_1", "port": 1, "gids": [
      {"index": 3, "gid": "::ffff:25.11.1.2", "type": "RoCEv2", "netdev": "eth1"}]}]}})");
}

TEST_F(AgentRun, RowsInTheirOlderFormKeepItUntilARefresh) {
  const std::string file = write("store/gpu-1.yaml", older_table().dump());
  const auto has = [&](const std::string& form, const std::string& state) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string other = form == "gids" ? "gidRows:" : "gids:";
    return text.find(form + ":") != text.npos && text.find(other) == text.npos &&
           text.find("state: " + state) != text.npos;
  };
  start({"--store", "dir:" + path("store")});
  ASSERT_TRUE(eventually([&] { return has("gids", "Active"); })) << log();
  set_state("1: DOWN");
  ASSERT_TRUE(eventually([&] { return has("gids", "Down"); })) << log();
  EXPECT_EQ(stop(), 0) << log();

  start({"--store", "dir:" + path("store"), "--refresh", "1s"});
  ASSERT_TRUE(eventually([&] { return has("gidRows", "Down"); })) << log();
  EXPECT_EQ(stop(), 0) << log();
  start({"--store", "dir:" + path("store")});
  set_state("4: ACTIVE");
  ASSERT_TRUE(eventually([&] { return has("gidRows", "Active"); })) << log();
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(AgentRun, SilentConnectionsDoNotFailTheProbe) {
  start({"--store", "dir:" + path("store")});
  const std::uint16_t port = ops_port();
  std::list<net::TestClient> silent;
  for (int i = 0; i < 128; ++i) silent.emplace_back(port, false, nullptr, 1 + i % 20);
  EXPECT_EQ(ops("/healthz"), "ok\n200");
  EXPECT_EQ(stop(), 0);
}

TEST_F(AgentRun, EveryLineOfAStartThatFailedIsJson) {
  const std::string store = "dir:" + path("store");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"run", "--node-name", "a", "--store", path("store")}, "do you mean " + store + "?"},
      {{"run", "--node-name", "a", "--store", store, "--refresh", "1"}, "--refresh: "},
      {{"run", "--node-name", "a", "--store", store, "--ops-listen", "localhost:1"}, "'localhost:1' is not"},
      {{"run", "--node-name", "a", "--store", store, "--ops-listen", "192.0.2.1:1"}, "--ops-listen: can't"},
      {{"run", "--node-name", "a", "--store", "kubernetes", "--kubeconfig", path("no")}, "--kubeconfig: "},
      {{"run", "--node-name", "a", "--store", "dir:" + path("absent")}, "absent: no such directory"},
      {{"run", "--node-name", "a"}, "--store is required"}};
  for (auto [command, part] : wrong) {
    command.insert(command.begin(), tests::in_build("/bin/nccl-env-agent"));
    agent_ = std::make_unique<Child>(command, path("log"));
    EXPECT_NE(agent_->wait(), 0) << part;
    const Json line = Json::parse(log(), nullptr, false);
    EXPECT_EQ(line.value("level", ""), "error") << log();
    EXPECT_EQ(line.value("msg", ""), "could not start") << log();
    EXPECT_THAT(line.value("problem", ""), HasSubstr(part));
  }
}

const std::string kTables = "/apis/nccl-env.io/v1alpha1/nodefabrics";
const std::string kNodes = "/api/v1/nodes";

// A cluster of one node.
class ClusterAgentRun : public AgentRun {
 protected:
  ClusterAgentRun() {
    set_node();
    api_.serve(kTables);
  }
  void set_node(const std::string& uid = "uid-1", const Json& labels = Json::object()) {
    api_.put(kNodes, "gpu-1",
             {{"metadata", {{"uid", uid}, {"creationTimestamp", "2026-01-01T00:00:00Z"}, {"labels", labels}}},
              {"status", {{"addresses", {{{"type", "InternalIP"}, {"address", "127.0.0.1"}}}}}}});
  }
  void start_in_cluster(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--store", "kubernetes", "--kubeconfig",
                             write("kubeconfig", kubeconfig_of(api_.port()).dump())});
    start(more);
  }
  [[nodiscard]] std::vector<ScriptedRequest> patches() { return api_.patches(); }
  [[nodiscard]] Json last() {
    const auto all = patches();
    return all.empty() ? Json() : Json::parse(all.back().body);
  }
  std::string state() {
    const Json table = last();
    return table.is_null() ? "" : table["observed"]["ports"][0]["state"].get<std::string>();
  }

  FakeApi api_;
};

TEST_F(ClusterAgentRun, AppliesItsOwnTableOwnedByItsNode) {
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return !patches().empty(); })) << log();
  const ScriptedRequest patch = patches().front();
  EXPECT_EQ(patch.method, "PATCH");
  EXPECT_EQ(patch.target,
            "/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-1?fieldManager=nccl-env-agent&force=true");
  EXPECT_EQ(patch.field("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(patch.field("Authorization"), "Bearer secret");
  const Json owner = last()["metadata"]["ownerReferences"];
  EXPECT_EQ(owner, (Json{{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "gpu-1"}, {"uid", "uid-1"}}}));
  EXPECT_TRUE(parse_node_fabric(last()));
  EXPECT_EQ(last()["observed"]["ports"][0]["gidRows"][3], "3 RoCEv2 25.11.1.2 dev eth1");
  EXPECT_FALSE(has_row_objects(last()));
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(ClusterAgentRun, RowsInTheirOlderFormKeepItAtFirst) {
  api_.put(kTables, "gpu-1", older_table());
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return state() == "Active"; })) << log();
  EXPECT_TRUE(has_row_objects(last()));
  set_state("1: DOWN");
  ASSERT_TRUE(eventually([&] { return state() == "Down"; })) << log();
  EXPECT_TRUE(has_row_objects(last()));
  EXPECT_FALSE(last()["observed"]["ports"][0].contains("gidRows"));
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(ClusterAgentRun, AServerThatIsAwayGetsTheNewestStateWhenItReturns) {
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return state() == "Active"; })) << log();
  api_.stop();
  set_state("1: DOWN");
  ASSERT_TRUE(eventually([&] { return log().find("tried again") != std::string::npos; })) << log();
  set_state("2: INIT");
  ASSERT_TRUE(eventually([&] { return count(log(), "table changed") == 3; })) << log();
  api_.restart();
  ASSERT_TRUE(eventually([&] { return state() == "Init"; })) << log();
  EXPECT_EQ(patches().size(), 2u);
  EXPECT_EQ(stop(), 0);
}

TEST_F(ClusterAgentRun, ARefusalIsLoggedAndTriedAgain) {
  api_.refuse_writes(403);
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return log().find("HTTP 403: refused by the test") != std::string::npos; }))
      << log();
  EXPECT_THAT(ops("/readyz"), HasSubstr("503"));
  ASSERT_TRUE(eventually([&] {
    return log().find(R"("attempt":2,"next_in_seconds":)") != std::string::npos;
  })) << log();
  api_.refuse_writes(0);
  ASSERT_TRUE(eventually([&] { return !patches().empty(); })) << log();
  EXPECT_EQ(stop(), 0);
}

// A label is read with the next write, whatever that is for, and one that is new takes one write more.
TEST_F(ClusterAgentRun, TheTableHasTheLabelsThatAreAskedFor) {
  set_node("uid-1", Json{{"zone", "a"}, {"other", "x"}});
  start_in_cluster({"--node-labels", "zone,example.com/shape,zone"});
  ASSERT_TRUE(eventually([&] { return !patches().empty(); })) << log();
  EXPECT_EQ(last()["observed"]["nodeLabels"],
            Json::parse(R"([{"key": "zone", "value": "a"}, {"key": "example.com/shape"}])"));
  EXPECT_TRUE(parse_node_fabric(last()));

  const auto value = [&] { return last()["observed"]["nodeLabels"][0].value("value", "none"); };
  const auto change = [&](const Json& labels, const char* state) {
    const auto before = patches().size();
    set_node("uid-1", labels);
    set_state(state);
    const std::string wanted = labels.value("zone", "none");
    EXPECT_TRUE(eventually([&] { return value() == wanted; })) << log();
    EXPECT_EQ(patches().size(), before + 2) << "the port's and the label's";
  };
  change(Json{{"zone", "b"}}, "1: DOWN");
  change(Json::object(), "2: INIT");
  change(Json{{"zone", "b"}}, "4: ACTIVE");
  EXPECT_EQ(stop(), 0);

  // An agent that starts again reads the Node before its first table.
  set_node("uid-1", Json{{"zone", "c"}});
  const auto before = patches().size();
  start_in_cluster({"--node-labels=zone"});
  ASSERT_TRUE(eventually([&] { return patches().size() > before; })) << log();
  EXPECT_EQ(last()["observed"]["nodeLabels"], Json::parse(R"([{"key": "zone", "value": "c"}])"));
  EXPECT_EQ(stop(), 0);

  const auto with_labels = patches().size();
  start_in_cluster({"--node-labels", ""});
  ASSERT_TRUE(eventually([&] { return patches().size() > with_labels; })) << log();
  EXPECT_EQ(last()["observed"]["nodeLabels"], Json::array());
  EXPECT_EQ(stop(), 0);
}

TEST_F(ClusterAgentRun, ATableThatIsTakenAwayComesBackAndIsMissedUntilThen) {
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return api_.watches() > 0 && ops("/readyz") == "ok\n200"; })) << log();
  EXPECT_THAT(ops("/metrics"), HasSubstr("nccl_env_agent_table_present 1\n"));
  set_node("uid-2");
  api_.refuse_writes(404);  // its CRD is gone, too
  api_.erase(kTables, "gpu-1");
  ASSERT_TRUE(eventually([&] { return ops("/readyz") == "the table is not written yet, or lost\n503"; }))
      << log();
  EXPECT_THAT(ops("/metrics"), AllOf(HasSubstr("nccl_env_agent_table_present 0\n"),
                                     HasSubstr("nccl_env_agent_tables_lost_total 1\n")));
  EXPECT_THAT(log(), HasSubstr("it is gone"));
  api_.refuse_writes(0);
  ASSERT_TRUE(eventually([&] { return last()["metadata"]["ownerReferences"][0]["uid"] == "uid-2"; }))
      << log();
  EXPECT_TRUE(eventually([&] { return ops("/readyz") == "ok\n200"; }));
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(ClusterAgentRun, ATableThatSomebodyEditedIsWrittenAgain) {
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return api_.watches() > 0 && !patches().empty(); })) << log();
  Json edited = api_.get(kTables, "gpu-1");
  edited["observed"]["ports"][0]["hca"] = "mlx5_9";
  api_.put(kTables, "gpu-1", edited);
  ASSERT_TRUE(eventually([&] { return patches().size() == 2; })) << log();
  EXPECT_THAT(log(), HasSubstr("somebody changed it"));
  EXPECT_EQ(last()["observed"]["ports"][0]["hca"], "mlx5_1");
  EXPECT_EQ(stop(), 0);
}

TEST_F(ClusterAgentRun, SigtermEndsACallThatGetsNoAnswer) {
  api_.hang(kNodes + "/gpu-1");
  start_in_cluster();
  ASSERT_TRUE(eventually([&] { return api_.asked(kNodes + "/gpu-1") > 0; })) << log();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(stop(), 0) << log();
  EXPECT_LT(std::chrono::steady_clock::now() - begin,
            std::chrono::seconds(8));  // the call's own deadline is 10 s
}

}  // namespace
}  // namespace nccl_env::tests::loop_test
