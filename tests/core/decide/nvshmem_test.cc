// SPDX-License-Identifier: Apache-2.0
// NVSHMEM's list of HCAs, which goes the ways of NCCL's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/conf_pods.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/catalogue.h"

namespace nccl_env::tests::nvshmem_test {
namespace {

const std::string kList = "NVSHMEM_HCA_LIST";

NcclPolicy with_nvshmem(Exposure exposure) {
  NcclPolicy policy = file_policy(exposure);
  policy.engines.push_back(find_engine("NVSHMEM"));
  return policy;
}

BindingPlan bound(const NcclPolicy& policy, const NodeFabric* table) {
  return plan_binding(std::make_shared<const NcclPolicy>(policy), "node-a", table, {kNow});
}

// Returns the list that a container has, by its env or by the file; "none" where it has none.
std::string list_of(const Json& pod, std::size_t container = 0) {
  const auto env = nccl_environment(pod, container);
  const auto found = env.find(kList);
  return found == env.end() ? "none" : found->second;
}

Json by_file(const std::vector<Json>& containers, const NcclPolicy& policy, const NodeFabric* table) {
  return bind_to_node(admit(pod(containers), policy).pod, bound(policy, table));
}

TEST(Nvshmem, TheFileHasTheSamePortsByTheirNumbers) {
  NodeFabric table = rails(2);
  table.ports[1].number = 2;
  const NcclPolicy policy = with_nvshmem(Exposure::Host);
  const Json pod = by_file({container("c")}, policy, &table);
  EXPECT_EQ(list_of(pod), "mlx5_1:1,mlx5_2:2");
  EXPECT_EQ(nccl_environment(pod, 0).at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2:2");
  EXPECT_EQ(told(pod, "c", kList), "File");
  EXPECT_EQ(environment(pod, 0).count(kList), 0u) << "never empty";
}

TEST(Nvshmem, NobodyElseHasIt) {
  const NodeFabric table = rails(2);
  const Json asks = container("c", {env_literal("TORCH_SYMMMEM", "NVSHMEM")});
  EXPECT_EQ(list_of(by_file({asks}, file_policy(Exposure::Host), &table)), "none");
}

TEST(Nvshmem, WithoutANodesValueItIsLeftOutForTheReasonOfTheList) {
  const NcclPolicy policy = with_nvshmem(Exposure::Host);
  EXPECT_EQ(list_of(by_file({container("c")}, policy, nullptr)), "none");
  const BindingPlan plan = bound(policy, nullptr);
  EXPECT_EQ(plan.host.omission(kList)->reason, Reason::NoTable);
  EXPECT_EQ(plan.host.find(kList), nullptr);
}

TEST(Nvshmem, MoreThanSixteenAreLeftOut) {
  NcclPolicy policy = with_nvshmem(Exposure::Host);
  policy.fabric.hcas = {"mlx5_*"};
  const NodeFabric sixteen = rails(16), seventeen = rails(17);
  EXPECT_NE(list_of(by_file({container("c")}, policy, &sixteen)), "none");
  EXPECT_EQ(list_of(by_file({container("c")}, policy, &seventeen)), "none");
  EXPECT_EQ(bound(policy, &seventeen).host.omission(kList)->reason, Reason::EngineCannotSay);
  EXPECT_FALSE(bound(policy, &seventeen).host.deny) << "no reason to hold a pod";
}

TEST(Nvshmem, StandsNeverBesideTheUsersOwnChoice) {
  const NodeFabric table = rails(2);
  const NcclPolicy policy = with_nvshmem(Exposure::Host);
  for (const char* own :
       {"NVSHMEM_HCA_LIST", "NVSHMEM_HCA_PE_MAPPING", "NVSHMEM_ENABLE_NIC_PE_MAPPING", "NCCL_IB_HCA"}) {
    const Json pod = by_file({container("c", {env_literal(own, "1")})}, policy, &table);
    EXPECT_EQ(list_of(pod), own == kList ? "1" : "none") << own;
    EXPECT_EQ(told(pod, "c", kList), own == kList ? "UserSet" : "UserSetGroup") << own;
  }
}

TEST(Nvshmem, AllContainersReadOneFileSoOnesChoiceIsAllOfTheirs) {
  const NodeFabric table = rails(2);
  const std::vector<Json> two{container("asks"),
                              container("maps", {env_literal("NVSHMEM_HCA_PE_MAPPING", "mlx5_1:1:8")})};
  const Json pod = by_file(two, with_nvshmem(Exposure::Host), &table);
  EXPECT_EQ(list_of(pod, 0), "none");
  EXPECT_EQ(list_of(pod, 1), "none");
  EXPECT_EQ(told(pod, "asks", kList), "UserSetGroup");
  EXPECT_EQ(told(pod, "asks", "NCCL_IB_HCA"), "File") << "the rest of the file holds";
}

TEST(Nvshmem, ByEnvFileTheInitContainerReadsItAtItsBinding) {
  NcclPolicy policy = with_nvshmem(Exposure::Host);
  policy.deliver_env_file = true;
  const Json made = admit(pod({container("c"), container("d")}), policy, nullptr, with_resolver()).pod;
  EXPECT_THAT(made["spec"]["initContainers"][0]["args"].back().dump(),
              ::testing::HasSubstr("NCCL_IB_HCA,NVSHMEM_HCA_LIST,NCCL_IB_GID_INDEX,NCCL_IB_ADDR_FAMILY"));
  EXPECT_EQ(told(made, "c", kList), "EnvFile");
  EXPECT_EQ(told(made, "d", kList), "EnvFile");
  EXPECT_EQ(admit(made, policy, nullptr, with_resolver()).patch, "");
}

TEST(Nvshmem, APodThatLooksItselfFindsItThere) {
  const NcclPolicy policy = with_nvshmem(Exposure::PodOwned);
  const Json asking = admit(pod({container("c")}, false), policy, nullptr, with_resolver()).pod;
  const Json& env = asking["spec"]["initContainers"][0]["env"];
  EXPECT_EQ(env[1], env_literal("NCCL_ENV_ENGINES", "NVSHMEM"));
  EXPECT_EQ(told(asking, "c", kList), "Pod");
  const NodeFabric seen = rails(2);
  EXPECT_EQ(resolve_in_pod(policy, seen, false, kNow, {}, true).values.at(kList), "mlx5_1:1,mlx5_2:1");
  EXPECT_EQ(resolve_in_pod(policy, seen, false, kNow).values.count(kList), 0u);
  const Json plain =
      admit(pod({container("c")}, false), file_policy(Exposure::PodOwned), nullptr, with_resolver()).pod;
  EXPECT_EQ(names(plain["spec"]["initContainers"][0]["env"]), std::vector<std::string>{"NCCL_ENV_POLICY"});
}

TEST(Nvshmem, APolicysOwnSettingCounts) {
  NcclPolicy policy = with_nvshmem(Exposure::Host);
  policy.env.emplace("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1");
  const NodeFabric table = rails(1);
  EXPECT_EQ(list_of(by_file({container("c")}, policy, &table)), "none");
}

TEST(Nvshmem, APolicysListInTheGrammarOfNcclIsNotCopied) {
  NcclPolicy policy = with_nvshmem(Exposure::Host);
  policy.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  const NodeFabric table = rails(1);
  const Json pod = by_file({container("c")}, policy, &table);
  EXPECT_EQ(list_of(pod), "none");
  EXPECT_EQ(told(pod, "c", kList), "OmittedByPolicy");
}

TEST(Nvshmem, ASecondReviewChangesNothing) {
  const NcclPolicy policy = with_nvshmem(Exposure::Host);
  const Admitted first = admit(pod({container("c"), container("d")}), policy);
  EXPECT_EQ(admit(with_api_defaults(first.pod), policy).patch, "");
}

}  // namespace
}  // namespace nccl_env::tests::nvshmem_test
