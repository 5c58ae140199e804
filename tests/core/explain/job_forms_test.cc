// SPDX-License-Identifier: Apache-2.0
// explain job/NAME where the ranks' values come by /etc/nccl.conf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/asked.h"
#include "core/conf_pods.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/explain/job.h"

namespace nccl_env::job_forms_test {
namespace {

using namespace nccl_env::tests;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kLines = "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\n";

// The pod worker-N on gpu-N that finds its values itself.
Json worker(int number, const Json& state, Exposure exposure = Exposure::SubInterface, bool at_start = true) {
  NcclPolicy policy = policy_for("rdma/hca*", exposure);
  policy.env = {{"NCCL_IB_QPS_PER_CONNECTION", "8"}};
  Json object =
      admit(pod({container("c")}, false), policy, nullptr, at_start ? with_resolver() : PlanOptions()).pod;
  object["metadata"]["name"] = "worker-" + std::to_string(number);
  object["spec"]["nodeName"] = "gpu-" + std::to_string(number);
  object["status"]["initContainerStatuses"] = Json::array({{{"name", "nccl-env-resolve"}, {"state", state}}});
  return object;
}

AnsweredJob with_odd(const Json& odd) {
  return ask_job({worker(0, said(kLines)), worker(1, said(kLines)), odd, worker(3, said(kLines))});
}

TEST(JobForms, TheFilesLinesAreTheRanksValues) {
  const AnsweredJob asked = with_odd(worker(2, said(kLines)));
  EXPECT_THAT(texts_of(asked.answer.findings), IsEmpty());
  EXPECT_THAT(asked.answer.ranks[2].hcas, ElementsAre("mlx5_1", "mlx5_2"));
  EXPECT_EQ(asked.answer.ranks[2].gid_index, "3");
}

TEST(JobForms, LinesThatABindingWroteAreRanksValuesToo) {
  NcclPolicy policy = file_policy(Exposure::Host);
  std::vector<Json> objects;
  for (int number = 0; number < 3; ++number) {
    Json object = admit(pod({container("c")}, false), policy).pod;
    object["metadata"]["name"] = "worker-" + std::to_string(number);
    object["spec"]["nodeName"] = "gpu-" + std::to_string(number);
    object["metadata"]["annotations"]["nccl-env.io/node"] =
        R"({"v":1,"node":"gpu-)" + std::to_string(number) + R"(","policy":"p","generation":1})";
    object["metadata"]["annotations"]["host.nccl-env.io/nccl.conf"] =
        number == 1 ? "NCCL_IB_HCA==mlx5_1\n" : kLines;
    objects.push_back(object);
  }
  EXPECT_THAT(texts_of(ask_job(objects).answer.findings),
              ElementsAre("warning MissingRail worker-1: has 1 HCA where others have 2: mlx5_2 is missing"));
}

TEST(JobForms, AMissingRailIsSeenInTheFile) {
  EXPECT_THAT(
      texts_of(with_odd(worker(2, said("NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\n"))).answer.findings),
      ElementsAre("warning MissingRail worker-2: has 1 HCA where others have 2: mlx5_2 is missing"));
}

TEST(JobForms, ARankThatDidNotFindWhatOthersDidIsOdd) {
  EXPECT_THAT(
      texts_of(
          with_odd(worker(2, said("NCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX: GidTableUnknown: None.\n")))
              .answer.findings),
      ElementsAre("warning OddNode worker-2: got no NCCL_IB_GID_INDEX, which others have: the pod found none "
                  "(GidTableUnknown)"));
}

TEST(JobForms, ARankWhoseInitContainerFailedIsHeldBackOrOdd) {
  EXPECT_THAT(
      texts_of(with_odd(worker(2, said("", 1))).answer.findings),
      ElementsAre("error HeldBack worker-2: does not start: its init container nccl-env-resolve does not get "
                  "through (exit code 1, Error)"));
  EXPECT_THAT(texts_of(with_odd(worker(2, said("PolicyInvalid: none\n"))).answer.findings),
              ElementsAre(AllOf(StartsWith("warning LookFailed worker-2: found none of its values itself"),
                                HasSubstr("(PolicyInvalid: none)"))));
}

TEST(JobForms, ARankThatHasNotStartedYetIsNobodysDifference) {
  EXPECT_THAT(texts_of(with_odd(worker(2, Json{{"running", Json::object()}})).answer.findings), IsEmpty());
}

TEST(JobForms, ARankOfAnotherFormIsNamed) {
  EXPECT_THAT(
      texts_of(with_odd(worker(2, nullptr, Exposure::PodOwned, false)).answer.findings),
      ElementsAre(StartsWith("warning FormDiffers worker-2: gets its values by form Constants, most by "
                             "ContainerStart")));
}

TEST(JobForms, DevicesOfAPodsOwnAreComparedByNumber) {
  const auto own = [](int number, const std::string& hcas) {
    return worker(number, said("NCCL_IB_HCA==" + hcas + "\n"), Exposure::PodOwned);
  };
  EXPECT_THAT(texts_of(ask_job({own(0, "mlx5_3"), own(1, "mlx5_3"), own(2, "mlx5_9")}).answer.findings),
              IsEmpty());
  EXPECT_THAT(
      texts_of(ask_job({own(0, "mlx5_3,mlx5_4"), own(1, "mlx5_3,mlx5_4"), own(2, "mlx5_9")}).answer.findings),
      ElementsAre("warning MissingRail worker-2: has 1 HCA where others have 2"));
}

}  // namespace
}  // namespace nccl_env::job_forms_test
