// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/builders.h"
#include "core/pods.h"
#include "support/golden.h"

namespace nccl_env::tests::warnings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NcclPolicy policy() {
  NcclPolicy made = policy_for("rdma/hca", Exposure::SubInterface);
  made.host_devices = true;
  made.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  made.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return made;
}

std::vector<std::string> warnings(const Json& pod, const NcclPolicy& for_policy = policy()) {
  return admit(pod, for_policy).plan.warnings;
}

// Each warning stands in the golden.
void expect_warnings(const std::string& title, const Json& pod, std::size_t count,
                     const NcclPolicy& for_policy = policy()) {
  std::string text;
  const std::vector<std::string> said = warnings(pod, for_policy);
  EXPECT_EQ(said.size(), count) << title;
  for (const std::string& warning : said) text += warning + "\n";
  expect_golden(title, text);
}

Json with_shared_memory(const Json& empty_dir, const std::string& path = "/dev/shm") {
  Json made = equipped(pod({container("c")}, false));
  made["spec"]["volumes"][0]["emptyDir"] = empty_dir;
  made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = path;
  return made;
}

TEST(PodWarnings, APodWithEverythingGetsNone) {
  EXPECT_THAT(warnings(equipped(pod({container("c")}, false))), IsEmpty());
}

TEST(PodWarnings, OneOfEachKindInTheOrderOfTheirWeight) {
  Json bare = pod({container("a", {}, ""), container("b", {}, "")});
  bare["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  expect_warnings("a bare pod", bare, 3);
}

TEST(PodWarnings, EnvBesideTheContainersHasNoEffect) {
  Json made = equipped(pod({container("c")}, false));
  made["spec"]["env"] = Json::array({env_literal("NCCL_IB_TIMEOUT", "20")});
  EXPECT_THAT(warnings(made), ElementsAre(HasSubstr("spec.env stands beside the containers")));
}

// Guides give one index for all clouds.
TEST(PodWarnings, AnIndexOfTheUsersMayBeAnotherRowInAPodWithItsOwnTable) {
  const auto pinned = [](const Json& env, bool host_network) {
    Json made = equipped(pod({container("c", {env})}, host_network));
    return warnings(made);
  };
  const Json three = env_literal("NCCL_IB_GID_INDEX", "3");
  EXPECT_THAT(pinned(three, false), ElementsAre(HasSubstr("GID table of its own")));
  EXPECT_THAT(pinned(three, true), IsEmpty()) << "the rows are the node's";
  EXPECT_THAT(pinned(env_literal("NCCL_IB_GID_INDEX", "-1"), false), IsEmpty()) << "NCCL looks";
  NcclPolicy infiniband = policy();
  infiniband.fabric.link_layer = LinkLayer::InfiniBand;
  EXPECT_THAT(warnings(equipped(pod({container("c", {three})}, false)), infiniband), IsEmpty());
}

TEST(PodWarnings, AUsersValueThatNcclMisreadsComesFirstAndThreeAreTheMost) {
  Json bare = pod({container("c", {env_literal("NCCL_IB_TIMEOUT", "99")}, "")});
  bare["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  expect_warnings("NCCL_IB_TIMEOUT=99", bare, 3);
}

// exec drops a capability that is not ambient where the user is not root; Kubernetes sets no ambient ones.
TEST(PodWarnings, AMisspeltNameAndAnotherEnginesListAreTold) {
  const auto with = [](const std::string& name, const std::string& value) {
    return warnings(equipped(pod({container("c", {env_literal(name, value)})}, false)));
  };
  EXPECT_THAT(with("NCCL_IB_TIMOUT", "22"), ElementsAre(HasSubstr("do you mean NCCL_IB_TIMEOUT?")));
  EXPECT_THAT(with("UCX_NET_DEVICES", "=mlx5_0,mlx5_1"), ElementsAre(HasSubstr("NCCL's grammar")));
  EXPECT_THAT(with("GLOO_SOCKET_IFNAME", "^docker0"), ElementsAre(HasSubstr("NCCL's grammar")));
  for (const char* name : {"NCCL_PAT_ENABLE", "NCCL_OF_ANOTHER_KIND", "UCX_TLS", "NVSHMEM_HCA_LIST"})
    EXPECT_THAT(with(name, "mlx5_0:1"), IsEmpty()) << name;
}

TEST(PodWarnings, ACapabilityOfAUserOtherThanRootLocksNoMemory) {
  const Json made = equipped(pod({container("c")}, false));
  const auto with = [&](const char* place, const Json& context) {
    Json changed = made;
    changed[Json::json_pointer(place)].update(context);
    return warnings(changed);
  };
  const char* const kPod = "/spec/securityContext";
  const char* const kContainer = "/spec/containers/0/securityContext";
  for (const char* place : {kPod, kContainer}) {
    EXPECT_THAT(with(place, {{"runAsUser", 1000}}),
                ElementsAre(HasSubstr("container c: does not run as root")));
    EXPECT_THAT(with(place, {{"runAsNonRoot", true}}), ElementsAre(HasSubstr("IPC_LOCK is not effective")));
    EXPECT_THAT(with(place, {{"runAsUser", 0}}), IsEmpty());
    EXPECT_THAT(with(place, {{"runAsNonRoot", false}}), IsEmpty());
  }
  EXPECT_THAT(with(kContainer, {{"privileged", true}, {"runAsUser", 1000}}),
              ElementsAre(HasSubstr("memlock")));
  Json root_in_user_pod = made;
  root_in_user_pod["spec"]["securityContext"]["runAsUser"] = 1000;
  root_in_user_pod["spec"]["containers"][0]["securityContext"]["runAsUser"] = 0;
  EXPECT_THAT(warnings(root_in_user_pod), IsEmpty());
}

TEST(PodWarnings, RoceBehindASharedPluginWithoutANetworkIsToldOnce) {
  NcclPolicy shared = policy_for("rdma/rdma_shared_device_a", Exposure::SubInterface);
  shared.fabric.link_layer = LinkLayer::Ethernet;
  shared.hca.kind = HcaRule::Kind::FromNode;
  Json made = equipped(pod({container("c", {}, "rdma/rdma_shared_device_a")}, false));
  EXPECT_THAT(warnings(made, shared),
              ElementsAre(HasSubstr("nccl-env: NoRail: RoCE behind a shared device plugin")));
  NcclPolicy infiniband = shared;
  infiniband.fabric.link_layer = LinkLayer::InfiniBand;
  EXPECT_THAT(warnings(made, infiniband), IsEmpty());
  NcclPolicy open = shared;
  open.fabric.link_layer.reset();
  EXPECT_THAT(warnings(made, open), IsEmpty()) << "which fabric it is, a node tells";
  NcclPolicy one_kind = open;  // of its nodes has RoCE
  one_kind.variants.emplace_back().fabric.emplace().link_layer = LinkLayer::Ethernet;
  EXPECT_THAT(warnings(made, one_kind), ElementsAre(HasSubstr("nccl-env: NoRail: ")));
  shared.hca.kind = HcaRule::Kind::Omit;
  EXPECT_THAT(warnings(made, shared), ElementsAre(HasSubstr("nccl-env: NoRail: "))) << "whatever list it has";
  made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "rail0,rail1";
  EXPECT_THAT(warnings(made, shared), IsEmpty());
  // A cloud's plugin, whose network gives every pod its rails.
  const NcclPolicy clouds = [&] {
    NcclPolicy other = policy_for("rdma/hca", Exposure::SubInterface);
    other.fabric.link_layer = LinkLayer::Ethernet;
    return other;
  }();
  EXPECT_THAT(warnings(equipped(pod({container("c")}, false)), clouds), IsEmpty());
}

TEST(PodWarnings, ANameIsCutBetweenCharacters) {
  const std::string name = std::string(62, 'a') + "\u00e9";  // of two bytes
  for (const std::string& warning :
       warnings(pod({container(name, {env_literal("NCCL_IB_TIMEOUT", "99")})}, false)))
    EXPECT_THAT(warning, HasSubstr("container " + std::string(62, 'a') + ": "));
}

TEST(PodWarnings, SharedMemoryIsSmallBelowAGibibyteAndWhereNothingIsMounted) {
  for (const Json& small : {Json("64Mi"), Json("1G"), Json("1023Mi"), Json("0"), Json("512M"), Json(4096)})
    expect_warnings("sizeLimit " + small.dump(),
                    with_shared_memory({{"medium", "Memory"}, {"sizeLimit", small}}), 1);
  for (const char* large : {"1Gi", "1024Mi", "2e9", "8G", "0.5Ti", "nonsense"})
    EXPECT_THAT(warnings(with_shared_memory({{"medium", "Memory"}, {"sizeLimit", large}})), IsEmpty())
        << large;
  EXPECT_THAT(warnings(with_shared_memory({{"medium", "Memory"}})), IsEmpty());
  EXPECT_THAT(warnings(with_shared_memory({{"medium", "Memory"}}, "/dev/shm/")), IsEmpty());
  expect_warnings("at /cache", with_shared_memory({{"medium", "Memory"}}, "/cache"), 1);
  EXPECT_THAT(warnings(with_shared_memory(Json::object())), IsEmpty())
      << "a disk's emptyDir is the user's choice";
  Json shared = with_shared_memory({{"medium", "Memory"}}, "/cache");
  shared["spec"]["hostIPC"] = true;
  EXPECT_THAT(warnings(shared), IsEmpty()) << "the host's own";
}

TEST(PodWarnings, PrivilegedOrAllCapabilitiesLockMemory) {
  Json made = equipped(pod({container("c")}, false));
  Json& security = made["spec"]["containers"][0]["securityContext"];
  security = {{"capabilities", {{"add", {"SYS_PTRACE"}}}}};
  expect_warnings(security.dump(), made, 1);
  security = {{"capabilities", {{"add", {"ALL"}}}}};
  EXPECT_THAT(warnings(made), IsEmpty());
  security = {{"privileged", true}};
  EXPECT_THAT(warnings(made), IsEmpty());
}

TEST(PodWarnings, ADeviceComesByResourceMountOrPrivilege) {
  Json made = equipped(pod({container("c", {}, "")}));
  made["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  expect_warnings("by label alone", made, 1);
  Json privileged = made;
  privileged["spec"]["containers"][0]["securityContext"]["privileged"] = true;
  EXPECT_THAT(warnings(privileged), IsEmpty());
  Json mounted = made;
  mounted["spec"]["volumes"].push_back({{"name", "ib"}, {"hostPath", {{"path", "/dev/infiniband"}}}});
  mounted["spec"]["containers"][0]["volumeMounts"].push_back(
      {{"name", "ib"}, {"mountPath", "/dev/infiniband"}});
  expect_warnings("by a mount alone, whose device files the cgroup refuses to open", mounted, 1);
  made["spec"]["hostNetwork"] = false;
  EXPECT_THAT(warnings(made), IsEmpty()) << "a network may bring it";
  mounted["spec"]["hostNetwork"] = false;
  EXPECT_EQ(warnings(mounted).size(), 1U);
  for (const auto& [path, value] : std::map<std::string, Json>{
           {"/spec/containers/0/securityContext/privileged", true},
           {"/spec/containers/0/resources/limits", {{"example.com/fabric", "1"}}},
           {"/spec/containers/0/resources/claims", Json::array({{{"name", "nic"}}})},
           {"/spec/containers/0/env", Json::array({env_literal("NVIDIA_MOFED", "enabled")})},
           {"/metadata/annotations/cdi.k8s.io~1nic", "example.com/nic=all"}}) {
    Json brought = mounted;
    brought[Json::json_pointer(path)] = value;
    EXPECT_THAT(warnings(brought), IsEmpty()) << path;
  }
  Json gpu = mounted;
  gpu["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpu", "8"},
                                                         {"nvidia.com/mig-1g.5gb", "1"}};
  EXPECT_EQ(warnings(gpu).size(), 1U) << "a GPU brings none";
  gpu["spec"]["containers"].push_back(container("ranks"));
  EXPECT_THAT(warnings(equipped(gpu),
                       [] {
                         NcclPolicy all = policy();
                         all.containers = ContainerScope::All;
                         return all;
                       }()),
              IsEmpty())
      << "a helper of one that has a device";
}

TEST(PodWarnings, OnlyContainersThatAreOursAndRunCollectives) {
  Json made = equipped(pod({container("c")}, false));
  made["spec"]["containers"].push_back(container("side", {}, ""));
  made["spec"]["initContainers"] = Json::array({container("probe")});
  EXPECT_THAT(warnings(made), IsEmpty());
  EXPECT_THAT(warnings(pod({container("c", {}, "")}, false)), IsEmpty()) << "not RDMA";
}

TEST(PodWarnings, ADryRunWarnsOfNothing) {
  NcclPolicy dry = policy();
  dry.mode = PolicyMode::DryRun;
  EXPECT_THAT(warnings(pod({container("c")}, false), dry), IsEmpty());
}

Json launcher(const Json& command, const Json& args = nullptr) {
  Json made = container("launcher", {}, "");
  made["command"] = command;
  if (!args.is_null()) made["args"] = args;
  return pod({made}, false);
}

TEST(PodWarnings, APartitionThatALauncherGivesIsWarnedOfWhereThePolicyNamesOne) {
  EXPECT_THAT(warnings(launcher({"mpirun", "-x", "NCCL_IB_PKEY=1"})), IsEmpty());
  NcclPolicy partition = policy();
  partition.partition_key = 0x8001;
  for (const char* name : {"NCCL_IB_PKEY", "NCCL_IB_PKEY_VALUE"})
    expect_warnings(std::string("mpirun -x ") + name, launcher({"mpirun", "-x", name}), 1, partition);
}

TEST(LauncherWarning, NamesWhatMpirunGivesToRanks) {
  const Json pod = launcher({"mpirun", "--allow-run-as-root", "-np", "16"},
                            {"-x", "NCCL_IB_HCA=mlx5_0", "-x", "NCCL_IB_GID_INDEX", "-x", "NCCL_DEBUG=INFO",
                             "-x", "LD_LIBRARY_PATH", "-x", "NCCL_IB_HCA", "python", "train.py"});
  const Admitted admitted = admit(pod, policy());
  EXPECT_EQ(admitted.plan.reason, Reason::NotRdma);
  EXPECT_EQ(admitted.patch, "");
  expect_warnings("by file", pod, 1);
}

TEST(LauncherWarning, ReadsAShellsStringAndHydrasOptions) {
  for (const Json& command :
       {Json{"sh", "-c",
             "sleep 5; mpirun -np 2 \\\n  -x NCCL_IB_HCA=mlx5_0 -x \"NCCL_IB_TIMEOUT=23\" ./a.out"},
        Json{"mpiexec", "-genv", "NCCL_SOCKET_IFNAME", "eth1", "-env", "NCCL_IB_TIMEOUT", "20", "./a.out"},
        Json{"mpiexec", "-genvlist", "PATH,NCCL_IB_HCA"},
        Json{"mpirun", "--mca", "mca_base_env_list", "NCCL_IB_HCA=x;NCCL_IB_TIMEOUT=20"}})
    expect_warnings(command.dump(), launcher(command), 1);
}

TEST(LauncherWarning, IsForExportsAloneAndForWhatThePolicySets) {
  EXPECT_THAT(warnings(launcher({"sh", "-c", "echo NCCL_IB_HCA; export NCCL_IB_HCA=mlx5_0"})), IsEmpty());
  EXPECT_THAT(warnings(launcher({"mpirun", "-x", "NCCL_DEBUG=INFO", "-x", "NCCL_IB_TC=106"})), IsEmpty());
  EXPECT_THAT(warnings(launcher({"mpirun", "-x"}, {"NCCL_IB_hca=1", "NCCL_IB_HCA"})), IsEmpty());
  EXPECT_THAT(warnings(launcher({"mpirun", "x", "NCCL_IB_HCA"})), IsEmpty());
  NcclPolicy without = policy();
  without.hca.kind = HcaRule::Kind::Omit;
  EXPECT_THAT(warnings(launcher({"mpirun", "-x", "NCCL_IB_HCA=mlx5_0"}), without), IsEmpty());
  NcclPolicy dry = policy();
  dry.mode = PolicyMode::DryRun;
  EXPECT_THAT(warnings(launcher({"mpirun", "-x", "NCCL_IB_HCA=mlx5_0"}), dry), IsEmpty());
}

TEST(LauncherWarning, IsBounded) {
  NcclPolicy many = policy();
  Json command{"mpirun"};
  for (int i = 0; i < 200; ++i) {
    const std::string name = "NCCL_X" + std::to_string(i);
    many.env[name] = "1";
    command.push_back("-x");
    command.push_back(name);
  }
  expect_warnings("200 variables", launcher(command), 1, many);
  const std::string far = std::string(70000, ' ') + "mpirun -x NCCL_IB_HCA=x";
  EXPECT_THAT(warnings(launcher({"sh", "-c", far})), IsEmpty());
}

TEST(LauncherWarning, ArgumentsAreKeptOnlyWhereTheyNameNcclOrSshd) {
  ReviewParser parser;
  const std::string plain = launcher({"sh", "-c", "train"}, {"--epochs", "3"}).dump();
  EXPECT_THAT(parser.parse_pod(plain)->containers[0].arguments, IsEmpty());
  const std::string ssh = launcher({"/usr/sbin/sshd", "-D"}).dump();
  EXPECT_THAT(parser.parse_pod(ssh)->containers[0].arguments, ElementsAre("/usr/sbin/sshd", "-D"));
  const std::string named = launcher({"mpirun"}, {"-x", "NCCL_DEBUG"}).dump();
  EXPECT_THAT(parser.parse_pod(named)->containers[0].arguments, ElementsAre("mpirun", "-x", "NCCL_DEBUG"));
}

TEST(Quantity, IsReadAsKubernetesWritesIt) {
  EXPECT_EQ(parse_quantity("64Mi"), 64.0 * 1024 * 1024);
  EXPECT_EQ(parse_quantity("1e3"), 1000.0);
  EXPECT_EQ(parse_quantity("1E"), 1e18);
  EXPECT_EQ(parse_quantity("+0.5k"), 500.0);
  EXPECT_EQ(parse_quantity("100m"), 0.1);
  for (const char* none : {"", "Mi", "1 Gi", "0x10", "1MiB", "inf", "nan", "1e999"})
    EXPECT_EQ(parse_quantity(none), std::nullopt) << none;
}

}  // namespace
}  // namespace nccl_env::tests::warnings_test
