// SPDX-License-Identifier: Apache-2.0
// Explanations of pods whose policy names engines beside NCCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/conf_pods.h"
#include "judge/asked.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/catalogue.h"

namespace nccl_env::engines_answer_test {
namespace {

using namespace nccl_env::tests;

NcclPolicy with_engines(Exposure exposure = Exposure::Host) {
  NcclPolicy policy = file_policy(exposure);
  policy.engines = {&nccl_engine(), find_engine("UCX"), find_engine("NVSHMEM")};
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  return policy;
}

NodeFabric table() {
  NodeFabric node = rails_node(2);
  node.node_interface = "bond0";
  return node;
}

TEST(EnginesAnswer, AFileOfAnEngineStandsBesideNcclConf) {
  const NcclPolicy policy = with_engines();
  const NodeFabric node = table();
  const Answered asked =
      ask(bound(admit(pod({container("c")}), policy).pod, policy, &node), all_readable(policy, node));
  expect_golden(asked.text());
  EXPECT_EQ(asked.record.containers[0].find("UCX_NET_DEVICES")->value, "mlx5_1:1,mlx5_2:1,bond0");
  EXPECT_THAT(asked.answer.changes, IsEmpty());
  EXPECT_THAT(asked.answer.findings, IsEmpty());
}

TEST(EnginesAnswer, TheInitContainersMessageTellsTheLines) {
  NcclPolicy policy = with_engines(Exposure::PodOwned);
  policy.socket_interface.kind = SocketInterfaceRule::Kind::Omit;
  Json object = admit(pod({container("c")}, false), policy, nullptr, with_resolver()).pod;
  object["spec"]["nodeName"] = "gpu-1";
  NodeFabric seen = rails_node(2);
  const Resolution found = resolve_in_pod(policy, seen, false, kNow);
  object["status"]["initContainerStatuses"] = Json::array({{{"name", "nccl-env-resolve"},
                                                            {"image", "registry/agent:1"},
                                                            {"state", said(render_message(found))}}});
  const Answered asked = ask(object, all_readable(policy, table()));
  ASSERT_TRUE(asked.record.containers.back().find("UCX_NET_DEVICES")) << asked.text();
  EXPECT_EQ(asked.record.containers.back().find("UCX_NET_DEVICES")->value, "mlx5_1:1,mlx5_2:1,eth0");
  EXPECT_THAT(asked.text(), HasSubstr("/nccl-env/ucx.conf of container c"));
  // Without an interface of the policy's, the pod's own is taken for eth0.
  const auto with_network = [&](const std::string& interface) {
    object["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"] =
        R"([{"name": "cbr0", "interface": ")" + interface + R"(", "default": true}])";
    return ask(object, all_readable(policy, table())).answer.findings;
  };
  EXPECT_THAT(with_network("eth0"), IsEmpty());
  const std::vector<Finding> other = with_network("net0");
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other.front().code, Code::NoInterface);
  EXPECT_EQ(other.front().subject.path, "UCX_NET_DEVICES");
}

TEST(EnginesAnswer, ATemplateHasABlockForEachEngine) {
  const NodeFabric node = table();
  const Answered asked =
      ask_template(pod({container("c", {env_literal("UCX_NET_DEVICES", "mlx5_1:1,bond9")})}), with_engines(),
                   &node, kNewestNccl);
  expect_golden(asked.text());
  const auto json = asked.document();
  EXPECT_EQ(json["engines"][0]["engine"], "UCX");
  EXPECT_EQ(json["engines"][0]["withUs"]["devices"][0], "mlx5_1:1");
}

TEST(EnginesAnswer, OfATemplateTheLinesThatItsInitContainerCopiesAreKnown) {
  NcclPolicy policy = with_engines();
  policy.deliver_env_file = policy.says_delivery = true;
  policy.env = {{"UCX_IB_SL", "3"}};
  const NodeFabric node = table();
  const Answered asked = ask_template(pod({container("c")}), policy, &node, kNewestNccl, with_resolver());
  const GivenContainer& given = *asked.record.main_container();
  EXPECT_EQ(given.find("UCX_NET_DEVICES")->value, "mlx5_1:1,mlx5_2:1,bond0");
  EXPECT_EQ(given.find("UCX_IB_SL")->value, "3");
  EXPECT_THAT(render_env(asked.record), HasSubstr("\nUCX_NET_DEVICES=mlx5_1:1,mlx5_2:1,bond0\n"));
}

// UserListShort is of each engine's list that the user wrote; a list in which nothing is missing is no
// finding.
TEST(EnginesAnswer, AUsersListOfFewerDevicesIsToldForEachEngine) {
  const NcclPolicy policy = with_engines();
  const NodeFabric node = table();
  const auto found = [&](std::vector<Json> env) {
    const Answered asked = ask(bound(admit(pod({container("c", std::move(env))}), policy).pod, policy, &node),
                               all_readable(policy, node));
    std::vector<std::string> told;
    for (const Finding& finding : asked.answer.findings)
      told.push_back(std::string(to_string(finding.code)) + " " + finding.sentence);
    return told;
  };
  EXPECT_THAT(found({env_literal("UCX_NET_DEVICES", "mlx5_1:1,bond0")}),
              ::testing::ElementsAre("UserListShort UCX_NET_DEVICES is the user's own and takes 1 of the "
                                     "node's 2 HCAs: without mlx5_2:1."));
  EXPECT_THAT(found({env_literal("UCX_NET_DEVICES", "mlx5_2:1,mlx5_1:1,bond0")}), IsEmpty());
  EXPECT_THAT(found({}), IsEmpty());
}

// The init container had no room for its files, nor for its message.
TEST(EnginesAnswer, OfWhatTheInitContainerDidNotTellNoChoiceIsKnown) {
  NcclPolicy policy = with_engines();
  policy.deliver_env_file = policy.says_delivery = true;
  const NodeFabric node = table();
  Json object = bound(admit(pod({container("c")}), policy, nullptr, with_resolver()).pod, policy, &node);
  Json ended = said("");
  ended["terminated"].erase("message");
  object["status"]["initContainerStatuses"] =
      Json::array({{{"name", "nccl-env-resolve"}, {"image", "registry/agent:1"}, {"state", ended}}});
  const Answered asked = ask(object, all_readable(policy, node));
  EXPECT_FALSE(asked.answer.nccl_with_us);
  ASSERT_EQ(asked.answer.engines.size(), 2u);
  EXPECT_FALSE(asked.answer.engines[0].with_us);
  EXPECT_THAT(asked.text(), HasSubstr("(not told by nccl-env-resolve)"));
  EXPECT_THAT(asked.text(), Not(HasSubstr("known once the node is")));
}

}  // namespace
}  // namespace nccl_env::engines_answer_test
