// SPDX-License-Identifier: Apache-2.0
// What a container's command sets, in the answer for its pod.
#include <gmock/gmock.h>

#include "core/conf_pods.h"
#include "judge/asked.h"

namespace nccl_env::command_answer_test {
namespace {

using namespace nccl_env::tests;
using ::testing::ContainsRegex;

Answered asked(const char* script, Exposure exposure = Exposure::Host, bool known = true,
               std::vector<Json> env = {}) {
  NcclPolicy policy = policy_for("rdma/hca", exposure);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  Json made = container("c", std::move(env));
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
              ElementsAre(HasSubstr("ValueMisread: The command sets NCCL_IB_TIMEOUT=x: ")));
}

TEST(CommandAnswer, AValueInPlaceOfOursIsTheUsersOwn) {
  EXPECT_THAT(found_by("export NCCL_IB_HCA=mlx5_1; torchrun x"),
              ElementsAre("info UserListShort: The command sets NCCL_IB_HCA=mlx5_1, which takes 1 of the "
                          "node's 4 HCAs: without mlx5_2, mlx5_3, mlx5_4."));
  EXPECT_THAT(asked("export NCCL_IB_HCA=mlx5_1").text(), StartsWith("inject; the command sets NCCL_IB_HCA"));
  EXPECT_THAT(found_by("mpirun -x NCCL_IB_TIMEOUT=20 x"), IsEmpty());
  const Answered one = asked("export NCCL_IB_TIMEOUT=20");
  EXPECT_THAT(one.text(), AllOf(ContainsRegex("NCCL_IB_TIMEOUT +Policy +22 \\(the command's value counts\\)"),
                                ContainsRegex("NCCL_IB_TIMEOUT +Command +20")));
}

TEST(CommandAnswer, HasTheVerdictOfTheSameValueInEnv) {
  const auto verdicts = [](const Answered& answered) {
    std::vector<std::pair<Code, Severity>> all;
    for (const Finding& finding : answered.answer.findings) all.emplace_back(finding.code, finding.severity);
    return all;
  };
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"NCCL_IB_HCA", "mlx5_1"},
                                                        {"NCCL_IB_HCA", "=mlx5_1,mlx5_2,mlx5_3,mlx5_4"},
                                                        {"NCCL_IB_HCA", "mlx5_9"},
                                                        {"NCCL_IB_GID_INDEX", "9"},
                                                        {"NCCL_IB_TIMEOUT", "20"},
                                                        {"NCCL_IB_DISABLE", "1"}})
    EXPECT_EQ(verdicts(asked(("export " + name + "=" + value).c_str())),
              verdicts(asked("torchrun x", Exposure::Host, true, {env_literal(name, value)})))
        << name << "=" << value;
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
