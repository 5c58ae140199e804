// SPDX-License-Identifier: Apache-2.0
// Values of other engines: UCX by ucx.conf, the others as variables that are not set where a node has none.
#include "core/decide/decided.h"
#include "nccl_env/core/engines/catalogue.h"
#include "support/matchers.h"

namespace nccl_env::tests::engine_values_test {
namespace {

NcclPolicy all_engines(Exposure exposure = Exposure::Host, bool env_file = false) {
  NcclPolicy policy = file_policy(exposure);
  policy.deliver_env_file = policy.says_delivery = env_file;
  for (const char* name : {"UCX", "NVSHMEM", "Gloo"}) policy.engines.push_back(find_engine(name));
  policy.env["NCCL_IB_TC"] = "106";
  policy.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  return policy;
}

NodeFabric two_rails() {
  NodeFabric table = rails(2);
  table.node_interface = "bond0";
  return table;
}

std::string annotation(const BindingPlan& plan, const std::string& key) {
  const auto found = plan.annotations.find(key);
  return found == plan.annotations.end() ? "absent" : found->second;
}

const Json kUcxMount = {{"name", "nccl-env-conf"},
                        {"mountPath", "/nccl-env/ucx.conf"},
                        {"subPath", "ucx.conf"},
                        {"readOnly", true}};

TEST(EngineValues, UcxReadsAFileOfItsOwn) {
  const Admitted admitted = settled(pod({container("c")}), all_engines());
  const Json& main = admitted.pod["spec"]["containers"][0];
  EXPECT_THAT(main["volumeMounts"], Contains(kUcxMount));
  EXPECT_THAT(main["env"], Contains(env_literal("UCX_CONFIG_DIR", "/nccl-env")));
  EXPECT_EQ(told(admitted.pod, "c", "UCX_NET_DEVICES"), "File");
  EXPECT_EQ(told(admitted.pod, "c", "UCX_IB_TRAFFIC_CLASS"), "File");
  const Json& items = admitted.pod["spec"]["volumes"][0]["downwardAPI"]["items"];
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1]["path"], "ucx.conf");
  EXPECT_EQ(items[1]["fieldRef"]["fieldPath"], "metadata.annotations['hostnetwork.nccl-env.io/ucx.conf']");
  for (const char* name : {"GLOO_SOCKET_IFNAME", "NVSHMEM_HCA_LIST"})
    EXPECT_EQ(told(admitted.pod, "c", name), "EnginesUnavailable") << "without EnvFile: " << name;
}

TEST(EngineValues, AreThoseOfTheNodeInTheirOwnWords) {
  const NodeFabric table = two_rails();
  const BindingPlan plan = binding_of(all_engines(Exposure::Host, true), &table);
  EXPECT_EQ(annotation(plan, "hostnetwork.nccl-env.io/ucx.conf"),
            "UCX_NET_DEVICES=mlx5_1:1,mlx5_2:1,bond0\nUCX_IB_TRAFFIC_CLASS=106\n");
  EXPECT_EQ(annotation(plan, "host.nccl-env.io/ucx.conf"),
            "UCX_NET_DEVICES=mlx5_1:1,mlx5_2:1,eth0\nUCX_IB_TRAFFIC_CLASS=106\n");
  EXPECT_EQ(annotation(plan, "podowned.nccl-env.io/ucx.conf"), "UCX_IB_TRAFFIC_CLASS=106\n");
  const BindingPlan none = binding_of(all_engines(Exposure::Host, true), nullptr);
  EXPECT_EQ(annotation(none, "host.nccl-env.io/ucx.conf"), "UCX_IB_TRAFFIC_CLASS=106\n");
  EXPECT_EQ(reason_of(none.host, "GLOO_SOCKET_IFNAME"), "NoTable");
}

// NCCL puts each line of its file into the environment, where these would come late.
TEST(EngineValues, NcclsFileHasThoseOfOthersAsNotesForEnv) {
  const NodeFabric table = two_rails();
  const ConfText text =
      read_conf(annotation(binding_of(all_engines(), &table), "hostnetwork.nccl-env.io/nccl.conf"));
  EXPECT_TRUE(text.is_ours);
  EXPECT_EQ(text.notes.at("NVSHMEM_HCA_LIST"), "mlx5_1:1,mlx5_2:1");
  EXPECT_EQ(text.notes.at("GLOO_SOCKET_IFNAME"), "bond0");
  EXPECT_FALSE(text.notes.contains("UCX_NET_DEVICES")) << "by its file alone";
  for (const auto& line : text.values) EXPECT_TRUE(line.first.starts_with("NCCL_")) << line.first;
}

// Those of a policy's own go their own ways, whatever engine reads them.
TEST(EngineValues, ConstantsOfThePolicyAreLiteralsAndHaveNoRivals) {
  for (const char* own : {"106", "96"}) {
    NcclPolicy policy = all_engines();
    if (own == std::string("96")) policy.env["NVSHMEM_IB_TRAFFIC_CLASS"] = own;
    EXPECT_THAT(admit(pod({container("c")}), policy).pod["spec"]["containers"][0]["env"],
                Contains(env_literal("NVSHMEM_IB_TRAFFIC_CLASS", own)));
  }
  NcclPolicy policy = file_policy(Exposure::Host);
  policy.env["UCX_TLS"] = "rc,tcp";
  for (const char* own : {"UCX_NET_DEVICES", "UCX_CONFIG_DIR"}) {
    const Json made = admit(pod({container("c", {env_literal(own, "x")})}), policy).pod;
    EXPECT_EQ(told(made, "c", "UCX_TLS"), "Policy") << own;
  }
}

TEST(EngineValues, ByEnvFileTheInitContainerWritesAllOfThem) {
  const NcclPolicy policy = all_engines(Exposure::Host, true);
  const Admitted admitted = admit(pod({container("c")}), policy, nullptr, with_resolver());
  const Json& resolver = admitted.pod["spec"]["initContainers"][0];
  EXPECT_THAT(resolver["args"], Contains("--engine-files"));
  EXPECT_THAT(resolver["args"].dump(), HasSubstr("GLOO_SOCKET_IFNAME"));
  EXPECT_THAT(resolver["args"].dump(), Not(HasSubstr("UCX_NET_DEVICES")));
  EXPECT_THAT(resolver["env"].dump(), HasSubstr("NCCL_ENV_FILE_ucx.conf"));
  EXPECT_THAT(resolver["env"].dump(), HasSubstr("hostnetwork.nccl-env.io/ucx.conf"));
  EXPECT_EQ(told(admitted.pod, "c", "GLOO_SOCKET_IFNAME"), "EnvFile");
  EXPECT_EQ(told(admitted.pod, "c", "UCX_NET_DEVICES"), "File");
  EXPECT_THAT(admitted.pod["spec"]["containers"][0]["volumeMounts"], Contains(kUcxMount));
}

TEST(EngineValues, WhatUsersChoseStays) {
  const NcclPolicy policy = all_engines(Exposure::Host, true);
  Json nixl = container("c"), mounted = container("c");
  nixl["args"] = {"--all2all-backend", "nixl_ep"};
  mounted["volumeMounts"] = Json::array({mount("/nccl-env")});
  const auto with_env = [](const char* name, const char* value) {
    return container("c", {env_literal(name, value)});
  };
  for (const auto& [main, name, reason] : {
           std::tuple(with_env("UCX_NET_DEVICES", "mlx5_9:1"), "UCX_NET_DEVICES", "UserSet"),
           std::tuple(with_env("UCX_CONFIG_DIR", "/mine"), "UCX_NET_DEVICES", "UserSetGroup"),
           std::tuple(with_env("UCX_TLS", "rc_gda,cuda"), "UCX_NET_DEVICES", "UserSetGroup"),
           std::tuple(with_env("UCX_TLS", "rc,tcp"), "UCX_NET_DEVICES", "File"),
           std::tuple(with_env("NVSHMEM_HCA_PE_MAPPING", "mlx5_1:1:2"), "NVSHMEM_HCA_PREFIX", "UserSetGroup"),
           std::tuple(nixl, "UCX_NET_DEVICES", "UserSetGroup"),
           std::tuple(mounted, "UCX_NET_DEVICES", "ConfOccupied"),
       })
    EXPECT_EQ(told(admit(pod({main}), policy, nullptr, with_resolver()).pod, "c", name), reason) << main;
}

// Beside GPU-initiated transfers a list in the file would switch them off, and the file has it for all.
TEST(EngineValues, AChoiceForTheGroupKeepsTheWholeFileAway) {
  for (const char* name : {"UCX_TLS", "UCX_RC_GDA_NUM_CHANNELS"}) {
    const Json own = container("c", {env_literal(name, "rc_gda")});
    const Json made = admit(pod({own, container("d")}), all_engines()).pod;
    EXPECT_EQ(told(made, "c", "UCX_NET_DEVICES"), "UserSetGroup");
    EXPECT_EQ(told(made, "c", "UCX_IB_TRAFFIC_CLASS"), "UserSetGroup");
    EXPECT_THAT(made["spec"]["containers"][0].dump(), Not(HasSubstr("ucx.conf")));
    EXPECT_THAT(made["spec"]["containers"][0].dump(), Not(HasSubstr("UCX_CONFIG_DIR")));
    EXPECT_THAT(made["spec"]["containers"][1]["volumeMounts"], Contains(kUcxMount));
  }
  const Json beside = container("c", {env_literal("UCX_NET_DEVICES", "mlx5_9:1")});
  EXPECT_THAT(admit(pod({beside}), all_engines()).pod["spec"]["containers"][0]["volumeMounts"],
              Contains(kUcxMount))
      << "its own variable beats the line";
}

TEST(EngineValues, InsideThePodTheyFollowWhatThePodShows) {
  NodeFabric seen = rails(2);
  seen.name = "pod";
  NcclPolicy policy = all_engines(Exposure::PodOwned, true);
  const Resolution found = resolve_in_pod(policy, seen, false, kNow);
  EXPECT_EQ(found.files.at("ucx.conf"), "UCX_NET_DEVICES=mlx5_1:1,mlx5_2:1,eth0\nUCX_IB_TRAFFIC_CLASS=106\n");
  EXPECT_EQ(found.env.count("UCX_NET_DEVICES"), 0u);
  EXPECT_EQ(found.values.count("NVSHMEM_IB_TRAFFIC_CLASS"), 0u) << "nccl.conf is NCCL's";
  seen.ports.clear();
  EXPECT_EQ(resolve_in_pod(policy, seen, false, kNow).files.at("ucx.conf"), "UCX_IB_TRAFFIC_CLASS=106\n");
}

TEST(EngineValues, AConstantThatDiffersFromNodeToNodeIsNoLineOfUcxConf) {
  for (const bool engines : {false, true}) {
    NcclPolicy policy = engines ? all_engines() : file_policy(Exposure::PodOwned);
    PolicyVariant& variant = policy.variants.emplace_back();
    variant.when.node_labels = {{"kind", "a*"}};
    variant.env = {{"UCX_TLS", "rc,tcp"}};
    const Admitted admitted = admit(pod({container("c")}, engines), policy);
    EXPECT_EQ(told(admitted.pod, "c", "UCX_TLS"), "File");
    EXPECT_THAT(std::vector<Value>(admitted.plan.file), Contains(::testing::Field(&Value::name, "UCX_TLS")))
        << "of nccl.conf";
    EXPECT_THAT(admitted.pod["spec"]["containers"][0]["volumeMounts"], Contains(kConfMounts[0]));
  }
}

// NVSHMEM's list, by EnvFile.
const std::string kList = "NVSHMEM_HCA_LIST";

NcclPolicy with_nvshmem(Exposure exposure = Exposure::Host) {
  NcclPolicy policy = file_policy(exposure);
  policy.engines.push_back(find_engine("NVSHMEM"));
  policy.deliver_env_file = policy.says_delivery = true;
  return policy;
}

// What the init container writes for it; "none" where it writes nothing.
std::string list_of(const NcclPolicy& policy, const NodeFabric* table) {
  const Json made = settled(pod({container("c")}), policy, with_resolver()).pod;
  const ConfValues env = resolved_by(bind_to_node(made, binding_of(policy, table)), {}).env;
  const auto found = env.find(kList);
  return found == env.end() ? "none" : found->second;
}

TEST(Nvshmem, HasTheSamePortsByTheirNumbers) {
  NodeFabric table = rails(2);
  table.ports[1].number = 2;
  EXPECT_EQ(list_of(with_nvshmem(), &table), "mlx5_1:1,mlx5_2:2");
  NcclPolicy other = with_nvshmem();
  other.engines.pop_back();
  EXPECT_EQ(list_of(other, &table), "none") << "nobody else has it";
}

TEST(Nvshmem, WithoutANodesValueItIsLeftOutForTheReasonOfTheList) {
  NcclPolicy policy = with_nvshmem();
  EXPECT_EQ(list_of(policy, nullptr), "none");
  EXPECT_EQ(reason_of(binding_of(policy, nullptr).host, kList), "NoTable");
  policy.fabric.hcas = {"mlx5_*"};
  const NodeFabric most = rails(16), more = rails(17);
  EXPECT_NE(list_of(policy, &most), "none");
  EXPECT_EQ(list_of(policy, &more), "none");
  EXPECT_EQ(reason_of(binding_of(policy, &more).host, kList), "EngineCannotSay");
  EXPECT_FALSE(binding_of(policy, &more).host.deny) << "no reason to hold a pod";
}

TEST(Nvshmem, StandsNeverBesideAnyonesOwnChoice) {
  for (const char* own :
       {"NVSHMEM_HCA_LIST", "NVSHMEM_HCA_PE_MAPPING", "NVSHMEM_ENABLE_NIC_PE_MAPPING", "NCCL_IB_HCA"}) {
    const Json chooses = container("c", {env_literal(own, "1")});
    const Json made = settled(pod({chooses, container("d")}), with_nvshmem(), with_resolver()).pod;
    EXPECT_EQ(told(made, "c", kList), own == kList ? "UserSet" : "UserSetGroup") << own;
    EXPECT_EQ(told(made, "d", kList), "EnvFile") << "each container has an env of its own";
  }
  const NodeFabric table = rails(1);
  NcclPolicy mapping = with_nvshmem(), literal = with_nvshmem();
  mapping.env.emplace("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1");
  EXPECT_EQ(list_of(mapping, &table), "none");
  literal.hca = {HcaRule::Kind::Literal, "=mlx5_1"};  // in the grammar of NCCL
  const Json made = settled(pod({container("c")}), literal, with_resolver()).pod;
  EXPECT_EQ(told(made, "c", kList), "OmittedByPolicy");
}

TEST(Nvshmem, APodThatLooksItselfFindsItThere) {
  const NcclPolicy policy = with_nvshmem(Exposure::PodOwned);
  const Json asking = settled(pod({container("c")}, false), policy, with_resolver()).pod;
  EXPECT_EQ(told(asking, "c", kList), "EnvFile");
  const Resolution found = resolved_by(asking, rails(2));
  EXPECT_EQ(found.env.at(kList), "mlx5_1:1,mlx5_2:1");
  EXPECT_EQ(found.values.count(kList), 0u) << "nccl.conf is NCCL's";
}

}  // namespace
}  // namespace nccl_env::tests::engine_values_test
