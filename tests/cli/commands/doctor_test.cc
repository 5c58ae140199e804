// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor: sources, forms of output, exit codes; with --pods what is asked of the cluster, and which
// right is missing. What is found: core's doctor_test.cc and missed_pods_test.cc.
#include "cli/asked_cluster.h"
#include "cli/fleet.h"

namespace nccl_env::doctor_test {
namespace {

using namespace nccl_env::tests;

class Doctor : public Fleet {};

TEST_F(Doctor, HealthyIsCode0AndAFindingCode1) {
  expect_shown(run("doctor"));
  expect_shown(run("doctor", {path("fleet/a.yaml")}));
  EXPECT_EQ(run("doctor", {"-f", path("fleet/a.yaml")}).out, run("doctor", {path("fleet/a.yaml")}).out);
  write_fleet(100);
  expect_shown(run("doctor"), 1);
}

TEST_F(Doctor, ARefusedManifestIsAFindingAndTheOthersCount) {
  write("fleet/b.yaml", "kind: NodeFabric\napiVersion: nccl-env.io/v1alpha1\nmetadata: {name: gpu-3}\n");
  write("fleet/c.yaml", "a: [");
  write("fleet/d.txt", "not looked at");
  expect_shown(run("doctor"), 1);
  expect_shown(run("nodes"));
  const std::string good = path("fleet/a.yaml"), bad = path("fleet/b.yaml"), at = "--at=2026-11-20T08:00:00Z";
  expect_shown(run_cli({"doctor", bad, good, path("absent.yaml"), good, at}), 1);
  EXPECT_THAT(run_cli({"nodes", bad, good, at}).err, HasSubstr("b.yaml: NodeFabric gpu-3: "));
  expect_shown(run_cli({"doctor", bad, path("absent.yaml")}), 4);
}

TEST_F(Doctor, ThePoliciesOfTheStoreDecideWhatIsFabric) {
  write_fleet(100);
  write("fleet/p.yaml", kPolicy + "  fabric: {hcas: [mlx5_1]}\n");
  EXPECT_EQ(run("doctor").code, 0);
  EXPECT_EQ(run("doctor", {"--policy-name", "q"}).code, 2);
}

// gpu-1 as it is after the address of its second rail came back at another row.
std::string drifted(std::string nodes) {
  return named(std::move(nodes), R"(boardId: B, gids: [{index: 3, gid: "::ffff:10.2.0.1", type: RoCEv2,)",
               R"(boardId: B, gidIndexChanges: 1, gids: [{index: 5, gid: "::ffff:10.2.0.1", type: RoCEv2, )"
               R"(indexSince: "2026-11-20T07:30:00Z",)");
}

TEST_F(Doctor, StaleByTheAgeThatIsGivenOrTheWebhooksOwn) {
  EXPECT_EQ(run("doctor", {"--max-table-age", "61m"}).code, 0);
  EXPECT_EQ(run("doctor", {"--max-table-age", "59m"}).code, 1);
  write("fleet/p.yaml", kPolicy + "status: {maxTableAgeSeconds: 3660}\n");
  EXPECT_EQ(run("doctor").code, 0);
  write("fleet/p.yaml", kPolicy + "status: {maxTableAgeSeconds: 3540}\n");
  EXPECT_EQ(run("doctor").code, 1);
  EXPECT_EQ(run("doctor", {"--max-table-age", "61m"}).code, 0) << "what is given counts";
}

TEST_F(Doctor, WrongUsageIsCode2) {
  const std::string store = "--store dir:" + path("fleet");
  for (const std::string& more :
       {std::string("--store kubernetes"), store + " " + table, store + " --policy " + policy,
        std::string("--max-table-age 3"), std::string("--max-table-age -3h"),
        std::string("--max-table-age 99999999999999999999h"), std::string("-o xml"),
        std::string("--at soon")}) {
    const CliResult result = run("doctor", words(more));
    EXPECT_EQ(result.code, 2) << more;
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST_F(Doctor, NothingToLookAtIsNotHealthy) {
  std::filesystem::create_directories(path("none"));
  expect_shown(run("doctor", {"--store", "dir:" + path("none")}), 3);
  EXPECT_EQ(run("doctor", {"--store", "dir:" + path("absent")}).code, 4);
  write("empty.yaml", "{apiVersion: v1, kind: List, items: []}\n");
  for (const char* command : {"doctor", "nodes"}) {
    const CliResult empty = run_cli({command, path("empty.yaml")});
    EXPECT_THAT(empty.err, HasSubstr("empty.yaml: holds an empty list: there is no NodeFabric to judge"));
    EXPECT_EQ(empty.code, 3);
  }
  EXPECT_EQ(run_cli({"doctor", policy}).code, 4) << "the wrong file";
  EXPECT_EQ(run_cli({"nodes", "gpu-1", path("empty.yaml")}).code, 3);
  expect_shown(run_cli({"doctor", "--kubeconfig", path("absent")}), 4);
}

const std::string kTables = "/apis/nccl-env.io/v1alpha1/nodefabrics?limit=500",
                  kPolicies = "/apis/nccl-env.io/v1alpha1/ncclpolicies?limit=500";

const std::string kSpaces = "/api/v1/namespaces?labelSelector=nccl-env.io%2Fpolicy&limit=500";

Json space(const std::string& name) {
  return {
      {"kind", "Namespace"},
      {"metadata", {{"name", name}, {"resourceVersion", "1"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}};
}
std::string pods_path(const std::string& name_space, const std::string& next = "") {
  return "/api/v1/namespaces/" + name_space +
         "/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=500" +
         (next.empty() ? "" : "&continue=" + next);
}

class DoctorOfACluster : public AskedCluster {
 protected:
  DoctorOfACluster() {
    serve(kTables, list({object_of(drifted(node_yaml("gpu-1", 1))), object_of(node_yaml("gpu-2", 2))}));
    serve(kPolicies, list());
    serve(kSpaces, list({space("ml")}));
    serve(pods_path("ml"), list());
  }
  // Findings of the code, worst first.
  [[nodiscard]] std::vector<std::string> moved(const std::string& code = "GidIndexMoved") const {
    std::vector<std::string> texts;
    const Json diagnosis = Json::parse(run({"doctor", "-o", "json"}).out);
    for (const Json& finding : diagnosis["findings"]) {
      if (finding["code"] != code) continue;
      texts.push_back(finding["severity"].get<std::string>() + " " + finding["sentence"].get<std::string>());
    }
    return texts;
  }
};

TEST_F(DoctorOfACluster, AsksForThePodsOfNodesWhereAnIndexMoved) {
  Json ended = given_pod("train-3", "gpu-1", "=mlx5_2");
  ended["status"]["phase"] = "Succeeded";
  serve(pods_path("ml"),
        list({given_pod("train-0", "gpu-1", "=mlx5_1,mlx5_2"), given_pod("train-1", "gpu-1", "=mlx5_1"),
              ended, given_pod("train-4", "gone", "=mlx5_1,mlx5_2")}));
  EXPECT_THAT(moved(),
              ElementsAre(StartsWith("error pod ml/train-0: GID index 3 is gone from mlx5_2 (10.2.0.1 "
                                     "has 5 since 2026-11-20T07:30:00Z) since it was bound"),
                          StartsWith("warning 10.2.0.1 is at index 5")));
  serve(pods_path("ml"), list({given_pod("train-1", "gpu-1", "=mlx5_1")}));
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("none that runs there holds the old index"));
}

// Nothing moved since gpu-1 booted; what the pods hold is of the boot before.
TEST_F(DoctorOfACluster, NamesThePodsThatWereKeptOverABootAndWouldGetOtherValues) {
  const auto held = [](const std::string& name, const std::string& hcas, const std::string& boot) {
    Json made = given_pod(name, "gpu-1", hcas);
    Json note{{"v", 1}, {"node", "gpu-1"}, {"policy", "p"}, {"generation", 1}};
    if (!boot.empty()) note["bootId"] = boot;
    made["metadata"]["annotations"]["nccl-env.io/node"] = note.dump();
    return made;
  };
  Json gpu_1 = object_of(node_yaml("gpu-1", 1));
  serve(kPolicies, list({object_of(kPolicy)}));
  serve(pods_path("ml"),
        list({held("kept-0", "=mlx5_0,mlx5_1", "a"), held("kept-1", "=mlx5_0,mlx5_1", "a"),
              held("like-today", "=mlx5_1,mlx5_2,mlx5_3,mlx5_4", "a"),
              held("bound-since", "=mlx5_0,mlx5_1", "b"), held("unknown", "=mlx5_0,mlx5_1", "")}));
  for (const std::string boot : {"b", "a", ""}) {
    if (boot.empty())
      gpu_1["observed"].erase("bootId");
    else
      gpu_1["observed"]["bootId"] = boot;
    serve(kTables, list({gpu_1}));
    const auto found = moved("ChangedSinceBound");
    if (boot == "b")
      EXPECT_THAT(found, ElementsAre(StartsWith("warning 2 pods, ml/kept-0, ml/kept-1: kept over a boot: "
                                                "NCCL_IB_HCA (")));
    else if (boot == "a")
      EXPECT_THAT(found, ElementsAre(HasSubstr("bound-since")));
    else
      EXPECT_THAT(found, IsEmpty()) << "not known";
  }
}

// gpu-3 has an agent, gpu-4 an RDMA device that a policy wants, gpu-5 an agent that has just begun; cpu-1 has
// neither, cpu-2 an agent alone, and "gone" is no node any more.
TEST_F(DoctorOfACluster, ANodeThatShouldHaveATableAndHasNoneIsAnError) {
  EXPECT_EQ(run({"nodes", "gpu-3"}).code, 3);
  Json pods = list(), nodes = list();
  for (const std::string node : {"gpu-1", "gpu-3", "gpu-5", "cpu-2", "gone"}) {
    const char* const created = node == "gpu-5" ? "2026-11-20T07:59:00Z" : "2026-11-01T08:00:00Z";
    pods["items"].push_back(
        {{"metadata", {{"name", "a-" + node}, {"resourceVersion", "1"}, {"creationTimestamp", created}}},
         {"spec", {{"nodeName", node}}}});
  }
  for (const std::string node : {"gpu-2", "gpu-3", "gpu-4", "gpu-5", "cpu-1", "cpu-2"}) {
    const char* const some = node.starts_with("cpu") ? "0" : "8";
    nodes["items"].push_back({{"metadata", {{"name", node}, {"resourceVersion", "1"}}},
                              {"status", {{"allocatable", {{"nvidia.com/gpu", some}, {"rdma/hca", some}}}}}});
  }
  Json of_policy = object_of(kPolicy);
  of_policy["status"]["carrier"] = "EnvFile";
  serve(kPolicies, list({of_policy}));
  serve("/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dnccl-env-agent&limit=500", pods);
  EXPECT_THAT(moved("NoFabric"), ElementsAre(StartsWith("error NoTable: an agent's pod is on it"),
                                             StartsWith("error "), StartsWith("error "), StartsWith("info ")))
      << "who may not list nodes sees the agents";
  serve("/api/v1/nodes?limit=500", nodes);
  expect_shown(run({"doctor"}), 1);
  expect_shown(run({"nodes"}));
  expect_shown(run({"nodes", "gpu-4"}), 1);
  EXPECT_EQ(run({"nodes", "cpu-1"}).code, 3);
  serve("/api/v1/nodes/cpu-1", {{"kind", "Node"}});
  EXPECT_THAT(run({"nodes", "cpu-1"}).err, HasSubstr("node cpu-1 has no NodeFabric"));
  EXPECT_EQ(run({"report", "-o", path("page.html")}).code, 0);
  const std::size_t missing = moved("NoFabric").size();
  Json refused = object_of(node_yaml("gpu-3", 3));
  refused.erase("observed");
  serve(kTables, list({object_of(node_yaml("gpu-1", 1)), object_of(node_yaml("gpu-2", 2)), refused}));
  EXPECT_THAT(moved("NoFabric"), SizeIs(missing - 1)) << "its table is there, and refused";
}

TEST_F(DoctorOfACluster, WithoutNcclEnvInItIsToldWhatToDo) {
  answers.clear();
  otherwise = refusal(404, "the server could not find the requested resource");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"doctor"}, {"nodes"}, {"nodes", "gpu-1"}, {"report", "-o", "-"}}) {
    const CliResult result = ask(command);
    EXPECT_EQ(result.code, 3) << command[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr("nccl-env is not installed in this cluster"),
                                  HasSubstr("docs/operate/install.md")));
  }
  otherwise = refusal(403, "u may not");
  EXPECT_EQ(ask({"doctor"}).code, 4) << "that is not known";
}

TEST_F(DoctorOfACluster, PodsThatMayNotBeListedAreNoneThatAreWell) {
  answers.erase(pods_path("ml"));
  EXPECT_THAT(moved(), ElementsAre(StartsWith("warning 10.2.0.1 is at index 5")));
  EXPECT_THAT(moved("ChangedSinceBound"),
              ElementsAre(AllOf(StartsWith("info pods were not looked at: "), HasSubstr("not allowed"))));
  EXPECT_THAT(run({"doctor"}).out, Not(HasSubstr("none that runs there")));
}

// A device came to gpu-2 whose name begins with that of a rail.
TEST_F(DoctorOfACluster, NamesThePodsWhosePlainListTakesADeviceThatCameLater) {
  const std::string more =
      "  - {hca: mlx5_10, port: 1, linkLayer: Ethernet, transport: RoCE, state: Active, rateGbps: 25, "
      "driver: mlx5_core, boardId: C}\n";
  serve(kTables, list({object_of(node_yaml("gpu-1", 1)), object_of(node_yaml("gpu-2", 2) + more)}));
  Json pods = list();
  for (const auto& [name, hcas] :
       std::map<std::string, std::string>{{"train-0", "mlx5_1,mlx5_2,mlx5_3,mlx5_4"},
                                          {"train-1", "mlx5_1,mlx5_2,mlx5_3,mlx5_4"},
                                          {"train-2", "=mlx5_1,mlx5_2,mlx5_3,mlx5_4"},
                                          {"train-3", "mlx5_2"}})
    pods["items"].push_back(given_pod(name, "gpu-2", hcas));
  serve(pods_path("ml"), pods);
  EXPECT_THAT(
      moved("ListNotExact"),
      ElementsAre(
          "warning 2 pods, ml/train-0, ml/train-1: list mlx5_1,mlx5_2,mlx5_3,mlx5_4 takes mlx5_10, too"));
}

class DoctorPods : public AskedCluster {
 protected:
  DoctorPods() {
    serve(kPolicyPath, object_of(kPolicy));
    serve_spaces({"ml"});
    serve_pods("ml", {given_pod("train-0")});
  }
  void serve_spaces(const std::vector<std::string>& names) {
    std::vector<Json> all;
    for (const std::string& name : names) {
      all.push_back(space(name));
      serve("/api/v1/namespaces/" + name, all.back());
    }
    serve(kSpaces, list(all));
  }
  void serve_pods(const std::string& name_space, const std::vector<Json>& pods) {
    serve(pods_path(name_space), list(pods));
  }
  static Json missed_pod(const std::string& name, const std::string& name_space = "ml") {
    Json made = Json::parse(kPod);
    made["metadata"] = {{"name", name}, {"namespace", name_space}, {"resourceVersion", "1"}};
    made["spec"]["nodeName"] = "gpu-1";
    return made;
  }
};

TEST_F(DoctorPods, PodsThatHaveTheirValuesAreCode0) {
  expect_shown(run({"doctor", "--pods"}));
  EXPECT_THAT(asked(), ElementsAre(kSpaces, kPolicyPath, pods_path("ml")));
}

TEST_F(DoctorPods, MissedOnesOfAllPagesAndNamespacesAreCode1) {
  serve_spaces({"ml", "web"});
  serve(pods_path("ml"), list({missed_pod("missed-0"), given_pod("train-0")}, "more"));
  serve(pods_path("ml", "more"), list({missed_pod("missed-1")}));
  serve_pods("web", {missed_pod("missed-2", "web")});
  const CliResult result = run({"doctor", "--pods", "-o", "json"});
  EXPECT_EQ(result.code, 1) << result.err;
  const Json json = Json::parse(result.out);
  std::vector<std::string> names;
  for (const Json& some : json["pods"])
    names.push_back(some["namespace"].get<std::string>() + "/" + some["pod"].get<std::string>());
  EXPECT_THAT(names, ElementsAre("ml/missed-0", "ml/missed-1", "web/missed-2"));
  EXPECT_EQ(json["missedAtAdmission"], 3);
  EXPECT_EQ(json["lookedAt"], 4);
  EXPECT_THAT(asked(),
              ElementsAre(kSpaces, kPolicyPath, pods_path("ml"), pods_path("ml", "more"), pods_path("web")))
      << "the policy once, and of a namespace its pods alone";
}

TEST_F(DoctorPods, OneNamespaceIsLookedAtAloneAlsoWithoutTheLabel) {
  Json copied = given_pod("copied");
  copied["spec"]["nodeName"] = "gpu-2";
  serve("/api/v1/namespaces/outside",
        {{"kind", "Namespace"}, {"metadata", {{"name", "outside"}, {"resourceVersion", "1"}}}});
  serve_pods("outside", {copied, missed_pod("untouched")});
  expect_shown(run({"doctor", "--pods", "-n", "outside"}), 1);
  EXPECT_THAT(asked(), Not(Contains(kSpaces)));
}

TEST_F(DoctorPods, ARightThatIsMissingIsOneLine) {
  serve_spaces({"ml", "closed"});
  expect_shown(run({"doctor", "--pods"}), 1);
  EXPECT_EQ(run({"doctor", "--pods", "-n", "ml"}).code, 0);
  serve_none("/api/v1/namespaces/nope");
  expect_shown(run({"doctor", "--pods", "-n", "nope"}), 4);
}

TEST_F(DoctorPods, WithoutTheRightToListNamespacesOneIsToBeNamed) {
  serve_none(kSpaces);
  expect_shown(run({"doctor", "--pods"}), 4);
}

TEST_F(DoctorPods, NoNamespaceThatIsOptedInIsCode3) {
  serve_spaces({});
  EXPECT_EQ(run({"doctor", "--pods"}).code, 3);
}

TEST_F(DoctorPods, WithoutAnInstallationNoPodIsWell) {
  for (const std::string& target : {kPolicyPath, std::string("/apis/nccl-env.io/v1alpha1")})
    serve_none(target);
  EXPECT_EQ(run({"doctor", "--pods"}).code, 3);
  serve("/apis/nccl-env.io/v1alpha1", Json::object());
  EXPECT_NE(run({"doctor", "--pods"}).code, 3) << "the policy alone is missing";
}

TEST_F(DoctorPods, WrongUsageIsCode2) {
  for (const std::string& more :
       {table, "--store dir:" + path("fleet"), std::string("--policy-name p"), std::string("-n ../x"),
        std::string("-n ml --resource rdma/hca"), std::string("-n ml --cpu 2")})
    EXPECT_EQ(run(words("doctor --pods " + more)).code, 2) << more;
  EXPECT_THAT(asked(), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::doctor_test
