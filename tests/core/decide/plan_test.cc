// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/builders.h"
#include "core/conf_pods.h"
#include "core/pods.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::tests::plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

NcclPolicy baidu() {
  NcclPolicy policy = policy_for("rdma/hca*", Exposure::SubInterface);
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  policy.env = {{"NCCL_IB_QPS_PER_CONNECTION", "8"}, {"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

BindingPlan bound_to(const NcclPolicy& policy, const NodeFabric& table) {
  return plan_binding(std::make_shared<const NcclPolicy>(policy), table.name, &table, {kNow});
}

TEST(Plan, HostNetworkPodGetsTheNodesValuesAfterBinding) {
  const Admitted admitted = admit(pod({container("c")}), baidu());
  const Json bound = bind_to_node(admitted.pod, bound_to(baidu(), rails(8)));
  EXPECT_THAT(environment(bound, 0),
              UnorderedElementsAre(Pair("NCCL_IB_TIMEOUT", "22"), Pair("NCCL_IB_QPS_PER_CONNECTION", "8")));
  const auto env = nccl_environment(bound, 0);
  EXPECT_THAT(env, UnorderedElementsAre(
                       Pair("NCCL_IB_HCA", "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8"),
                       Pair("NCCL_IB_GID_INDEX", "3"), Pair("NCCL_SOCKET_IFNAME", "eth0"),
                       Pair("NCCL_IB_TIMEOUT", "22"), Pair("NCCL_IB_QPS_PER_CONNECTION", "8")));
}

// Whatever the node has, nothing of ours in env is empty; what an image brings is not hidden.
TEST(Plan, NothingOfOursInEnvIsEmpty) {
  const auto empty = [](const NcclPolicy& policy, const BindingPlan& binding) {
    std::vector<std::string> names;
    const Json bound = bind_to_node(admit(pod({container("c")}), policy).pod, binding);
    for (const auto& [name, value] : environment(bound, 0)) {
      if (value.empty()) names.push_back(name);
    }
    return names;
  };
  const BindingPlan nothing = plan_empty_binding("n", Reason::NoTable);
  EXPECT_THAT(empty(baidu(), nothing), IsEmpty());
  EXPECT_THAT(empty(baidu(), bound_to(baidu(), rails(2))), IsEmpty());
}

TEST(Plan, SubInterfacePodGetsNamesButNoIndex) {
  const Admitted admitted = admit(pod({container("c")}, false), baidu());
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_GID_INDEX"), "PodGidUnknown");
  const auto env = nccl_environment(bind_to_node(admitted.pod, bound_to(baidu(), rails(2))), 0);
  EXPECT_THAT(env,
              UnorderedElementsAre(Pair("NCCL_IB_HCA", "=mlx5_1,mlx5_2"), Pair("NCCL_SOCKET_IFNAME", "eth0"),
                                   Pair("NCCL_IB_TIMEOUT", "22"), Pair("NCCL_IB_QPS_PER_CONNECTION", "8")));
}

TEST(Plan, PodThatOwnsItsDevicesGetsConstantsOnly) {
  const Admitted admitted = admit(pod({container("c")}, false), [] {
    NcclPolicy policy = baidu();
    policy.resources[0].exposure = Exposure::PodOwned;
    return policy;
  }());
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_HCA"), "PodOwnsDevices");
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_GID_INDEX"), "PodOwnsDevices");
  EXPECT_EQ(admitted.plan.form, Form::Constants);
  EXPECT_THAT(environment(admitted.pod, 0),
              UnorderedElementsAre(Pair("NCCL_SOCKET_IFNAME", "eth0"), Pair("NCCL_IB_TIMEOUT", "22"),
                                   Pair("NCCL_IB_QPS_PER_CONNECTION", "8")));
}

TEST(Plan, UnknownExposureIsNeverHost) {
  const NcclPolicy policy = policy_for("vendor.example/*");
  const Admitted admitted = admit(pod({container("c", {}, "vendor.example/nic")}, false), policy);
  EXPECT_EQ(admitted.plan.exposure, Exposure::PodOwned);
}

TEST(Plan, OfSeveralExposuresTheLeastKnownCounts) {
  NcclPolicy policy = baidu();
  policy.resources.push_back({"nvidia.com/hostdev", Exposure::PodOwned});
  const Json two = pod({container("a"), container("b", {}, "nvidia.com/hostdev")}, false);
  EXPECT_EQ(admit(two, policy).plan.exposure, Exposure::PodOwned);
}

TEST(Plan, UsersVariableIsKeptAndReported) {
  const Admitted admitted = admit(
      pod({container("c", {env_literal("NCCL_IB_GID_INDEX", "5"), env_literal("NCCL_IB_TIMEOUT", "")})}),
      baidu());
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_GID_INDEX"), "UserSet");
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_TIMEOUT"), "UserSet");
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_ADDR_FAMILY"), "UserSetGroup");
  const auto env = environment(admitted.pod, 0);
  EXPECT_EQ(env.at("NCCL_IB_GID_INDEX"), "5");
  EXPECT_EQ(env.at("NCCL_IB_TIMEOUT"), "");
}

TEST(Plan, APartitionComesFromTheNodeUnlessTheUserDecidesIt) {
  NcclPolicy policy = baidu();
  policy.partition_key = 0x8001;
  const Admitted plain = admit(pod({container("c")}), policy);
  EXPECT_EQ(told(plain.pod, "c", "NCCL_IB_PKEY"), "File");
  for (const char* other : {"NCCL_IB_HCA", "NCCL_IB_PKEY_VALUE"}) {
    const Admitted admitted = admit(pod({container("c", {env_literal(other, "1")})}), policy);
    EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_PKEY"), "UserSetGroup") << other;
  }
  const Admitted own = admit(pod({container("c", {env_literal("NCCL_IB_PKEY", "1")})}), policy);
  EXPECT_EQ(reason_of(own.plan, "NCCL_IB_PKEY"), "UserSet");
}

TEST(Plan, APartitionThatNcclTakesByValueIsAConstant) {
  const NcclPolicy policy = *read_policy(nlohmann::json::parse(R"({
      "apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "p"},
      "spec": {"match": {"resources": [{"name": "rdma/*"}]}, "partitionKey": "0x8001",
        "fabric": {"linkLayer": "InfiniBand"}, "nccl": {"minVersion": "2.31.2"}}})"),
                                         {})
                                 .policy;
  const Admitted plain = admit(pod({container("c")}), policy);
  EXPECT_EQ(environment(plain.pod, 0).at("NCCL_IB_PKEY_VALUE"), "32769");
  EXPECT_FALSE(environment(plain.pod, 0).contains("NCCL_IB_PKEY"));
  const Admitted own = admit(pod({container("c", {env_literal("NCCL_IB_PKEY", "1")})}), policy);
  EXPECT_EQ(reason_of(own.plan, "NCCL_IB_PKEY_VALUE"), "UserSetGroup") << "it would win over the user's";
  NodeFabric table;
  table.name = "node-a";
  EXPECT_FALSE(node_values(policy, "node-a", &table, Exposure::Host, {}).set.contains("NCCL_IB_PKEY"));
}

TEST(Plan, UsersHcaListKeepsUsFromTheGid) {
  const Admitted admitted = admit(pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5_1")})}), baidu());
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_HCA"), "UserSet");
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_GID_INDEX"), "UserSetGroup");
  EXPECT_FALSE(environment(admitted.pod, 0).contains("NCCL_IB_GID_INDEX"));
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_IB_TIMEOUT"), "22");
}

TEST(Plan, DisabledInfiniBandLeavesTheSocketInterface) {
  for (const Json& off : {env_literal("NCCL_IB_DISABLE", "1"), env_literal("NCCL_IB_DISABLE", "0x1"),
                          env_literal("NCCL_NET", "Socket")}) {
    const Admitted admitted = admit(pod({container("c", {off})}), baidu());
    EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_HCA"), "DisabledByUser") << off;
    EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_TIMEOUT"), "DisabledByUser") << off;
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_SOCKET_IFNAME"), "File") << off;
  }
  for (const Json& on : {env_literal("NCCL_IB_DISABLE", "0"), env_literal("NCCL_IB_DISABLE", "true"),
                         env_literal("NCCL_NET", "IBext")}) {
    EXPECT_EQ(reason_of(admit(pod({container("c", {on})}), baidu()).plan, "NCCL_IB_HCA"), "") << on;
  }
}

TEST(Plan, EnvFromCouldHoldTheVariable) {
  Json with_source = container("c", {env_literal("NCCL_IB_TIMEOUT", "20")});
  with_source["envFrom"] = {{{"configMapRef", {{"name", "nccl"}}}}};
  EXPECT_EQ(reason_of(admit(equipped(pod({with_source})), baidu()).plan, "NCCL_IB_HCA"), "") << "by file";
}

TEST(Plan, EnvFromWithAPrefixHoldsOnlyItsNames) {
  Json with_source = container("c");
  with_source["envFrom"] = {{{"prefix", "APP_"}, {"secretRef", {{"name", "s"}}}}, {{"prefix", "NCCL_IB_T"}}};
  const Json made = admit(pod({with_source}), baidu()).pod;
  EXPECT_EQ(told(made, "c", "NCCL_IB_QPS_PER_CONNECTION"), "Policy");
  EXPECT_EQ(told(made, "c", "NCCL_IB_TIMEOUT"), "File");
}

struct SkipCase {
  const char* name;
  Json metadata;
  Json containers;
  const char* reason;
};

TEST(Plan, SkippedPodsGetNoPatch) {
  const Json plain = Json::array({container("c")});
  const Json efa = Json::array({container("c", {}, "vpc.amazonaws.com/efa")});
  const Json none = Json::array({container("c", {}, "")});
  const auto label = [](const char* value) { return Json{{"labels", {{"nccl-env.io/inject", value}}}}; };
  const auto annotation = [](const char* value) {
    return Json{{"annotations", {{"nccl-env.io/inject", value}}}};
  };
  const Json both{{"labels", {{"nccl-env.io/inject", "true"}}},
                  {"annotations", {{"nccl-env.io/inject", "false"}}}};
  const SkipCase cases[] = {
      {"label false", label("false"), plain, "OptedOut"},
      {"annotation false", annotation("false"), plain, "OptedOut"},
      {"false beats true", both, plain, "OptedOut"},
      {"another value", label("yes"), plain, "InvalidInjectValue"},
      {"no resource", Json::object(), none, "NotRdma"},
      {"skipResources beats inject true", label("true"), efa, "NotVerbs"},
      {"mirror pod", {{"annotations", {{"kubernetes.io/config.mirror", "x"}}}}, plain, "MirrorPod"},
  };
  for (const SkipCase& test : cases) {
    Json before = pod(test.containers);
    before["metadata"].update(test.metadata);
    const Admitted admitted = admit(before, baidu());
    EXPECT_EQ(to_string(admitted.plan.reason.value()), test.reason) << test.name;
    EXPECT_EQ(admitted.patch, "") << test.name;
  }
}

TEST(Plan, LabelBeatsAnnotation) {
  Json before = pod({container("c", {}, "")});
  before["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  before["metadata"]["annotations"]["nccl-env.io/inject"] = "perhaps";
  EXPECT_TRUE(admit(before, baidu()).plan.inject);
}

TEST(Plan, InjectTrueWithoutResourceTakesAllMainContainers) {
  Json before = pod({container("a", {}, ""), container("b", {}, "")}, false);
  before["metadata"]["annotations"]["nccl-env.io/inject"] = "true";
  before["spec"]["initContainers"] = Json::array({container("i", {}, "")});
  const Admitted admitted = admit(before, baidu());
  EXPECT_EQ(admitted.plan.exposure, Exposure::PodOwned);
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(environment(admitted.pod, 1).at("NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_FALSE(admitted.pod["spec"]["initContainers"][0].contains("env"));
}

TEST(Plan, QuantityZeroIsNotARequest) {
  Json zero = container("c");
  zero["resources"]["limits"]["rdma/hca"] = "0";
  EXPECT_EQ(admit(pod({zero}), baidu()).plan.reason, Reason::NotRdma);
  zero["resources"]["requests"]["rdma/hca"] = "1k";
  EXPECT_TRUE(admit(pod({zero}), baidu()).plan.inject);
}

TEST(Plan, OnlyRequestingContainersUnlessThePolicySaysAll) {
  Json before = pod({container("sidecar", {}, ""), container("c")});
  before["spec"]["initContainers"] = {container("warm-up"), container("i", {}, "")};
  NcclPolicy policy = baidu();
  Admitted admitted = admit(before, policy);
  EXPECT_FALSE(admitted.pod["spec"]["containers"][0].contains("env"));
  EXPECT_TRUE(admitted.pod["spec"]["initContainers"][0].contains("env"));
  EXPECT_FALSE(admitted.pod["spec"]["initContainers"][1].contains("env"));
  policy.containers = ContainerScope::All;
  admitted = admit(before, policy);
  EXPECT_TRUE(admitted.pod["spec"]["containers"][0].contains("env"));
  EXPECT_TRUE(admitted.pod["spec"]["initContainers"][1].contains("env"));
}

TEST(Plan, HostDevicesMatchOnlyHostNetworkPodsThatMountThem) {
  NcclPolicy policy = baidu();
  policy.resources.clear();
  policy.host_devices = true;
  Json mounting = container("c", {}, "");
  mounting["volumeMounts"] = {{{"name", "ib"}, {"mountPath", "/dev/infiniband"}}};
  for (const char* path : {"/dev/infiniband", "/dev/infiniband/", "/dev", "/dev/infiniband/uverbs0"}) {
    Json before = pod({mounting, container("other", {}, "")});
    before["spec"]["volumes"] = {{{"name", "ib"}, {"hostPath", {{"path", path}}}}};
    const Admitted admitted = admit(before, policy);
    EXPECT_EQ(admitted.plan.exposure, Exposure::Host) << path;
    EXPECT_EQ(admitted.plan.containers.size(), 1u) << path;
    before["spec"].erase("hostNetwork");
    EXPECT_EQ(admit(before, policy).plan.reason, Reason::NotRdma) << path;
  }
  Json other = pod({mounting});
  other["spec"]["volumes"] = {{{"name", "ib"}, {"hostPath", {{"path", "/dev/infinibandx"}}}}};
  EXPECT_EQ(admit(other, policy).plan.reason, Reason::NotRdma);
}

TEST(Plan, PrivilegedOnTheHostNetworkSeesAllDevices) {
  NcclPolicy policy = baidu();
  policy.resources.clear();
  policy.host_devices = true;
  Json privileged = container("c", {}, "");
  privileged["securityContext"]["privileged"] = true;
  Json before = pod({privileged, container("other", {}, "")});
  before["spec"]["initContainers"] = Json::array({privileged});
  before["spec"]["initContainers"][0]["name"] = "sysctl";
  const Admitted admitted = admit(before, policy);
  EXPECT_EQ(admitted.plan.exposure, Exposure::Host);
  EXPECT_TRUE(admitted.pod["spec"]["containers"][0].contains("env"));
  EXPECT_FALSE(admitted.pod["spec"]["containers"][1].contains("env"));
  EXPECT_FALSE(admitted.pod["spec"]["initContainers"][0].contains("env"));
  before["spec"].erase("hostNetwork");
  EXPECT_EQ(admit(before, policy).plan.reason, Reason::NotRdma);
  before["spec"]["hostNetwork"] = true;
  before["spec"]["containers"][0]["securityContext"]["privileged"] = false;
  EXPECT_EQ(admit(before, policy).plan.reason, Reason::NotRdma) << "sysctl alone runs no collectives";
  before["spec"]["containers"][0]["securityContext"]["privileged"] = true;
  policy.host_devices = false;
  policy.resources = {{"rdma/none", std::nullopt}};
  EXPECT_EQ(admit(before, policy).plan.reason, Reason::NotRdma);
}

TEST(Plan, SecondAdmissionChangesNothing) {
  for (const bool host_network : {true, false}) {
    Json before = pod({container("a"), container("b", {env_literal("NCCL_IB_TIMEOUT", "20")})}, host_network);
    const Admitted first = admit(before, baidu());
    ASSERT_NE(first.patch, "");
    EXPECT_EQ(admit(first.pod, baidu()).patch, "");
  }
}

TEST(Plan, AContainerAddedByALaterHookIsFilledInTheSecondRound) {
  Admitted first = admit(pod({container("a")}), baidu());
  first.pod["spec"]["containers"].push_back(container("late"));
  const Admitted second = admit(first.pod, baidu());
  EXPECT_EQ(second.pod["spec"]["containers"][0], first.pod["spec"]["containers"][0]);
  EXPECT_EQ(environment(second.pod, 1).at("NCCL_IB_TIMEOUT"), "22");
  EXPECT_EQ(admit(second.pod, baidu()).patch, "");
}

TEST(Plan, ACopiedPodLosesAnotherNodesAnnotations) {
  const Admitted first = admit(pod({container("c")}), baidu());
  Json copied = bind_to_node(first.pod, bound_to(baidu(), rails(4)));
  copied["metadata"]["annotations"]["mine"] = "stays";
  const Admitted again = admit(copied, baidu());
  const Json& annotations = again.pod["metadata"]["annotations"];
  EXPECT_EQ(annotations.size(), 2u) << annotations;
  EXPECT_EQ(annotations["mine"], "stays");
  EXPECT_TRUE(annotations.contains("nccl-env.io/status"));
  EXPECT_EQ(again.pod["spec"], first.pod["spec"]);
}

TEST(Plan, AUsersLiteralOfOurValueIsTheUsers) {
  const Admitted admitted = admit(pod({container("c", {env_literal("NCCL_IB_TIMEOUT", "22")})}), baidu());
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_TIMEOUT"), "UserSet");
}

TEST(Plan, PodCreatedWithANodeNameGetsTheValuesAtOnce) {
  Json before = pod({container("c")});
  before["spec"]["nodeName"] = "node-a";
  const BindingPlan binding = bound_to(baidu(), rails(2));
  const Admitted admitted = admit(before, baidu(), &binding);
  EXPECT_EQ(nccl_environment(admitted.pod, 0).at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2");
  EXPECT_EQ(admit(admitted.pod, baidu(), &binding).patch, "");
}

TEST(Plan, DryRunDecidesAndPatchesNothing) {
  NcclPolicy policy = baidu();
  policy.mode = PolicyMode::DryRun;
  const Admitted admitted = admit(pod({container("c")}), policy);
  EXPECT_EQ(admitted.plan.reason, Reason::DryRun);
  EXPECT_FALSE(admitted.plan.containers[0].set.empty());
  EXPECT_NE(admitted.plan.status, "");
  EXPECT_EQ(admitted.patch, "");
}

TEST(Plan, NoRoomForAnnotations) {
  Json before = pod({container("c")});
  before["metadata"]["annotations"]["big"] = std::string((256u << 10) - 8000, 'x');
  const Admitted admitted = admit(before, baidu());
  EXPECT_EQ(admitted.plan.reason, Reason::BudgetExceeded);
  EXPECT_EQ(admitted.patch, "");
}

TEST(Plan, LiteralsAndOmissionsOfThePolicy) {
  NcclPolicy policy = baidu();
  policy.hca = {HcaRule::Kind::Literal, "mlx5"};
  policy.gid_index = {GidIndexRule::Kind::Literal, 3};
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  policy.resources[0].exposure = Exposure::PodOwned;
  const Admitted admitted = admit(pod({container("c")}, false), policy);
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_IB_HCA"), "mlx5");
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_IB_GID_INDEX"), "3");
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_SOCKET_IFNAME"), "OmittedByPolicy");
}

TEST(Plan, APolicyForInfiniBandNeedsNoIndexWhateverThePodSees) {
  NcclPolicy policy = baidu();
  policy.fabric.link_layer = LinkLayer::InfiniBand;
  for (const bool host_network : {true, false}) {
    EXPECT_EQ(reason_of(admit(pod({container("c")}, host_network), policy).plan, "NCCL_IB_GID_INDEX"),
              "InfiniBand");
  }
}

TEST(Plan, StatusListsWhatWasSetAndWhatNot) {
  const Admitted admitted = admit(pod({container("c", {env_literal("NCCL_IB_GID_INDEX", "3")})}), baidu());
  const Json status = Json::parse(std::string(admitted.pod["metadata"]["annotations"]["nccl-env.io/status"]));
  EXPECT_EQ(status, Json::parse(R"({"v":1,"policy":"p","generation":1,"exposure":"Host","form":"Binding",
      "note":"ImageConfHidden","containers":{"c":{
      "set":{"NCCL_IB_HCA":"File","NCCL_SOCKET_IFNAME":"File","NCCL_IB_QPS_PER_CONNECTION":"Policy","NCCL_IB_TIMEOUT":"Policy",
             "nccl.conf":"Node"},
      "omitted":{"NCCL_IB_GID_INDEX":"UserSet","NCCL_IB_ADDR_FAMILY":"UserSetGroup"}}}})"));
}

TEST(Plan, AnEmptyValueIsWarnedOfOnlyWhereNcclTakesItForOne) {
  Json env = {env_literal("FOO", ""), env_literal("NCCL_IB_TIMEOUT", ""), env_literal("NCCL_NET_PLUGIN", "")};
  const Admitted admitted = admit(equipped(pod({container("c", env)})), baidu());
  ASSERT_EQ(admitted.plan.warnings.size(), 1u);
  EXPECT_NE(admitted.plan.warnings[0].find("NCCL_NET_PLUGIN"), std::string::npos);
}

TEST(Plan, UsersValuesOutsideTheCatalogueAreWarnedOfThreeAtMost) {
  Json env = {env_literal("NCCL_IB_RETRY_CNT", "10"), env_literal("NCCL_IB_TIMEOUT", "99"),
              env_literal("NCCL_IB_SL", "99"), env_literal("NCCL_IB_TC", "999"),
              env_literal("NCCL_DEBUG", "INFO")};
  const Admitted admitted = admit(pod({container("c", env)}), baidu());
  ASSERT_EQ(admitted.plan.warnings.size(), 3u);
  EXPECT_EQ(admitted.plan.warnings[0].rfind("nccl-env: container c: NCCL_IB_RETRY_CNT: ", 0), 0u)
      << admitted.plan.warnings[0];
}

}  // namespace
}  // namespace nccl_env::tests::plan_test
