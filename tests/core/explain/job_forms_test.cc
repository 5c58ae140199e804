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
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

// "error MissedAtBinding worker-2" of each finding; the golden holds the sentence.
std::vector<std::string> told(const AnsweredJob& asked) {
  expect_golden(asked.answer.sentence);
  std::vector<std::string> codes;
  for (const std::string& text : texts_of(asked.answer.findings))
    codes.push_back(text.substr(0, text.find(':')));
  return codes;
}

TEST(JobForms, ARankThatDidNotFindWhatOthersDidIsOdd) {
  EXPECT_THAT(told(with_odd(worker(2, said("NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\n")))),
              ElementsAre("error MissingRail worker-2"));
  const std::string no_index = "NCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX: GidTableUnknown: None.\n";
  EXPECT_THAT(told(with_odd(worker(2, said(no_index)))), ElementsAre("warning OddNode worker-2"));
  EXPECT_THAT(told(with_odd(worker(2, said("", 1)))), ElementsAre("error HeldBack worker-2"));
  EXPECT_THAT(told(with_odd(worker(2, said("PolicyInvalid: none\n")))),
              ElementsAre("warning LookFailed worker-2"));
}

TEST(JobForms, ARankOfAnotherFormIsNamed) {
  EXPECT_THAT(told(with_odd(worker(2, nullptr, Exposure::PodOwned, false))),
              ElementsAre("warning FormDiffers worker-2"));
}

TEST(JobForms, DevicesOfAPodsOwnAreComparedByNumber) {
  const auto own = [](int number, const std::string& hcas) {
    return worker(number, said("NCCL_IB_HCA==" + hcas + "\n"), Exposure::PodOwned);
  };
  EXPECT_THAT(texts_of(ask_job({own(0, "mlx5_3"), own(1, "mlx5_3"), own(2, "mlx5_9")}).answer.findings),
              IsEmpty());
  EXPECT_THAT(told(ask_job({own(0, "mlx5_3,mlx5_4"), own(1, "mlx5_3,mlx5_4"), own(2, "mlx5_9")})),
              ElementsAre("error MissingRail worker-2"));
}

}  // namespace
}  // namespace nccl_env::job_forms_test
