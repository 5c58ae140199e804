// SPDX-License-Identifier: Apache-2.0
// What a container's command sets, in the answer for its pod.
#include <gmock/gmock.h>

#include "core/asked.h"
#include "core/conf_pods.h"

namespace nccl_env::command_answer_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Answered asked(const char* script) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::Host);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  Json made = container("c");
  made["command"] = {"bash", "-c", script};
  const NodeFabric table = rails_node(4);
  return ask_template(equipped(pod({made})), policy, &table);
}

std::vector<std::string> found_by(const char* script) {
  std::vector<std::string> found;
  for (const Finding& finding : asked(script).answer.findings)
    found.push_back(std::string(to_string(finding.severity)) + " " + std::string(to_string(finding.code)) +
                    ": " + finding.sentence);
  return found;
}

TEST(CommandAnswer, AListThatTheNodeDoesNotHaveIsAnError) {
  EXPECT_THAT(found_by("export NCCL_IB_HCA=mlx5_9 && torchrun x"),
              ElementsAre(AllOf(HasSubstr("error NoSuchDevice: The command sets NCCL_IB_HCA=mlx5_9: "),
                                HasSubstr("So NCCL silently falls back to sockets"))));
  EXPECT_THAT(asked("export NCCL_IB_HCA=mlx5_9").text(), HasSubstr("remedy    Take it out of the command"));
  EXPECT_THAT(found_by("NCCL_IB_TIMEOUT=x torchrun a"),
              ElementsAre(HasSubstr("ValueMisread: NCCL_IB_TIMEOUT: \"x\"")));
}

TEST(CommandAnswer, AValueBesideOursIsAWarning) {
  EXPECT_THAT(found_by("export NCCL_IB_HCA=mlx5_1; torchrun x"),
              ElementsAre(AllOf(HasSubstr("warning ValueOverridden: The command sets NCCL_IB_HCA=mlx5_1, "),
                                HasSubstr("from the 4 HCAs of nccl-env: without mlx5_2, mlx5_3, mlx5_4."))));
  EXPECT_THAT(found_by("exec mpirun -x NCCL_IB_TIMEOUT=20 x"),
              ElementsAre(HasSubstr(
                  "The command of container c gives all ranks NCCL_IB_TIMEOUT=20 in place of 22.")));
  const Answered one = asked("export NCCL_IB_TIMEOUT=20");
  EXPECT_THAT(one.text(), AllOf(ContainsRegex("NCCL_IB_TIMEOUT +Policy +22"),
                                ContainsRegex("NCCL_IB_TIMEOUT +Command +20")));
}

TEST(CommandAnswer, TheSameValueAndWhatIsNotCertainAreNone) {
  for (const char* script : {"export NCCL_IB_TIMEOUT=22", "export NCCL_IB_HCA==mlx5_1,mlx5_2,mlx5_3,mlx5_4",
                             "export NCCL_IB_HCA=mlx5_4,mlx5_3,mlx5_2,mlx5_1", "export NCCL_DEBUG=INFO",
                             "export NCCL_IB_HCA=$LIST", "if a; then export NCCL_IB_HCA=mlx5_9; fi",
                             "export NCCL_IB_TIMEOUT=$(cat x)", "# export NCCL_IB_HCA=mlx5_9",
                             "a && export NCCL_IB_TIMEOUT=20", "torchrun x"})
    EXPECT_THAT(found_by(script), IsEmpty()) << script;
  EXPECT_THAT(asked("export NCCL_IB_TIMEOUT=22").text(), Not(HasSubstr("Command")));
}

TEST(CommandAnswer, AGpuPodWithoutRdmaIsAWarningWhereItIsOneOfSeveral) {
  const auto told = [](int gpus, const char* nodes) {
    Json made = container("c", {env_literal("NNODES", nodes)}, "");
    made["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(gpus);
    const NodeFabric table = rails_node(4);
    std::vector<std::string> found;
    for (const Finding& finding :
         ask_template(pod({made}, false), policy_for("rdma/hca"), &table).answer.findings)
      found.push_back(std::string(to_string(finding.severity)) + ": " + finding.sentence);
    return found;
  };
  EXPECT_THAT(told(8, "2"),
              ElementsAre(AllOf(HasSubstr("warning: "), HasSubstr("between nodes NCCL will use TCP"))));
  EXPECT_THAT(told(1, "2"), ElementsAre(HasSubstr("warning: ")));
  EXPECT_THAT(told(8, "1"), ElementsAre(HasSubstr("info: ")));
}

}  // namespace
}  // namespace nccl_env::command_answer_test
