// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/decide/decided.h"

namespace nccl_env::tests::plan_test {
namespace {

NcclPolicy baidu() {
  NcclPolicy policy = policy_for("rdma/hca*", Exposure::SubInterface);
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  policy.env = {{"NCCL_IB_QPS_PER_CONNECTION", "8"}, {"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

// Behind a sub-interface a pod sees its node's names, but rows of its own; one that owns its devices,
// neither.
TEST(Plan, TheExposureDecidesWhatANodeCanTell) {
  struct Row {
    std::optional<Exposure> exposure;
    Form form;
    const char *hca, *index;
    std::map<std::string, std::string> read;
  };
  const auto with_constants = [](std::map<std::string, std::string> read) {
    read.insert(
        {{"NCCL_SOCKET_IFNAME", "eth0"}, {"NCCL_IB_TIMEOUT", "22"}, {"NCCL_IB_QPS_PER_CONNECTION", "8"}});
    return read;
  };
  const Row rows[] = {
      {Exposure::Host, Form::Binding, "File", "File",
       with_constants({{"NCCL_IB_HCA", "=mlx5_1,mlx5_2"}, {"NCCL_IB_GID_INDEX", "3"}})},
      {Exposure::SubInterface, Form::Binding, "File", "PodGidUnknown",
       with_constants({{"NCCL_IB_HCA", "=mlx5_1,mlx5_2"}})},
      {Exposure::PodOwned, Form::Constants, "PodOwnsDevices", "PodOwnsDevices", with_constants({})},
      {std::nullopt, Form::Constants, "PodOwnsDevices", "PodOwnsDevices", with_constants({})},
  };
  const NodeFabric table = rails(2);
  for (const Row& row : rows) {
    NcclPolicy policy = baidu();
    policy.resources = {{"vendor.example/*", row.exposure}};  // of which nothing is known
    const Admitted admitted = settled(pod({container("c", {}, "vendor.example/nic")}, false), policy);
    const Exposure taken = row.exposure.value_or(Exposure::PodOwned);
    SCOPED_TRACE(to_string(taken));
    EXPECT_EQ(admitted.plan.exposure, taken);
    EXPECT_EQ(admitted.plan.form, row.form);
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), row.hca);
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_GID_INDEX"), row.index);
    EXPECT_EQ(admitted.pod["spec"].contains("volumes"), row.form == Form::Binding);
    EXPECT_EQ(nccl_environment(bind_to_node(admitted.pod, binding_of(policy, &table)), 0), row.read);
  }
}

TEST(Plan, OfSeveralExposuresTheLeastKnownCounts) {
  NcclPolicy policy = baidu();
  policy.resources.push_back({"nvidia.com/hostdev", Exposure::PodOwned});
  const Json two = pod({container("a"), container("b", {}, "nvidia.com/hostdev")}, false);
  EXPECT_EQ(admit(two, policy).plan.exposure, Exposure::PodOwned);
}

TEST(Plan, APartitionComesFromTheNodeUnlessTheUserDecidesIt) {
  NcclPolicy policy = baidu();
  policy.partition_key = 0x8001;
  EXPECT_EQ(told(admit(pod({container("c")}), policy).pod, "c", "NCCL_IB_PKEY"), "File");
  for (const auto& [own, reason] :
       {std::pair("NCCL_IB_HCA", "UserSetGroup"), std::pair("NCCL_IB_PKEY_VALUE", "UserSetGroup"),
        std::pair("NCCL_IB_PKEY", "UserSet")}) {
    const Json before = pod({container("c", {env_literal(own, "1")})});
    EXPECT_EQ(reason_of(admit(before, policy).plan, "NCCL_IB_PKEY"), reason) << own;
  }
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

TEST(Plan, DisabledInfiniBandLeavesTheSocketInterface) {
  for (const auto& [name, value, off] : {
           std::tuple("NCCL_IB_DISABLE", "1", true),
           std::tuple("NCCL_IB_DISABLE", "0x1", true),
           std::tuple("NCCL_NET", "Socket", true),
           std::tuple("NCCL_IB_DISABLE", "0", false),
           std::tuple("NCCL_IB_DISABLE", "true", false),
           std::tuple("NCCL_NET", "IBext", false),
       }) {
    const Json made = admit(pod({container("c", {env_literal(name, value)})}), baidu()).pod;
    EXPECT_EQ(told(made, "c", "NCCL_IB_HCA"), off ? "DisabledByUser" : "File") << name << "=" << value;
    EXPECT_EQ(told(made, "c", "NCCL_IB_TIMEOUT"), off ? "DisabledByUser" : "Policy") << name << "=" << value;
    EXPECT_EQ(told(made, "c", "NCCL_SOCKET_IFNAME"), "File") << name << "=" << value;
  }
}

TEST(Plan, EnvFromWithAPrefixHoldsOnlyItsNames) {
  Json with_source = container("c");
  with_source["envFrom"] = {{{"prefix", "APP_"}, {"secretRef", {{"name", "s"}}}}, {{"prefix", "NCCL_IB_T"}}};
  const Json made = admit(pod({with_source}), baidu()).pod;
  EXPECT_EQ(told(made, "c", "NCCL_IB_QPS_PER_CONNECTION"), "Policy");
  EXPECT_EQ(told(made, "c", "NCCL_IB_TIMEOUT"), "File");
}

TEST(Plan, SkippedPodsGetNoPatch) {
  const auto metadata = [](const char* label, const char* annotation) {
    Json made = Json::object();
    if (*label) made["labels"]["nccl-env.io/inject"] = label;
    if (*annotation) made["annotations"]["nccl-env.io/inject"] = annotation;
    return made;
  };
  const Json mirror{{"annotations", {{"kubernetes.io/config.mirror", "x"}}}};
  for (const auto& [its_metadata, resource, reason] : {
           std::tuple(metadata("false", ""), "rdma/hca", Reason::OptedOut),
           std::tuple(metadata("", "false"), "rdma/hca", Reason::OptedOut),
           std::tuple(metadata("true", "false"), "rdma/hca", Reason::OptedOut),
           std::tuple(metadata("yes", ""), "rdma/hca", Reason::InvalidInjectValue),
           std::tuple(metadata("", ""), "", Reason::NotRdma),
           std::tuple(metadata("true", ""), "vpc.amazonaws.com/efa", Reason::NotVerbs),
           std::tuple(mirror, "rdma/hca", Reason::MirrorPod),
       }) {
    Json before = pod({container("c", {}, resource)});
    before["metadata"].update(its_metadata);
    const Admitted admitted = admit(before, baidu());
    EXPECT_EQ(admitted.plan.reason, reason) << its_metadata << resource;
    EXPECT_EQ(admitted.patch, "") << its_metadata << resource;
  }
}

TEST(Plan, InjectTrueWithoutResourceTakesAllMainContainers) {
  Json before = pod({container("a", {}, ""), container("b", {}, "")}, false);
  before["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  before["metadata"]["annotations"]["nccl-env.io/inject"] = "perhaps";  // the label beats it
  before["spec"]["initContainers"] = Json::array({container("i", {}, "")});
  const Admitted admitted = admit(before, baidu());
  EXPECT_EQ(admitted.plan.exposure, Exposure::PodOwned);
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(environment(admitted.pod, 1).at("NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_FALSE(admitted.pod["spec"]["initContainers"][0].contains("env"));
  before["metadata"].erase("labels");
  before["metadata"]["annotations"]["nccl-env.io/inject"] = "true";
  EXPECT_TRUE(admit(before, baidu()).plan.inject);
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
  before["spec"]["initContainers"] = {container("warm-up"), container("i", {}, ""), container("proxy")};
  before["spec"]["initContainers"][2]["restartPolicy"] = "Always";
  NcclPolicy policy = baidu();
  for (const bool all : {false, true}) {
    if (all) policy.containers = ContainerScope::All;
    const Json spec = settled(before, policy).pod["spec"];
    const std::pair<Json, bool> asks[] = {{spec["containers"][0], false},
                                          {spec["containers"][1], true},
                                          {spec["initContainers"][0], true},
                                          {spec["initContainers"][1], false},
                                          {spec["initContainers"][2], true}};
    for (const auto& [container, asked] : asks) {
      EXPECT_EQ(container.contains("env"), all || asked) << container;
      EXPECT_EQ(has_file(container), all || asked) << container;
    }
  }
}

TEST(Plan, HostDevicesMatchOnlyHostNetworkPodsThatMountThem) {
  NcclPolicy policy = baidu();
  policy.resources.clear();
  policy.host_devices = true;
  Json mounting = container("c", {}, "");
  mounting["volumeMounts"] = Json::array({mount("/dev/infiniband", "ib")});
  for (const char* path :
       {"/dev/infiniband", "/dev/infiniband/", "/dev", "/dev/infiniband/uverbs0", "/dev/infinibandx"}) {
    SCOPED_TRACE(path);
    const bool other = std::string(path).ends_with("x");
    Json before = pod({mounting, container("other", {}, "")});
    before["spec"]["volumes"] = {{{"name", "ib"}, {"hostPath", {{"path", path}}}}};
    const Plan plan = admit(before, policy).plan;
    EXPECT_EQ(plan.reason, other ? std::optional(Reason::NotRdma) : std::nullopt);
    EXPECT_EQ(plan.containers.size(), other ? 0u : 1u);
    if (!other) {
      EXPECT_EQ(plan.exposure, Exposure::Host);
    }
    before["spec"].erase("hostNetwork");
    EXPECT_EQ(admit(before, policy).plan.reason, Reason::NotRdma);
  }
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
  NcclPolicy others = policy;
  others.host_devices = false;
  others.resources = {{"rdma/none", std::nullopt}};
  EXPECT_EQ(admit(before, others).plan.reason, Reason::NotRdma);
  Json own_network = before, only_sysctl = before;  // which runs no collectives
  own_network["spec"].erase("hostNetwork");
  only_sysctl["spec"]["containers"][0]["securityContext"]["privileged"] = false;
  for (const Json& other : {own_network, only_sysctl})
    EXPECT_EQ(admit(other, policy).plan.reason, Reason::NotRdma) << other;
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

TEST(Plan, StatusListsWhatWasSetAndWhatNot) {
  const Admitted admitted = admit(pod({container("c", {env_literal("NCCL_IB_GID_INDEX", "3")})}), baidu());
  const Json status = Json::parse(std::string(admitted.pod["metadata"]["annotations"]["nccl-env.io/status"]));
  EXPECT_EQ(status, Json::parse(R"({"v":1,"policy":"p","generation":1,"exposure":"Host","containers":{"c":{
      "set":{"NCCL_IB_HCA":"File","NCCL_SOCKET_IFNAME":"File","NCCL_IB_QPS_PER_CONNECTION":"Policy","NCCL_IB_TIMEOUT":"Policy"},
      "omitted":{"NCCL_IB_GID_INDEX":"UserSet","NCCL_IB_ADDR_FAMILY":"UserSetGroup"}}}})"));
}

}  // namespace
}  // namespace nccl_env::tests::plan_test
