// SPDX-License-Identifier: Apache-2.0
// NVSHMEM's list of HCAs, which goes the ways of NCCL's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/decide/decided.h"
#include "nccl_env/core/engines/catalogue.h"

namespace nccl_env::tests::nvshmem_test {
namespace {

const std::string kList = "NVSHMEM_HCA_LIST";

NcclPolicy with_nvshmem(Exposure exposure = Exposure::Host) {
  NcclPolicy policy = file_policy(exposure);
  policy.engines.push_back(find_engine("NVSHMEM"));
  return policy;
}

// Returns the list that a container has, by its env or by the file; "none" where it has none.
std::string list_of(const Json& pod, std::size_t container = 0) {
  const auto env = nccl_environment(pod, container);
  const auto found = env.find(kList);
  return found == env.end() ? "none" : found->second;
}

Json by_file(const std::vector<Json>& containers, const NcclPolicy& policy, const NodeFabric* table) {
  return bind_to_node(settled(pod(containers), policy).pod, binding_of(policy, table));
}

TEST(Nvshmem, TheFileHasTheSamePortsByTheirNumbers) {
  NodeFabric table = rails(2);
  table.ports[1].number = 2;
  const Json pod = by_file({container("c"), container("d")}, with_nvshmem(), &table);
  EXPECT_EQ(list_of(pod), "mlx5_1:1,mlx5_2:2");
  EXPECT_EQ(nccl_environment(pod, 0).at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2:2");
  EXPECT_EQ(told(pod, "c", kList), "File");
  EXPECT_EQ(environment(pod, 0).count(kList), 0u) << "never empty";
  const Json asks = container("c", {env_literal("TORCH_SYMMMEM", "NVSHMEM")});
  EXPECT_EQ(list_of(by_file({asks}, file_policy(Exposure::Host), &table)), "none") << "nobody else has it";
}

TEST(Nvshmem, WithoutANodesValueItIsLeftOutForTheReasonOfTheList) {
  NcclPolicy policy = with_nvshmem();
  EXPECT_EQ(list_of(by_file({container("c")}, policy, nullptr)), "none");
  EXPECT_EQ(reason_of(binding_of(policy, nullptr).host, kList), "NoTable");
  EXPECT_EQ(binding_of(policy, nullptr).host.find(kList), nullptr);
  policy.fabric.hcas = {"mlx5_*"};
  const NodeFabric most = rails(16), more = rails(17);
  EXPECT_NE(list_of(by_file({container("c")}, policy, &most)), "none");
  EXPECT_EQ(list_of(by_file({container("c")}, policy, &more)), "none");
  EXPECT_EQ(reason_of(binding_of(policy, &more).host, kList), "EngineCannotSay");
  EXPECT_FALSE(binding_of(policy, &more).host.deny) << "no reason to hold a pod";
}

// All containers read one file, so one's choice for the group is all of theirs.
TEST(Nvshmem, StandsNeverBesideTheUsersOwnChoice) {
  const NodeFabric table = rails(2);
  for (const char* own :
       {"NVSHMEM_HCA_LIST", "NVSHMEM_HCA_PE_MAPPING", "NVSHMEM_ENABLE_NIC_PE_MAPPING", "NCCL_IB_HCA"}) {
    const Json pod = by_file({container("c", {env_literal(own, "1")})}, with_nvshmem(), &table);
    EXPECT_EQ(list_of(pod), own == kList ? "1" : "none") << own;
    EXPECT_EQ(told(pod, "c", kList), own == kList ? "UserSet" : "UserSetGroup") << own;
  }
  const Json maps = container("maps", {env_literal("NVSHMEM_HCA_PE_MAPPING", "mlx5_1:1:8")});
  const Json pod = by_file({container("asks"), maps}, with_nvshmem(), &table);
  EXPECT_EQ(list_of(pod, 0), "none");
  EXPECT_EQ(list_of(pod, 1), "none");
  EXPECT_EQ(told(pod, "asks", kList), "UserSetGroup");
  EXPECT_EQ(told(pod, "asks", "NCCL_IB_HCA"), "File") << "the rest of the file holds";
}

// A policy's list in the grammar of NCCL is not copied.
TEST(Nvshmem, StandsNeverBesideThePolicysOwnChoice) {
  const NodeFabric table = rails(1);
  NcclPolicy mapping = with_nvshmem(), literal = with_nvshmem();
  mapping.env.emplace("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1");
  EXPECT_EQ(list_of(by_file({container("c")}, mapping, &table)), "none");
  literal.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  const Json pod = by_file({container("c")}, literal, &table);
  EXPECT_EQ(list_of(pod), "none");
  EXPECT_EQ(told(pod, "c", kList), "OmittedByPolicy");
}

TEST(Nvshmem, ByEnvFileTheInitContainerReadsItAtItsBinding) {
  NcclPolicy policy = with_nvshmem();
  policy.deliver_env_file = true;
  const Json made = settled(pod({container("c"), container("d")}), policy, with_resolver()).pod;
  EXPECT_THAT(resolver_of(made)["args"].back().dump(),
              ::testing::HasSubstr("NCCL_IB_HCA,NVSHMEM_HCA_LIST,NCCL_IB_GID_INDEX,NCCL_IB_ADDR_FAMILY"));
  EXPECT_EQ(told(made, "c", kList), "EnvFile");
  EXPECT_EQ(told(made, "d", kList), "EnvFile");
}

TEST(Nvshmem, APodThatLooksItselfFindsItThere) {
  const NcclPolicy policy = with_nvshmem(Exposure::PodOwned), plain = file_policy(Exposure::PodOwned);
  const Json asking = settled(pod({container("c")}, false), policy, with_resolver()).pod;
  EXPECT_EQ(resolver_of(asking)["env"][1], env_literal("NCCL_ENV_ENGINES", "NVSHMEM"));
  EXPECT_EQ(told(asking, "c", kList), "Pod");
  const NodeFabric seen = rails(2);
  EXPECT_EQ(resolve_in_pod(policy, seen, false, kNow, {}, true).values.at(kList), "mlx5_1:1,mlx5_2:1");
  EXPECT_EQ(resolve_in_pod(policy, seen, false, kNow).values.count(kList), 0u);
  const Json without = settled(pod({container("c")}, false), plain, with_resolver()).pod;
  EXPECT_EQ(names(resolver_of(without)["env"]), std::vector<std::string>{"NCCL_ENV_POLICY"});
}

}  // namespace
}  // namespace nccl_env::tests::nvshmem_test
