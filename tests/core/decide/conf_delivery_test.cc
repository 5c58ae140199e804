// SPDX-License-Identifier: Apache-2.0
// nccl.conf by Binding: an annotation's text, mounted through a downward API volume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/conf_pods.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/pod/limits.h"

namespace nccl_env::tests::conf_delivery_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

BindingPlan bound(const NcclPolicy& policy, const NodeFabric* table) {
  return plan_binding(std::make_shared<const NcclPolicy>(policy), "node-a", table, {kNow});
}

// The text that the kubelet puts where the container reads: "" where the annotation is missing.
std::string file_of(const Json& pod, const BindingPlan& plan) {
  for (const Json& volume : pod["spec"]["volumes"]) {
    if (volume["name"] != "nccl-env-conf") continue;
    const std::string path = volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"];
    const auto found = plan.annotations.find(path.substr(22, path.size() - 24));
    return found == plan.annotations.end() ? "" : found->second;
  }
  return "no volume";
}

TEST(FileDelivery, HostNetworkPodsReadTheTextOfTheirNode) {
  const NcclPolicy policy = file_policy(Exposure::SubInterface);
  const Admitted admitted = admit(pod({container("c")}), policy);
  const NodeFabric table = rails(2);
  EXPECT_EQ(file_of(admitted.pod, bound(policy, &table)),
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_TIMEOUT=22\n");
  EXPECT_EQ(admitted.plan.form, Form::Binding);
  const Json& container = admitted.pod["spec"]["containers"][0];
  EXPECT_EQ(container["volumeMounts"], kConfMounts);
  EXPECT_EQ(container["env"], Json::array({env_literal("NCCL_IB_TIMEOUT", "22")})) << "a constant alone";
  EXPECT_EQ(admitted.pod["spec"]["volumes"], Json::parse(R"([{"name":"nccl-env-conf","downwardAPI":{"items":[
      {"path":"nccl.conf","mode":420,"fieldRef":{"apiVersion":"v1",
       "fieldPath":"metadata.annotations['hostnetwork.nccl-env.io/nccl.conf']"}}]}}])"));
  EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "Node");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "Policy");
}

TEST(FileDelivery, EachExposureHasATextOfItsOwn) {
  NcclPolicy policy = file_policy(Exposure::Host);
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  NodeFabric table = rails(1);
  table.interfaces = std::vector<Interface>{interface("bond0", "10.0.0.1", 24)};  // no eth0 on the node
  const BindingPlan plan = bound(policy, &table);
  const auto text = [&](const char* prefix) {
    return plan.annotations.at(std::string(prefix) + "/nccl.conf");
  };
  EXPECT_EQ(text("host.nccl-env.io"),
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\nNCCL_SOCKET_IFNAME=eth0\n");
  EXPECT_EQ(text("hostnetwork.nccl-env.io"),
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n");
  EXPECT_EQ(text("subinterface.nccl-env.io"),
            "NCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\nNCCL_SOCKET_IFNAME=eth0\n");
  EXPECT_EQ(text("podowned.nccl-env.io"), "NCCL_IB_TIMEOUT=22\nNCCL_SOCKET_IFNAME=eth0\n");
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
    policy.resources[0].exposure = exposure;
    const Admitted admitted = admit(running_sshd(pod({container("c")}, false)), policy);
    EXPECT_NE(file_of(admitted.pod, plan), "") << to_string(exposure);
  }
}

TEST(FileDelivery, EnvFromGetsTheFileInsteadOfNothing) {
  Json open = container("c", {env_literal("NCCL_DEBUG", "INFO")});
  open["envFrom"] = {{{"configMapRef", {{"name", "nccl"}}}}};
  const Admitted admitted = admit(equipped(pod({open})), file_policy(Exposure::Host));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "File");
  EXPECT_EQ(admitted.pod["spec"]["containers"][0]["env"], Json::array({env_literal("NCCL_DEBUG", "INFO")}));
  EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0]));
  EXPECT_THAT(admitted.plan.warnings, IsEmpty());
}

TEST(FileDelivery, WhatTheUserSetsStaysTheUsers) {
  const Json from_secret = {{"name", "NCCL_IB_TIMEOUT"},
                            {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "k"}}}}}};
  for (const Json& own :
       {env_literal("NCCL_IB_TIMEOUT", ""), env_literal("NCCL_IB_TIMEOUT", "20"), from_secret}) {
    const Admitted admitted = admit(pod({container("c", {own})}), file_policy(Exposure::Host));
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "UserSet") << own;
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File") << own;
    EXPECT_EQ(admitted.pod["spec"]["containers"][0]["env"], Json::array({own}));
  }
}

TEST(FileDelivery, TheSameVariableTwiceIsTheUsersTwice) {
  const Json env = {env_literal("NCCL_IB_TIMEOUT", "20"), env_literal("NCCL_IB_TIMEOUT", "21")};
  const Admitted admitted = admit(pod({container("c", env)}), file_policy(Exposure::Host));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "UserSet");
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_IB_TIMEOUT"), "21");
}

TEST(FileDelivery, OurIndexNeverStandsBesideTheUsersList) {
  for (const Json& own : {env_literal("NCCL_IB_HCA", "mlx5_1"), env_literal("NCCL_IB_ADDR_FAMILY", "AF_INET"),
                          env_literal("NCCL_IB_GID_INDEX", "-1")}) {
    const Admitted admitted = admit(pod({container("c", {own})}), file_policy(Exposure::Host));
    EXPECT_FALSE(has_file(admitted.pod["spec"]["containers"][0])) << own;
    EXPECT_FALSE(admitted.pod["spec"].contains("volumes")) << own;
    EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "UserSetGroup") << own;
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "Policy") << own;
    EXPECT_EQ(told(admitted.pod, "c", own["name"]), "UserSet");
  }
}

// NCCL reads nothing of the group beside an index, so the rest of the file does no harm.
TEST(FileDelivery, AUserWhoPinsAnIndexKeepsTheList) {
  const NcclPolicy policy = file_policy(Exposure::Host);
  const Admitted admitted = admit(pod({container("c", {env_literal("NCCL_IB_GID_INDEX", "5")})}), policy);
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_ADDR_FAMILY"), "UserSetGroup");
  const NodeFabric table = rails(2);
  const auto env = nccl_environment(bind_to_node(admitted.pod, bound(policy, &table)), 0);
  EXPECT_EQ(env.at("NCCL_IB_HCA"), "=mlx5_1,mlx5_2");
  EXPECT_EQ(env.at("NCCL_IB_GID_INDEX"), "5");
}

// They say which addresses the fabric has, whatever its HCAs are called.
TEST(FileDelivery, TheUsersListLeavesAddressesOfThePolicy) {
  NcclPolicy policy = file_policy(Exposure::SubInterface);
  policy.gid_index.kind = GidIndexRule::Kind::Omit;
  policy.env["NCCL_IB_ADDR_FAMILY"] = "AF_INET6";
  policy.env["NCCL_IB_ADDR_RANGE"] = "fd02::/16";
  const Json own = env_literal("NCCL_IB_HCA", "ibp");
  for (const bool host_network : {true, false}) {
    const Admitted admitted = admit(pod({container("c", {own})}, host_network), policy);
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_ADDR_FAMILY"), "Policy");
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_ADDR_RANGE"), "Policy");
    EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0]));
    EXPECT_EQ(admit(admitted.pod, policy).patch, "");
  }
  for (const char* name : {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM"}) {
    const Admitted admitted = admit(pod({container("c", {own, env_literal(name, "x")})}), policy);
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_ADDR_RANGE"), "UserSetGroup") << name;
  }
  // The node's family is that of other HCAs' rows.
  policy = file_policy(Exposure::Host);
  EXPECT_EQ(told(admit(pod({container("c", {own})}), policy).pod, "c", "NCCL_IB_ADDR_FAMILY"),
            "UserSetGroup");
}

TEST(FileDelivery, AnIndexOfThePolicyBesideTheUsersListIsNoBetter) {
  NcclPolicy policy = file_policy(Exposure::PodOwned);
  policy.gid_index = {GidIndexRule::Kind::Literal, 3};
  const Json before = pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5_1")})}, false);
  const Admitted admitted = admit(running_sshd(before), policy);
  EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "UserSetGroup");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "Policy");
}

TEST(FileDelivery, AFileWithoutTheGroupDoesNotContradictTheUser) {
  const NcclPolicy policy = file_policy(Exposure::PodOwned);  // constants only
  const Json own = {env_literal("NCCL_IB_HCA", "mlx5_1"), env_literal("NCCL_IB_GID_INDEX", "5")};
  const Json before = pod({container("c", own)}, false);
  EXPECT_FALSE(has_file(admit(before, policy).pod["spec"]["containers"][0])) << "constants stand in env";
  EXPECT_TRUE(has_file(admit(running_sshd(before), policy).pod["spec"]["containers"][0]));
}

TEST(FileDelivery, DisabledVerbsGetNoFile) {
  const Admitted admitted =
      admit(pod({container("c", {env_literal("NCCL_NET", "Socket")})}), file_policy(Exposure::Host));
  EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "DisabledByUser");
  EXPECT_FALSE(has_file(admitted.pod["spec"]["containers"][0]));
}

Json mounting(const std::vector<std::string>& paths, const char* sub_path = nullptr) {
  Json made = container("c");
  for (const std::string& path : paths) {
    made["volumeMounts"].push_back(mount(path));
    if (sub_path) made["volumeMounts"].back()["subPath"] = sub_path;
  }
  return made;
}

// Env beats a file that may be the user's, which is left alone as what envFrom brings is.
TEST(UsersConf, AMountAtOrAboveThePlaceKeepsAllValuesAway) {
  const Json sources[] = {{{"emptyDir", Json::object()}},
                          {{"configMap", {{"name", "nccl"}}}},
                          {{"projected", {{"sources", {{{"configMap", {{"name", "nccl"}}}}}}}}},
                          {{"hostPath", {{"path", "/etc"}}}}};
  std::size_t next = 0;
  for (const char* path :
       {"/", "//", "/etc", "/etc/", "/./etc//", "/usr/../etc", "etc", "/etc/nccl.conf",
        "/etc/x/../nccl.conf/", "/../etc/nccl.conf", "/etc/rccl.conf", "./etc/rccl.conf", "."}) {
    for (const char* sub_path : {"nccl.conf", static_cast<const char*>(nullptr)}) {
      const Json container = mounting({"/data", path}, sub_path);
      Json before = equipped(pod({container}, next % 2 == 0));
      Json volume = sources[next++ % std::size(sources)];
      volume["name"] = "mine";
      before["spec"]["volumes"].push_back(volume);
      const Admitted admitted = admit(before, file_policy(Exposure::Host));
      for (const char* name : {"nccl.conf", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT"})
        EXPECT_EQ(told(admitted.pod, "c", name), "ConfPresent") << path << " " << name;
      EXPECT_EQ(admitted.pod["spec"], before["spec"]) << path;
      ASSERT_EQ(admitted.plan.warnings.size(), 1u) << path;
      EXPECT_NE(admitted.plan.warnings[0].find("its own file (" + std::string(path) + ")"),
                std::string::npos);
      EXPECT_EQ(admit(admitted.pod, file_policy(Exposure::Host)).patch, "");
    }
  }
}

TEST(UsersConf, OtherMountsAreNoFileOfTheUsers) {
  for (const char* path : {"/etc2", "/etc/nccl.conf.d", "/etc/ssl", "/et", "/nccl.conf", "/etc/../x", "/root",
                           "/opt/nccl.conf", "/x.nccl.conf"}) {
    const Admitted admitted = admit(pod({mounting({path})}), file_policy(Exposure::Host));
    EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0])) << path;
  }
}

TEST(UsersConf, AMountBelowThePlaceIsNoFileAndLeavesNoPlaceForOurs) {
  for (const char* path : {"/etc/nccl.conf/x", "/etc/rccl.conf/x/y"}) {
    const Admitted admitted = admit(pod({mounting({path})}), file_policy(Exposure::Host));
    EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "ConfOccupied") << path;
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "ConfOccupied") << path;
  }
}

TEST(UsersConf, NamedByEnvOrInAHomeItIsReadBeforeOurFile) {
  const Json from_map{{"name", "NCCL_CONF_FILE"},
                      {"valueFrom", {{"configMapKeyRef", {{"name", "m"}, {"key", "k"}}}}}};
  NcclPolicy by_env = file_policy(Exposure::Host);
  by_env.deliver_env_file = by_env.says_delivery = true;
  for (const Json& container :
       {container("c", {env_literal("NCCL_CONF_FILE", "/conf/mine")}), container("c", {from_map}),
        container("c", {env_literal("HOME", "/h"), env_literal("NCCL_CONF_FILE", "$(HOME)/x")}),
        mounting({"/root/.nccl.conf"}), mounting({"/users/u/.rccl.conf/"}, "f")}) {
    const Admitted with_file = admit(equipped(pod({container})), file_policy(Exposure::Host));
    EXPECT_TRUE(has_file(with_file.pod["spec"]["containers"][0])) << container;
    EXPECT_EQ(told(with_file.pod, "c", "NCCL_IB_HCA"), "File") << container;
    EXPECT_EQ(told(with_file.pod, "c", "NCCL_IB_TIMEOUT"), "File") << container;
    EXPECT_THAT(with_file.plan.warnings, IsEmpty());
    const Admitted without = admit(equipped(pod({container})), by_env, nullptr, with_resolver());
    EXPECT_EQ(told(without.pod, "c", "NCCL_IB_HCA"), "ConfPresent") << container;
    EXPECT_THAT(without.plan.containers[0].set, IsEmpty());
    EXPECT_EQ(without.plan.warnings.size(), 1u);
  }
  // As NCCL reads it, an empty name is none. One that the policy sets is not the user's.
  const Json empty = container("c", {env_literal("NCCL_CONF_FILE", "")});
  EXPECT_EQ(told(admit(pod({empty}), by_env, nullptr, with_resolver()).pod, "c", "NCCL_IB_HCA"), "EnvFile");
  by_env.env["NCCL_CONF_FILE"] = "/shared/nccl.conf";
  const Admitted ours = admit(pod({container("c")}), by_env, nullptr, with_resolver());
  EXPECT_EQ(told(ours.pod, "c", "NCCL_CONF_FILE"), "Policy");
  EXPECT_EQ(admit(ours.pod, by_env, nullptr, with_resolver()).patch, "");
}

TEST(UsersConf, IsOneContainersAlone) {
  Json before = pod({container("a"), mounting({"/etc/nccl.conf"})}, false);
  before["spec"]["initContainers"] = {container("i"), container("j")};
  before["spec"]["initContainers"][0]["volumeMounts"] = Json::array({mount("/etc")});
  const NcclPolicy policy = file_policy(Exposure::SubInterface);
  const Admitted admitted = admit(before, policy);
  EXPECT_EQ(told(admitted.pod, "i", "NCCL_IB_TIMEOUT"), "ConfPresent");
  EXPECT_EQ(told(admitted.pod, "j", "NCCL_IB_TIMEOUT"), "Policy");
  EXPECT_EQ(told(admitted.pod, "a", "nccl.conf"), "Node");
  EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "ConfPresent");
}

TEST(UsersConf, WhatTheUserSetsInEnvIsStillToldAsSuch) {
  Json both = mounting({"/etc/nccl.conf"});
  both["env"] = {env_literal("NCCL_IB_TIMEOUT", "20"), env_literal("NCCL_IB_GID_INDEX", "5")};
  const Admitted admitted = admit(pod({both}), file_policy(Exposure::Host));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "UserSet");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_ADDR_FAMILY"), "UserSetGroup");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "ConfPresent");
}

// A path may have 4 KiB, and stands in the detail of each variable.
TEST(UsersConf, OfALongPathTheBeginningIsTold) {
  const Admitted admitted =
      admit(pod({mounting({std::string(4000, '/') + "etc"})}), file_policy(Exposure::Host));
  for (const Value& omission : admitted.plan.containers[0].omitted) {
    EXPECT_EQ(omission.reason, Reason::ConfPresent);
    EXPECT_LT(omission.detail.size(), 250u);
  }
}

TEST(FileDelivery, AFileThatOnlyNcclReadIsMountedForRcclToo) {
  const NcclPolicy policy = file_policy(Exposure::Host);
  Json earlier = admit(pod({container("c")}), policy).pod;
  earlier["spec"]["containers"][0]["volumeMounts"].erase(1);
  const Admitted again = admit(earlier, policy);
  EXPECT_EQ(again.pod["spec"]["containers"][0]["volumeMounts"], kConfMounts);
  Json twice = again.pod;
  twice["spec"]["containers"][0]["volumeMounts"].push_back(kConfMounts[1]);
  EXPECT_EQ(admit(twice, policy).pod, again.pod);
}

TEST(FileDelivery, OneContainersMountDoesNotKeepTheFileFromAnother) {
  Json occupied = container("a");
  occupied["volumeMounts"] = Json::array({mount("/etc")});
  const NcclPolicy policy = file_policy(Exposure::Host);
  const Admitted admitted = admit(pod({occupied, container("b"), container("sidecar", {}, "")}), policy);
  EXPECT_FALSE(has_file(admitted.pod["spec"]["containers"][0]));
  EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][1]));
  EXPECT_FALSE(has_file(admitted.pod["spec"]["containers"][2]));
  EXPECT_EQ(admit(with_api_defaults(admitted.pod), policy).patch, "");
}

TEST(FileDelivery, ACopiedVolumeOfAnotherExposureIsReplaced) {
  const NcclPolicy policy = file_policy(Exposure::SubInterface);
  Json before = pod({container("c")});
  before["spec"]["volumes"] = {{{"name", "data"}, {"emptyDir", Json::object()}}};
  Json copied = admit(before, policy).pod;
  copied["spec"].erase("hostNetwork");
  const Admitted again = admit(copied, policy);
  EXPECT_THAT(names(again.pod["spec"]["volumes"]), ElementsAre("data", "nccl-env-conf"));
  EXPECT_NE(again.pod["spec"]["volumes"][1].dump().find("subinterface.nccl-env.io"), std::string::npos);
  EXPECT_EQ(admit(again.pod, policy).patch, "");
}

TEST(FileDelivery, InitContainersAndNativeSidecarsAreMounted) {
  Json before = pod({container("main")});
  before["spec"]["initContainers"] = {container("warm-up"), container("setup", {}, ""), container("proxy")};
  before["spec"]["initContainers"][2]["restartPolicy"] = "Always";
  const Admitted admitted = admit(before, file_policy(Exposure::Host));
  EXPECT_THAT(init_names(admitted.pod), ElementsAre("warm-up", "setup", "proxy"));
  EXPECT_TRUE(has_file(admitted.pod["spec"]["initContainers"][0]));
  EXPECT_FALSE(has_file(admitted.pod["spec"]["initContainers"][1]));
  EXPECT_TRUE(has_file(admitted.pod["spec"]["initContainers"][2]));
  EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0]));
}

TEST(FileDelivery, WithoutConstantsAPodWithDevicesOfItsOwnGetsNoFile) {
  NcclPolicy policy = file_policy(Exposure::PodOwned);
  policy.env.clear();
  const Admitted admitted = admit(pod({container("c")}, false), policy);
  EXPECT_EQ(admitted.plan.form, Form::Constants);
  EXPECT_FALSE(admitted.pod["spec"].contains("volumes"));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "PodOwnsDevices");
  EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "");
}

TEST(FileDelivery, SixtyContainers) {
  Json containers = Json::array();
  for (int i = 0; i < 60; ++i) {
    containers.push_back(container("c" + std::to_string(i)));
    containers.back()["volumeMounts"] = {mount("/data"), mount("/dev/shm", "shm")};
  }
  Json before = pod(containers);
  for (int i = 0; i < 60; ++i)
    before["spec"]["volumes"].push_back({{"name", "v" + std::to_string(i)}, {"emptyDir", Json::object()}});
  const NcclPolicy policy = file_policy(Exposure::Host);
  const Admitted admitted = admit(before, policy);
  for (const Json& container : admitted.pod["spec"]["containers"]) EXPECT_TRUE(has_file(container));
  EXPECT_EQ(admitted.pod["spec"]["volumes"].size(), 61u);
  EXPECT_EQ(admit(with_api_defaults(admitted.pod), policy).patch, "");
}

// The texts of long constants need room that the env alone does not.
TEST(FileDelivery, ThePodAtTheEdgeOfTheBudget) {
  NcclPolicy policy = file_policy(Exposure::Host);
  for (int i = 0; i < 10; ++i) policy.env["UCX_LONG_" + std::to_string(i)] = std::string(1000, 'x');
  const NodeFabric table = rails(8);
  const BindingPlan plan = bound(policy, &table);
  std::size_t bytes = 0;
  for (const auto& [key, value] : plan.annotations) bytes += key.size() + value.size();
  const auto admitted_with = [&](std::size_t size, const NcclPolicy& by) {
    Json before = pod({container("c")});
    before["metadata"]["annotations"]["big"] = std::string(size, 'x');
    return admit(before, by);
  };
  const std::size_t room = kMaxAnnotationBytes - 3 - 1200;  // "big" and the status
  std::size_t largest = room - 2 * bytes, refused = room;
  ASSERT_TRUE(admitted_with(largest, policy).plan.inject);
  ASSERT_FALSE(admitted_with(refused, policy).plan.inject);
  while (refused - largest > 1) {
    const std::size_t middle = largest + (refused - largest) / 2;
    (admitted_with(middle, policy).plan.inject ? largest : refused) = middle;
  }
  const Admitted edge = admitted_with(largest, policy);
  const Json bound_pod = bind_to_node(edge.pod, plan);
  std::size_t total = 0;
  for (const auto& [key, value] : bound_pod["metadata"]["annotations"].items())
    total += key.size() + value.get<std::string>().size();
  EXPECT_LE(total, kMaxAnnotationBytes);
  EXPECT_EQ(admitted_with(refused, policy).plan.reason, Reason::BudgetExceeded);
}

TEST(FileDelivery, ABindingCountsTheTextsToo) {
  NcclPolicy policy = file_policy(Exposure::Host);
  for (int i = 0; i < 20; ++i) policy.env["UCX_LONG_" + std::to_string(i)] = std::string(1000, 'x');
  const BindingPlan plan = bound(policy, nullptr);
  const std::string big((256u << 10) - 50000, 'x');
  Binding binding;
  binding.annotations = {{"big", big}};
  EXPECT_FALSE(within_budget(binding, plan));
  policy.env.clear();
  EXPECT_TRUE(within_budget(binding, bound(policy, nullptr)));
}

TEST(FileDelivery, ADenySeesPodsThatReadByFileAlone) {
  const auto exposure_of = [](const Json& before, Exposure exposure) {
    const std::string text = admit(before, file_policy(exposure)).pod.dump();
    ReviewParser parser;
    return consumed_exposure(*parser.parse_pod(text));
  };
  EXPECT_EQ(exposure_of(pod({container("c")}), Exposure::SubInterface), Exposure::Host);
  EXPECT_EQ(exposure_of(pod({container("c")}, false), Exposure::Host), Exposure::Host);
  EXPECT_EQ(exposure_of(pod({container("c")}, false), Exposure::SubInterface), Exposure::SubInterface);
  EXPECT_EQ(exposure_of(running_sshd(pod({container("c")}, false)), Exposure::PodOwned), Exposure::PodOwned)
      << "of its node, constants alone";
}

TEST(FileDelivery, TheTextsAreKeysThatOnlyBindingWrites) {
  for (const char* prefix : {"host", "hostnetwork", "subinterface", "podowned"}) {
    const std::string key = std::string(prefix) + ".nccl-env.io/nccl.conf";
    EXPECT_TRUE(is_node_key(key)) << key;
    Json before = pod({container("c")});
    before["metadata"]["annotations"][key] = "NCCL_IB_HCA=mlx5_9\n";
    EXPECT_FALSE(admit(before, file_policy(Exposure::Host)).pod["metadata"]["annotations"].contains(key));
  }
}

TEST(FileDelivery, APodCreatedOnANodeHasTheTextAtOnce) {
  Json before = pod({container("c")});
  before["spec"]["nodeName"] = "node-a";
  const NcclPolicy policy = file_policy(Exposure::Host);
  const NodeFabric table = rails(1);
  const BindingPlan plan = bound(policy, &table);
  const Admitted admitted = admit(before, policy, &plan);
  EXPECT_EQ(admitted.pod["metadata"]["annotations"]["hostnetwork.nccl-env.io/nccl.conf"],
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n");
  EXPECT_EQ(admit(admitted.pod, policy, &plan).patch, "");
}

}  // namespace
}  // namespace nccl_env::tests::conf_delivery_test
