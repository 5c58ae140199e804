// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/networks.h"

#include "core/conf_pods.h"
#include "support/golden.h"
#include "support/matchers.h"

namespace nccl_env::tests::networks_test {
namespace {

constexpr const char* kMultus = "k8s.v1.cni.cncf.io/networks";
constexpr const char* kSpiderpool = "cni.spidernet.io/rdma-resource-inject";
constexpr const char* kGke = "networking.gke.io/interfaces";
constexpr const char* kVolcengine = "k8s.volcengine.com/pod-networks";

Json annotated(const std::string& key, const std::string& value, std::vector<Json> containers,
               bool host_network = false) {
  Json made = pod(std::move(containers), host_network);
  made["metadata"]["annotations"][key] = value;
  return made;
}

PodNetworks read(const std::string& key, const std::string& value, bool host_network = false) {
  ReviewParser parser;
  const std::string text = annotated(key, value, Json::array(), host_network).dump();
  return networks_of(*parser.parse_pod(text));
}

std::vector<std::string> names(const std::string& key, const std::string& value) {
  const PodNetworks networks = read(key, value);
  EXPECT_EQ(networks.problem, "");
  return networks.names;
}

TEST(Networks, MultusNamesThemInALineOrAList) {
  EXPECT_THAT(names(kMultus, "rail-0, other/rail-1@net2 ,rail-0"),
              ElementsAre("ml/rail-0", "other/rail-1", "ml/rail-0"));
  EXPECT_THAT(names(kMultus, R"([{"name": "rail-0", "interface": "net1", "ips": ["10.0.0.2/24"]},
                                 {"name": "rail-1", "namespace": "cw-multus"}])"),
              ElementsAre("ml/rail-0", "cw-multus/rail-1"));
  EXPECT_THAT(names(kMultus, ""), IsEmpty());
  EXPECT_THAT(names(kMultus, " \n"), IsEmpty());
}

TEST(Networks, InterfacesAreThoseThatMultusWroteDownOrNone) {
  const auto interfaces = [](const std::string& status, bool host_network = false) {
    ReviewParser parser;
    const std::string text =
        annotated("k8s.v1.cni.cncf.io/network-status", status, Json::array(), host_network).dump();
    return interfaces_of(*parser.parse_pod(text));
  };
  const std::string two =
      R"([{"name": "cbr0", "interface": "net0", "ips": ["10.0.0.2"], "default": true, "dns": {}},
          {"name": "ml/rail-0", "interface": "net1"}])";
  EXPECT_THAT(interfaces(two), ElementsAre("net0", "net1"));
  EXPECT_THAT(interfaces(two, true), IsEmpty()) << "the node's";
  for (const char* unknown : {"", "[]", "{}", "[1]", "net0", R"([{"interface": "net0"}, {"name": "x"}])",
                              R"([{"interface": "a,b"}])", R"([{"interface": 7}])"})
    EXPECT_THAT(interfaces(unknown), IsEmpty()) << unknown;
  std::string many = "[";
  for (int i = 0; i < 65; ++i) many += R"({"interface": "net)" + std::to_string(i) + R"("},)";
  many.back() = ']';
  EXPECT_THAT(interfaces(many), IsEmpty());
  EXPECT_THAT(interfaces("[" + std::string(70'000, ' ') + "]"), IsEmpty());
}

TEST(Networks, OtherAnnotationsStandWithTheirDomain) {
  constexpr const char* kDefault = "v1.multus-cni.io/default-network";
  EXPECT_THAT(names(kDefault, "calico-rdma"), ElementsAre("kube-system/calico-rdma")) << "Multus' namespace";
  EXPECT_THAT(names(kDefault, "net/x"), ElementsAre("net/x"));
  EXPECT_THAT(names(kSpiderpool, "rdma-network"), ElementsAre("cni.spidernet.io/rdma-network"));
  EXPECT_THAT(names("cni.spidernet.io/network-resource-inject", "x"), ElementsAre("cni.spidernet.io/x"));
  EXPECT_THAT(names(kGke, R"([{"interfaceName": "eth0", "network": "default"},
                              {"interfaceName": "eth2", "network": "rdma-0"}])"),
              ElementsAre("networking.gke.io/rdma-0"));
  EXPECT_THAT(names(kVolcengine, R"([{"cniConf": {"name": "rdma"}}, {"other": 1}])"),
              ElementsAre("k8s.volcengine.com/rdma"));
  EXPECT_THAT(read(kMultus, "rail-0", true).names, IsEmpty()) << "a pod on the host's network has none";
}

TEST(Networks, WhatCannotBeReadIsAProblemWithTheAnnotationsName) {
  std::string numbers = "[1e5", many;
  for (int i = 0; i < 40; ++i) numbers += ",1e5";
  for (int i = 0; i < 65; ++i) many += "a,";
  const auto refuse = [](const std::string& key, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      const std::string problem = read(key, value).problem;
      EXPECT_TRUE(problem.starts_with(key)) << value;
      const std::string shown = value.size() < 300 ? value : std::to_string(value.size()) + " of " + value[0];
      expect_golden(key + ": " + shown, problem);
    }
  };
  refuse(kMultus,
         {"[{", R"({"name": "x"})", R"([{"name": 7}])", R"([{"name": "a", "name": "b"}])", "a,,b", "a/b/c",
          "../x", std::string(65537, 'a'), std::string(60000, '['), numbers + "]", many + "a"});
  refuse(kSpiderpool, {"a b"});
  refuse(kGke, {"7"});
  refuse(kVolcengine, {R"([{"cniConf": []}])"});
}

NcclPolicy for_networks() {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::Host);
  policy.fabric.expect_ports = 1;
  policy.networks = {{"ml/rail-*", Exposure::SubInterface}, {"*/vf-*", Exposure::PodOwned}};
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

TEST(Networks, AMatchAloneInjectsMainContainers) {
  Json before = annotated(kMultus, "rail-0", {container("a", {}, ""), container("b", {}, "")});
  before["spec"]["initContainers"] = Json::array({container("i", {}, "")});
  const Admitted admitted = admit(before, for_networks());
  EXPECT_TRUE(admitted.plan.inject);
  EXPECT_EQ(admitted.plan.exposure, Exposure::SubInterface);
  EXPECT_EQ(told(admitted.pod, "a", "NCCL_IB_HCA"), "File") << "names hold";
  EXPECT_EQ(environment(admitted.pod, 1).count("NCCL_IB_TIMEOUT"), 1u);
  EXPECT_FALSE(admitted.pod["spec"]["initContainers"][0].contains("env"));
  EXPECT_EQ(admit(admitted.pod, for_networks()).patch, "");
}

// What the policy makes of a pod with the annotation, with or without the resource, on a network.
Plan plan_of(const std::string& value, const NcclPolicy& policy, bool asks = true,
             bool host_network = false) {
  const Json one = asks ? container("c") : container("c", {}, "");
  return admit(equipped(annotated(kMultus, value, {one}, host_network)), policy).plan;
}

TEST(Networks, BesideAResourceTheLeastKnownExposureCounts) {
  const Plan of_networks = plan_of("rail-0,other/vf-1", for_networks(), false);
  EXPECT_EQ(of_networks.exposure, Exposure::PodOwned);
  EXPECT_EQ(reason_of(of_networks, "NCCL_IB_HCA"), "PodOwnsDevices");
  EXPECT_EQ(plan_of("rail-0", for_networks()).exposure, Exposure::SubInterface) << "the resource says Host";
  NcclPolicy owned = for_networks();
  owned.resources[0].exposure = Exposure::PodOwned;
  EXPECT_EQ(plan_of("rail-0", owned).exposure, Exposure::PodOwned);
  // Networks that no entry names change nothing.
  EXPECT_EQ(plan_of("storage", for_networks()).exposure, Exposure::Host);
  EXPECT_EQ(plan_of("storage", for_networks(), false).reason, Reason::NotRdma);
  EXPECT_EQ(plan_of("rail-0", for_networks(), false, true).reason, Reason::NotRdma) << "none is secondary";
}

TEST(Networks, AnAnnotationThatCannotBeReadTakesTheNodesValuesAway) {
  const Plan plan = plan_of("[{", for_networks());
  EXPECT_EQ(plan.exposure, Exposure::PodOwned);
  ASSERT_EQ(plan.warnings.size(), 1U);
  expect_golden(plan.warnings[0]);
  EXPECT_EQ(plan_of("[{", for_networks(), false).reason, Reason::NotRdma);
  EXPECT_EQ(plan_of("[{", for_networks(), true, true).exposure, Exposure::Host);
  NcclPolicy without = for_networks();
  without.networks.clear();
  EXPECT_EQ(plan_of("[{", without).exposure, Exposure::Host);
}

// Spiderpool's webhook adds the resource and the networks to the first container, after ours or before it.
Json with_spiderpools_additions(Json pod) {
  pod["spec"]["containers"][0]["resources"]["limits"]["spidernet.io/shared_rail0"] = "1";
  pod["metadata"]["annotations"][kMultus] = R"([{"name": "rail-0", "namespace": "spiderpool"}])";
  return pod;
}

TEST(Networks, AWebhookThatAddsTheResourceLaterEndsInTheSamePod) {
  NcclPolicy policy = for_networks();
  policy.resources = {{"spidernet.io/shared_*", Exposure::SubInterface}};
  policy.networks.push_back({"cni.spidernet.io/*", Exposure::SubInterface});
  const Json before = annotated(kSpiderpool, "rails", {container("a", {}, ""), container("b", {}, "")});
  const Json ours_first = admit(before, policy).pod;
  EXPECT_EQ(environment(ours_first, 1).count("NCCL_IB_HCA"), 0u) << "how many networks is not known yet";
  const Json reinvoked = admit(with_spiderpools_additions(ours_first), policy).pod;
  const Json theirs_first = admit(with_spiderpools_additions(before), policy).pod;
  for (std::size_t i : {0u, 1u}) EXPECT_EQ(environment(reinvoked, i), environment(theirs_first, i)) << i;
  EXPECT_EQ(reinvoked["metadata"], theirs_first["metadata"]);
  EXPECT_EQ(admit(reinvoked, policy).patch, "");
}

NcclPolicy shared(std::optional<int> rails = 8) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  policy.fabric.expect_ports = rails;
  return policy;
}

std::string rails_in_a_line(int count) {
  std::string line;
  for (int i = 0; i < count; ++i) line += (i == 0 ? "rail-" : ",rail-") + std::to_string(i);
  return line;
}

// Returns what the pod's list comes to: "File", or the reason why it has none.
std::string list_of(const Json& pod, const NcclPolicy& policy, const PlanOptions& options = {}) {
  const Admitted admitted = admit(pod, policy, nullptr, options);
  EXPECT_EQ(admit(admitted.pod, policy, nullptr, options).patch, "");
  return told(admitted.pod, "c", "NCCL_IB_HCA");
}

TEST(Rails, APodBehindASharedPluginHasTheNodesListOnlyWithAllRails) {
  struct {
    std::string networks;
    std::optional<int> rails;
    const char* list;
  } const rows[] = {
      {rails_in_a_line(1), 8, "PodRailsUnknown"},
      {rails_in_a_line(7), 8, "PodRailsUnknown"},
      {rails_in_a_line(8), 8, "File"},
      {rails_in_a_line(9), 8, "File"},
      {rails_in_a_line(1), {}, "PodRailsUnknown"},
      {rails_in_a_line(2), {}, "File"},  // nothing says that there are more
      {rails_in_a_line(1), 1, "File"},
      {"[{", 8, "PodRailsUnknown"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(list_of(annotated(kMultus, row.networks, {container("c")}), shared(row.rails)), row.list)
        << row.networks;
  EXPECT_EQ(list_of(annotated(kSpiderpool, "rails", {container("c")}), shared()), "PodRailsUnknown");
  EXPECT_EQ(list_of(annotated("v1.multus-cni.io/default-network", "calico", {container("c")}), shared(1)),
            "PodRailsUnknown");
  EXPECT_EQ(list_of(pod({container("c")}, false), shared()), "File")
      << "its interfaces come without an annotation";
}

TEST(Rails, TheDetailTellsHowMany) {
  const Admitted admitted = admit(annotated(kMultus, "rail-0", {container("c")}), shared());
  const auto& omitted = admitted.plan.containers[0].omitted;
  ASSERT_FALSE(omitted.empty());
  EXPECT_EQ(omitted.begin()->detail, "The pod's networks bring 1 of 8 rails.");
  EXPECT_EQ(admitted.plan.exposure, Exposure::SubInterface);
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_IB_TIMEOUT"), "22");
  EXPECT_EQ(admitted.plan.form, Form::Constants);
}

TEST(Rails, OnlyNetworksThatThePolicyNamesCountWhereItNamesOne) {
  NcclPolicy policy = shared(2);
  policy.networks = {{"ml/rail-*", Exposure::SubInterface}};
  EXPECT_EQ(list_of(annotated(kMultus, "rail-0,storage", {container("c")}), policy), "PodRailsUnknown");
  EXPECT_EQ(list_of(annotated(kMultus, "rail-0,storage,rail-1", {container("c")}), policy), "File");
  policy.networks = {{"cni.spidernet.io/*", Exposure::SubInterface}};
  Json both = annotated(kSpiderpool, "rails", {container("c")});
  both["metadata"]["annotations"][kMultus] = "spiderpool/a,spiderpool/b";
  EXPECT_EQ(list_of(both, policy), "File") << "Spiderpool has added them";
}

TEST(Rails, NoNetworkWhereThePolicySaysThatRailsComeByThem) {
  NcclPolicy policy = shared();
  policy.networks = {{"ml/rail-*", Exposure::SubInterface}};
  const Json before = equipped(pod({container("c")}, false));
  EXPECT_EQ(list_of(before, policy), "PodRailsUnknown");
  const std::vector<std::string> warnings = admit(before, policy).plan.warnings;
  ASSERT_EQ(warnings.size(), 1U);
  expect_golden(warnings[0]);
  EXPECT_EQ(admit(before, policy, nullptr, with_resolver()).plan.warnings, warnings)
      << "whoever looks finds no rail";
  EXPECT_THAT(admit(equipped(pod({container("c")})), policy).plan.warnings, IsEmpty());
  EXPECT_EQ(list_of(equipped(pod({container("c")})), policy), "File") << "the host's network has them all";
}

TEST(Rails, InfiniBandAndListsOfThePolicyNeedNoNetwork) {
  const Json one = annotated(kMultus, "ipoib", {container("c")});
  NcclPolicy infiniband = shared();
  infiniband.fabric.link_layer = LinkLayer::InfiniBand;
  EXPECT_EQ(list_of(one, infiniband), "File");
  NcclPolicy literal = shared();
  literal.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
  EXPECT_EQ(list_of(one, literal), "Policy");
  NcclPolicy owned = shared();
  owned.resources[0].exposure = Exposure::PodOwned;
  EXPECT_EQ(list_of(one, owned), "PodOwnsDevices");
}

TEST(Rails, AtContainerStartThePodFindsItsOwn) {
  const Json one = annotated(kMultus, "rail-0", {container("c")});
  EXPECT_EQ(list_of(one, shared(), with_resolver()), "Pod");
  Json early = admit(one, shared(), nullptr, with_resolver()).pod;
  auto& init = early["spec"]["initContainers"];
  init.insert(init.begin(), container("early"));
  const Admitted second = admit(early, shared(), nullptr, with_resolver());
  EXPECT_EQ(told(second.pod, "early", "NCCL_IB_HCA"), "PodRailsUnknown") << "it runs before";
}

TEST(Rails, TheFileHoldsNoListOfTheNodeEither) {
  NcclPolicy policy = shared();
  const Json few = admit(running_sshd(annotated(kMultus, "rail-0", {container("c")})), policy).pod;
  EXPECT_THAT(few["spec"]["volumes"].dump(), HasSubstr("podowned.nccl-env.io/nccl.conf"));
  const Json all = admit(annotated(kMultus, rails_in_a_line(8), {container("c")}), policy).pod;
  EXPECT_THAT(all["spec"]["volumes"].dump(), HasSubstr("subinterface.nccl-env.io/nccl.conf"));
}

}  // namespace
}  // namespace nccl_env::tests::networks_test
