// SPDX-License-Identifier: Apache-2.0
// nccl-env verify pod/NAME: what is asked of the API server, and what it refuses.
#include <optional>

#include "cli/asked_cluster.h"

namespace nccl_env::verify_pod_test {
namespace {

using namespace nccl_env::tests;

Json pod_of(const std::vector<std::string>& containers) {
  Json status{{"v", 1}, {"containers", Json::object()}};
  Json pod{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "train-0"}}}, {"spec", Json::object()}};
  for (const std::string& name : containers) {
    status["containers"][name]["set"] = {{"NCCL_IB_TIMEOUT", "Policy"}};
    pod["spec"]["containers"].push_back(
        {{"name", name}, {"env", {{{"name", "NCCL_IB_TIMEOUT"}, {"value", "22"}}}}});
  }
  pod["spec"]["containers"].push_back({{"name", "sidecar"}});
  pod["metadata"]["annotations"]["nccl-env.io/status"] = status.dump();
  return pod;
}

std::string timeout_line(const std::string& value) {
  return "gpu-1:1:1 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to " + value + ".\n";
}

const std::string kPodPath = "/api/v1/namespaces/ml/pods/train-0";

class VerifyPod : public AskedCluster {
 protected:
  void SetUp() override {
    otherwise = refusal(404, "not found");
    serve(kPodPath, pod_of({"c"}));
    serve_text(kPodPath + "/log", "starting\n\n" + timeout_line("22"));
  }
};

TEST_F(VerifyPod, ReadsPodAndLogFromTheCluster) {
  expect_shown(ask({"verify", "pod/train-0"}));
  EXPECT_THAT(asked(), ElementsAre(kPodPath, kPodPath + "/log?container=c&limitBytes=67108864"));
  serve_text(kPodPath + "/log", timeout_line("14"));
  EXPECT_EQ(ask({"verify", "pod/train-0"}).code, 1);
}

TEST_F(VerifyPod, OptionsGoWithTheRequest) {
  serve("/api/v1/namespaces/other/pods/train-0", pod_of({"c"}));
  EXPECT_EQ(ask({"verify", "pod/train-0", "-n", "other", "-p", "--tail", "9", "--limit", "1"}).code, 4);
  ASSERT_FALSE(asked().empty());
  EXPECT_EQ(asked().back(),
            "/api/v1/namespaces/other/pods/train-0/log?container=c&limitBytes=1048576&tailLines=9&previous="
            "true");
  expect_shown(ask({"verify", "pod/train-0", "-n", "a/b"}), 4);
}

TEST_F(VerifyPod, TheLimitHoldsWhateverTheServerSends) {
  serve_text(kPodPath + "/log",
             timeout_line("22") + std::string((1 << 20) - 60, 'x') + "\n" + timeout_line("14"));
  expect_shown(ask({"verify", "pod/train-0", "--limit", "1"}));
}

TEST_F(VerifyPod, OfSeveralContainersOneHasToBeNamed) {
  serve(kPodPath, pod_of({"a", "b"}));
  expect_shown(ask({"verify", "pod/train-0"}), 2);
  EXPECT_EQ(ask({"verify", "pod/train-0", "-c", "b"}).code, 0);
  EXPECT_THAT(asked().back(), HasSubstr("container=b&"));
}

TEST_F(VerifyPod, APodWithoutOurStatusIsToldFromTheLogAlone) {
  Json plain = pod_of({});
  plain["metadata"].erase("annotations");
  serve(kPodPath, plain);
  expect_shown(ask({"verify", "pod/train-0"}));
  EXPECT_THAT(asked().back(), HasSubstr("container=sidecar&"));
}

TEST_F(VerifyPod, ARightThatIsMissingIsOneSentence) {
  answers[kPodPath + "/log"] = refusal(403, "pods \"train-0\" is forbidden: no pods/log");
  expect_shown(ask({"verify", "pod/train-0"}), 4);
  expect_shown(ask({"verify", "pod/other"}), 4);
}

TEST_F(VerifyPod, GarbageIsRefused) {
  serve_text(kPodPath, "<html>");
  expect_shown(ask({"verify", "pod/train-0"}), 4);
  serve_text(kPodPath, "{}");
  expect_shown(ask({"verify", "pod/train-0"}), 3);
  serve(kPodPath, pod_of({"c"}));
  serve_text(kPodPath + "/log", "");
  expect_shown(ask({"verify", "pod/train-0"}), 3);
}

TEST_F(VerifyPod, ItsOptionsAreNotThoseOfAFile) {
  EXPECT_EQ(ask({"verify", "pod/"}).code, 2);
  EXPECT_EQ(ask({"verify", "pod/train-0", "-f", pod}).code, 2);
  EXPECT_EQ(ask({"verify", "pod/train-0", "--tail", "0"}).code, 2);
  expect_shown(run_cli({"verify", write("a.log", timeout_line("22")), "--previous"}), 2);
  // A file of that name is reached by another path.
  std::filesystem::create_directories(path("pod"));
  write("pod/train-0", timeout_line("22"));
  EXPECT_EQ(run_cli({"verify", path("pod/train-0")}).code, 0);
  EXPECT_THAT(asked(), IsEmpty());
}

class VerifyJob : public VerifyPod {
 protected:
  void SetUp() override {
    VerifyPod::SetUp();
    Json items = Json::array();
    for (const std::string name : {"train-0", "train-1", "train-2"}) {
      Json rank = pod_of({"c"});
      rank["metadata"]["name"] = name;
      rank["metadata"]["resourceVersion"] = "1";
      rank["metadata"]["labels"]["job-name"] = "train";
      items.push_back(rank);
      serve_log(name, "22");
    }
    const Json none{{"kind", "PodList"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", Json::array()}};
    instead = [=](const ScriptedRequest& request) -> std::optional<Answer> {
      if (request.target.find("/pods?") == std::string::npos) return std::nullopt;
      Json list = none;
      if (request.target.find("job-name%3Dtrain") != std::string::npos) list["items"] = items;
      return Answer{200, list.dump()};
    };
  }
  void serve_log(const std::string& name, const std::string& value) {
    serve_text("/api/v1/namespaces/ml/pods/" + name + "/log", timeout_line(value));
  }
};

TEST_F(VerifyJob, ReadsTheLogsOfAllItsPodsTheOddOneFirst) {
  EXPECT_EQ(ask({"verify", "job/train"}).code, 0);
  serve_log("train-1", "14");
  expect_shown(ask({"verify", "job/train"}), 1);
}

TEST_F(VerifyJob, ALogThatMayNotBeReadIsNamed) {
  answers["/api/v1/namespaces/ml/pods/train-2/log"] = refusal(403, "no pods/log");
  expect_shown(ask({"verify", "job/train"}));
  for (const std::string name : {"train-0", "train-1"})
    answers["/api/v1/namespaces/ml/pods/" + name + "/log"] = refusal(403, "no pods/log");
  EXPECT_EQ(ask({"verify", "job/train"}).code, 4);
}

TEST_F(VerifyJob, OneThatIsNotThereOrHasNoLineOfNccls) {
  EXPECT_EQ(ask({"verify", "job/absent"}).code, 4);
  EXPECT_EQ(ask({"verify", "job/"}).code, 2);
  for (const std::string name : {"train-0", "train-1", "train-2"})
    serve_text("/api/v1/namespaces/ml/pods/" + name + "/log", "x\n");
  expect_shown(ask({"verify", "job/train"}), 3);
}

}  // namespace
}  // namespace nccl_env::verify_pod_test
