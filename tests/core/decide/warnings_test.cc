// SPDX-License-Identifier: Apache-2.0
#include "core/conf_pods.h"
#include "core/decide/decided.h"
#include "support/golden.h"
#include "support/matchers.h"

namespace nccl_env::tests::warnings_test {
namespace {

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

// A pod that has everything, with something changed.
Json changed(const std::map<std::string, Json>& changes, bool host_network = false) {
  Json made = equipped(pod({container("c")}, host_network));
  for (const auto& [place, value] : changes) made[Json::json_pointer(place)] = value;
  return made;
}

const std::string kContainer = "/spec/containers/0/";

Json with_env(const std::string& name, const std::string& value, bool host_network = false) {
  return changed({{kContainer + "env", Json::array({env_literal(name, value)})}}, host_network);
}

Json with_shared_memory(const Json& empty_dir, const std::string& path = "/dev/shm") {
  return changed({{"/spec/volumes/0/emptyDir", empty_dir}, {kContainer + "volumeMounts/0/mountPath", path}});
}

TEST(PodWarnings, APodWithEverythingGetsNone) {
  EXPECT_THAT(warnings(changed({})), IsEmpty());
}

TEST(PodWarnings, OneOfEachKindInTheOrderOfTheirWeight) {
  Json bare = pod({container("a", {}, ""), container("b", {}, "")});
  bare["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  expect_warnings("a bare pod", bare, 3);
}

TEST(PodWarnings, EnvBesideTheContainersHasNoEffect) {
  EXPECT_THAT(warnings(changed({{"/spec/env", Json::array({env_literal("NCCL_IB_TIMEOUT", "20")})}})),
              ElementsAre(HasSubstr("spec.env stands beside the containers")));
}

// Guides give one index for all clouds.
TEST(PodWarnings, AnIndexOfTheUsersMayBeAnotherRowInAPodWithItsOwnTable) {
  const char* const kIndex = "NCCL_IB_GID_INDEX";
  EXPECT_THAT(warnings(with_env(kIndex, "3")), ElementsAre(HasSubstr("GID table of its own")));
  EXPECT_THAT(warnings(with_env(kIndex, "3", true)), IsEmpty()) << "the rows are the node's";
  EXPECT_THAT(warnings(with_env(kIndex, "-1")), IsEmpty()) << "NCCL looks";
  NcclPolicy infiniband = policy();
  infiniband.fabric.link_layer = LinkLayer::InfiniBand;
  EXPECT_THAT(warnings(with_env(kIndex, "3"), infiniband), IsEmpty());
}

TEST(PodWarnings, AnImageTooOldForTheSearchThatThePolicyCountsOn) {
  const Json old = changed({{kContainer + "image", "nvcr.io/nvidia/pytorch:24.03-py3"}}, true);
  NcclPolicy roce = policy();
  roce.gid_index.kind = GidIndexRule::Kind::Auto;
  EXPECT_THAT(warnings(old, roce), IsEmpty()) << "the fabric may be InfiniBand";
  roce.fabric.link_layer = LinkLayer::Ethernet;
  for (const Json& warned : {old, with_env("NCCL_VERSION", "2.19.3-1", true)})
    EXPECT_THAT(warnings(warned, roce), ElementsAre(HasSubstr("write gidIndex: Pin")));
  Json own = old;
  own[Json::json_pointer(kContainer + "env")] = {env_literal("NCCL_IB_HCA", "=mlx5_1"),
                                                 env_literal("NCCL_VERSION", "2.19.3")};
  EXPECT_THAT(warnings(own, roce), IsEmpty()) << "the list and its index are the user's";
  EXPECT_THAT(warnings(with_env("NCCL_VERSION", "2.21.5", true), roce), IsEmpty());
  roce.gid_index.kind = GidIndexRule::Kind::Pin;
  EXPECT_THAT(warnings(old, roce), IsEmpty());
}

TEST(PodWarnings, AUsersValueThatNcclMisreadsComesFirstAndThreeAreTheMost) {
  Json bare = pod({container("c", {env_literal("NCCL_IB_TIMEOUT", "99")}, "")});
  bare["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  expect_warnings("NCCL_IB_TIMEOUT=99", bare, 3);
}

TEST(PodWarnings, AMisspeltNameAnotherEnginesListAndAnEmptyValueAreTold) {
  for (const auto& [name, value, said] : {
           std::tuple("NCCL_IB_TIMOUT", "22", "do you mean NCCL_IB_TIMEOUT?"),
           std::tuple("UCX_NET_DEVICES", "=mlx5_0,mlx5_1", "NCCL's grammar"),
           std::tuple("GLOO_SOCKET_IFNAME", "^docker0", "NCCL's grammar"),
           std::tuple("NCCL_NET_PLUGIN", "", "NCCL_NET_PLUGIN"),
       })
    EXPECT_THAT(warnings(with_env(name, value)), ElementsAre(HasSubstr(said))) << name;
  for (const char* name : {"NCCL_PAT_ENABLE", "NCCL_OF_ANOTHER_KIND", "UCX_TLS", "NVSHMEM_HCA_LIST"})
    EXPECT_THAT(warnings(with_env(name, "mlx5_0:1")), IsEmpty()) << name;
  for (const char* name : {"FOO", "NCCL_IB_TIMEOUT"})
    EXPECT_THAT(warnings(with_env(name, "")), IsEmpty()) << "NCCL takes it for none: " << name;
}

// exec drops a capability that is not ambient where the user is not root; Kubernetes sets no ambient ones.
TEST(PodWarnings, ACapabilityOfAUserOtherThanRootLocksNoMemory) {
  const std::string of_pod = "/spec/securityContext/", of_container = kContainer + "securityContext/";
  for (const std::string& place : {of_pod, of_container}) {
    EXPECT_THAT(warnings(changed({{place + "runAsUser", 1000}})),
                ElementsAre(HasSubstr("container c: does not run as root")));
    EXPECT_THAT(warnings(changed({{place + "runAsNonRoot", true}})),
                ElementsAre(HasSubstr("IPC_LOCK is not effective")));
    EXPECT_THAT(warnings(changed({{place + "runAsUser", 0}})), IsEmpty());
    EXPECT_THAT(warnings(changed({{place + "runAsNonRoot", false}})), IsEmpty());
  }
  EXPECT_THAT(warnings(changed({{of_container + "privileged", true}, {of_container + "runAsUser", 1000}})),
              ElementsAre(HasSubstr("memlock")));
  EXPECT_THAT(warnings(changed({{of_pod + "runAsUser", 1000}, {of_container + "runAsUser", 0}})), IsEmpty());
}

TEST(PodWarnings, RoceBehindASharedPluginWithoutANetworkIsToldOnce) {
  NcclPolicy shared = policy_for("rdma/rdma_shared_device_a", Exposure::SubInterface);
  shared.fabric.link_layer = LinkLayer::Ethernet;
  Json made = equipped(pod({container("c", {}, "rdma/rdma_shared_device_a")}, false));
  EXPECT_THAT(warnings(made, shared),
              ElementsAre(HasSubstr("nccl-env: NoRail: RoCE behind a shared device plugin")));
  NcclPolicy other = shared;
  other.hca.kind = HcaRule::Kind::Omit;
  EXPECT_THAT(warnings(made, other), ElementsAre(HasSubstr("nccl-env: NoRail: "))) << "whatever list it has";
  other.fabric.link_layer = LinkLayer::InfiniBand;
  EXPECT_THAT(warnings(made, other), IsEmpty());
  other.fabric.link_layer.reset();
  EXPECT_THAT(warnings(made, other), IsEmpty()) << "which fabric it is, a node tells";
  other.variants.emplace_back().fabric.emplace().link_layer = LinkLayer::Ethernet;
  EXPECT_THAT(warnings(made, other), ElementsAre(HasSubstr("nccl-env: NoRail: "))) << "one kind of its nodes";
  made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "rail0,rail1";
  EXPECT_THAT(warnings(made, shared), IsEmpty());
  // A cloud's plugin, whose network gives every pod its rails.
  NcclPolicy clouds = policy_for("rdma/hca", Exposure::SubInterface);
  clouds.fabric.link_layer = LinkLayer::Ethernet;
  EXPECT_THAT(warnings(changed({}), clouds), IsEmpty());
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
  for (const auto& [security, count] : {
           std::pair(Json{{"capabilities", {{"add", {"SYS_PTRACE"}}}}}, 1u),
           std::pair(Json{{"capabilities", {{"add", {"ALL"}}}}}, 0u),
           std::pair(Json{{"privileged", true}}, 0u),
       }) {
    const Json made = changed({{kContainer + "securityContext", security}});
    if (count) {
      expect_warnings(security.dump(), made, count);
    } else {
      EXPECT_THAT(warnings(made), IsEmpty()) << security;
    }
  }
}

TEST(PodWarnings, ADeviceComesByResourceMountOrPrivilege) {
  Json made = equipped(pod({container("c", {}, "")}));
  made["metadata"]["labels"]["nccl-env.io/inject"] = "true";
  Json mounted = made;
  mounted["spec"]["volumes"].push_back({{"name", "ib"}, {"hostPath", {{"path", "/dev/infiniband"}}}});
  mounted["spec"]["containers"][0]["volumeMounts"].push_back(
      {{"name", "ib"}, {"mountPath", "/dev/infiniband"}});
  expect_warnings("by label alone", made, 1);
  expect_warnings("by a mount alone, whose device files the cgroup refuses to open", mounted, 1);
  made["spec"]["hostNetwork"] = mounted["spec"]["hostNetwork"] = false;
  EXPECT_THAT(warnings(made), IsEmpty()) << "a network may bring it";
  EXPECT_EQ(warnings(mounted).size(), 1U);
  made["spec"]["hostNetwork"] = true;
  made["spec"]["containers"][0]["securityContext"]["privileged"] = true;
  EXPECT_THAT(warnings(made), IsEmpty());
  for (const auto& [path, value] : std::map<std::string, Json>{
           {kContainer + "securityContext/privileged", true},
           {kContainer + "resources/limits", {{"example.com/fabric", "1"}}},
           {kContainer + "resources/claims", Json::array({{{"name", "nic"}}})},
           {kContainer + "env", Json::array({env_literal("NVIDIA_MOFED", "enabled")})},
           {"/metadata/annotations/cdi.k8s.io~1nic", "example.com/nic=all"}}) {
    Json brought = mounted;
    brought[Json::json_pointer(path)] = value;
    EXPECT_THAT(warnings(brought), IsEmpty()) << path;
  }
  mounted["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpu", "8"},
                                                             {"nvidia.com/mig-1g.5gb", "1"}};
  EXPECT_EQ(warnings(mounted).size(), 1U) << "a GPU brings none";
  mounted["spec"]["containers"].push_back(container("ranks"));
  NcclPolicy all = policy();
  all.containers = ContainerScope::All;
  EXPECT_THAT(warnings(equipped(mounted), all), IsEmpty()) << "a helper of one that has a device";
}

TEST(PodWarnings, OnlyContainersThatAreOursAndRunCollectivesUnlessDryRun) {
  Json made = changed({{"/spec/initContainers", Json::array({container("probe")})}});
  made["spec"]["containers"].push_back(container("side", {}, ""));
  EXPECT_THAT(warnings(made), IsEmpty());
  EXPECT_THAT(warnings(pod({container("c", {}, "")}, false)), IsEmpty()) << "not RDMA";
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

TEST(LauncherWarning, ANameWithoutAValueIsWhatItsOwnEnvHas) {
  NcclPolicy by_env = policy();
  by_env.deliver_env_file = true;
  Json pod = launcher({"mpirun", "-x", "NCCL_IB_HCA", "-x", "NCCL_IB_TIMEOUT", "-x", "NCCL_DEBUG"});
  const auto said = [&](const PlanOptions& options = {}) {
    std::vector<std::string> all = admit(equipped(pod), by_env, nullptr, options).plan.warnings;
    std::erase_if(all, [](const std::string& each) { return each.find("its command") == each.npos; });
    return all;
  };
  EXPECT_THAT(said(),
              ElementsAre(HasSubstr("names NCCL_IB_HCA, NCCL_IB_TIMEOUT for ranks, and its env has none")));
  Json& container = pod["spec"]["containers"][0];
  container["resources"]["limits"]["rdma/hca"] = "1";
  EXPECT_THAT(said(), ElementsAre(HasSubstr("names NCCL_IB_HCA for ranks, and its env has none")))
      << "by File";
  EXPECT_THAT(said(with_resolver()),
              ElementsAre(HasSubstr("names NCCL_IB_HCA for ranks, and its env has what its")));
  container["env"] = Json::array({env_literal("NCCL_IB_HCA", "mlx5_0")});
  EXPECT_THAT(said(), IsEmpty()) << "the user's own";
}

TEST(LauncherWarning, IsForExportsAloneAndForWhatThePolicySets) {
  for (const Json& command :
       {Json{"sh", "-c", "echo NCCL_IB_HCA; export NCCL_IB_HCA=mlx5_0"},
        Json{"mpirun", "-x", "NCCL_DEBUG=INFO", "-x", "NCCL_IB_TC=106"},
        Json{"mpirun", "-x", "NCCL_IB_hca=1", "NCCL_IB_HCA"}, Json{"mpirun", "x", "NCCL_IB_HCA"}})
    EXPECT_THAT(warnings(launcher(command)), IsEmpty()) << command;
  NcclPolicy without = policy(), dry = policy();
  without.hca.kind = HcaRule::Kind::Omit;
  dry.mode = PolicyMode::DryRun;
  for (const NcclPolicy& other : {without, dry})
    EXPECT_THAT(warnings(launcher({"mpirun", "-x", "NCCL_IB_HCA=mlx5_0"}), other), IsEmpty());
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
}

TEST(LauncherWarning, ArgumentsAreKeptOnlyWhereTheyNameNcclOrSshd) {
  const auto kept = [](const Json& command, const Json& args) {
    return of_parsed(launcher(command, args), [](const Pod& pod) {
      return std::vector<std::string>(pod.containers[0].arguments.begin(), pod.containers[0].arguments.end());
    });
  };
  EXPECT_THAT(kept({"sh", "-c", "train"}, {"--epochs", "3"}), IsEmpty());
  EXPECT_THAT(kept({"/usr/sbin/sshd", "-D"}, nullptr), ElementsAre("/usr/sbin/sshd", "-D"));
  EXPECT_THAT(kept({"mpirun"}, {"-x", "NCCL_DEBUG"}), ElementsAre("mpirun", "-x", "NCCL_DEBUG"));
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
