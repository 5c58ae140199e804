// SPDX-License-Identifier: Apache-2.0
// nccl-env verify pod/NAME: what is asked of the API server, and what it refuses.
#include "cli/asked_cluster.h"

namespace nccl_env::verify_pod_test {
namespace {

using namespace nccl_env::tests;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  const CliResult good = ask({"verify", "pod/train-0"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, AllOf(HasSubstr("1 of 3 lines are NCCL's"), HasSubstr("used  NCCL_IB_TIMEOUT=\"22\""),
                              HasSubstr("line 3: NCCL reads 22")));
  EXPECT_EQ(good.err, "");
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
  EXPECT_THAT(ask({"verify", "pod/train-0", "-n", "a/b"}).err, HasSubstr("'a/b' is not a namespace's name"));
}

TEST_F(VerifyPod, TheLimitHoldsWhateverTheServerSends) {
  serve_text(kPodPath + "/log",
             timeout_line("22") + std::string((1 << 20) - 60, 'x') + "\n" + timeout_line("14"));
  const CliResult result = ask({"verify", "pod/train-0", "--limit", "1"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.err, HasSubstr("only 1 MiB of the log were read"));
}

TEST_F(VerifyPod, OfSeveralContainersOneHasToBeNamed) {
  serve(kPodPath, pod_of({"a", "b"}));
  const CliResult open = ask({"verify", "pod/train-0"});
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("choose with --container: a, b"));
  EXPECT_EQ(ask({"verify", "pod/train-0", "-c", "b"}).code, 0);
  EXPECT_THAT(asked().back(), HasSubstr("container=b&"));
}

TEST_F(VerifyPod, APodWithoutOurStatusIsToldFromTheLogAlone) {
  Json plain = pod_of({});
  plain["metadata"].erase("annotations");
  serve(kPodPath, plain);
  const CliResult result = ask({"verify", "pod/train-0"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("pod ml/train-0: nothing was injected"));
  EXPECT_THAT(asked().back(), HasSubstr("container=sidecar&"));
}

TEST_F(VerifyPod, ARightThatIsMissingIsOneSentence) {
  answers[kPodPath + "/log"] = refusal(403, "pods \"train-0\" is forbidden: no pods/log");
  const CliResult result = ask({"verify", "pod/train-0"});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "nccl-env: pod ml/train-0: HTTP 403: pods \"train-0\" is forbidden: no pods/log\n");
  EXPECT_THAT(ask({"verify", "pod/other"}).err, HasSubstr("get pods ml/other: there is none"));
}

TEST_F(VerifyPod, GarbageIsRefused) {
  serve_text(kPodPath, "<html>");
  EXPECT_THAT(ask({"verify", "pod/train-0"}).err, HasSubstr("is not an object"));
  serve_text(kPodPath, "{}");
  const CliResult none = ask({"verify", "pod/train-0"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("the pod has no containers"));
  serve(kPodPath, pod_of({"c"}));
  serve_text(kPodPath + "/log", "");
  EXPECT_THAT(ask({"verify", "pod/train-0"}).err, HasSubstr("none of 0 lines is NCCL's"));
}

TEST_F(VerifyPod, ItsOptionsAreNotThoseOfAFile) {
  EXPECT_EQ(ask({"verify", "pod/"}).code, 2);
  EXPECT_EQ(ask({"verify", "pod/train-0", "--pod", pod}).code, 2);
  EXPECT_EQ(ask({"verify", "pod/train-0", "--tail", "0"}).code, 2);
  const CliResult file = run_cli({"verify", write("a.log", timeout_line("22")), "--previous"});
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.err, HasSubstr("only with pod/NAME"));
  EXPECT_THAT(asked(), IsEmpty());
}

// A file of that name is reached by another path.
TEST_F(VerifyPod, AFileInADirectoryPodIsNotTaken) {
  std::filesystem::create_directories(path("pod"));
  write("pod/train-0", timeout_line("22"));
  EXPECT_EQ(run_cli({"verify", path("pod/train-0")}).code, 0);
  EXPECT_THAT(asked(), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::verify_pod_test
