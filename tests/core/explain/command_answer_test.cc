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

Answered asked(const char* script, Exposure exposure = Exposure::Host, bool known = true) {
  NcclPolicy policy = policy_for("rdma/hca", exposure);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  Json made = container("c");
  made["command"] = {"bash", "-c", script};
  const NodeFabric table = rails_node(4);
  return ask_template(equipped(pod({made}, exposure == Exposure::Host)), policy, known ? &table : nullptr,
                      {2, 21, 5}, exposure == Exposure::Host ? PlanOptions() : with_resolver());
}

std::vector<std::string> found_by(const char* script) {
  return texts_of(asked(script).answer.findings);
}

TEST(CommandAnswer, AListThatTheNodeDoesNotHaveIsAnError) {
  EXPECT_THAT(found_by("export NCCL_IB_HCA=mlx5_9 && torchrun x"),
              ElementsAre(AllOf(HasSubstr("error NoSuchDevice: The command sets NCCL_IB_HCA=mlx5_9: "),
                                HasSubstr("So NCCL silently falls back to sockets"))));
  EXPECT_THAT(asked("export NCCL_IB_HCA=mlx5_9").text(), HasSubstr("remedy    Take it out of that command"));
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
  EXPECT_THAT(one.text(), AllOf(ContainsRegex("NCCL_IB_TIMEOUT +Policy +22 \\(the command's value counts\\)"),
                                ContainsRegex("NCCL_IB_TIMEOUT +Command +20")));
  EXPECT_THAT(texts_of(asked("mpirun -x NCCL_IB_HCA=mlx5_1 x", Exposure::SubInterface).answer.findings),
              Contains(HasSubstr("all ranks NCCL_IB_HCA=mlx5_1, which differs from the 4 HCAs")));
}

TEST(CommandAnswer, DecidesWithoutANodeAndByAValueThatIsNotKnown) {
  const Answered unknown = asked("export NCCL_IB_HCA=$MY NCCL_IB_GID_INDEX=5", Exposure::Host, false);
  EXPECT_THAT(unknown.answer.findings, IsEmpty());
  EXPECT_THAT(unknown.answer.in_all, HasSubstr("; its command decides NCCL_IB_HCA, NCCL_IB_GID_INDEX"));
  EXPECT_THAT(unknown.text(), AllOf(ContainsRegex("NCCL_IB_HCA +Command +\\(its command decides\\)"),
                                    ContainsRegex("NCCL_IB_HCA +Binding +\\(the command's value counts\\)")));
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
    return texts_of(ask_template(pod({made}, false), policy_for("rdma/hca"), &table).answer.findings);
  };
  for (const int gpus : {8, 1})
    EXPECT_THAT(told(gpus, "2"), ElementsAre(ContainsRegex("^warning .*between nodes NCCL will use TCP")));
  EXPECT_THAT(told(8, "1"), ElementsAre(HasSubstr("info ")));
}

}  // namespace
}  // namespace nccl_env::command_answer_test
