// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/unmatched.h"

#include "core/decide/decided.h"
#include "support/matchers.h"

namespace nccl_env::tests::unmatched_test {
namespace {

NcclPolicy policy() {
  NcclPolicy made = policy_for("rdma/hca", Exposure::SubInterface);
  made.name = "site";
  return made;
}

std::string remedy_of_pod(const Json& pod, const NcclPolicy& policy,
                          const std::vector<std::string>& classes = {}) {
  PodClaims claims;
  if (!classes.empty())
    claims.entries.push_back({std::make_shared<const DeviceRequests>(DeviceRequests{{"nic", classes}}), {}});
  return of_parsed(pod, [&](const Pod& read) { return unmatched_remedy(read, policy, &claims); });
}

Json asking_for(const std::vector<std::string>& resources) {
  Json made = pod({container("c", {}, "")}, false);
  for (const std::string& name : resources) made["spec"]["containers"][0]["resources"]["limits"][name] = 1;
  return made;
}

TEST(Unmatched, ResourcesThatMayBeRdmaAreNamedAndProcessorsAreNot) {
  EXPECT_EQ(
      remedy_of_pod(asking_for({"nvidia.com/gpu", "example.org/a", "example.org/b", "devices.org/fuse"}),
                    policy()),
      "If example.org/a or example.org/b is the RDMA resource, add it to spec.match.resources of policy "
      "site: "
      "- {name: example.org/a}.");
  EXPECT_THAT(remedy_of_pod(asking_for({"nvidia.com/mig-1g.5gb", "spidernet.io/gpu1sriov"}), policy()),
              StartsWith("If spidernet.io/gpu1sriov is the RDMA resource"));
  EXPECT_THAT(remedy_of_pod(asking_for({"nvidia.com/gpu"}), policy()),
              StartsWith("Nothing, if the pod is not a rank"));
}

bool is_mistake(const std::string& resource) {
  return of_parsed(asking_for({"nvidia.com/gpu", resource}),
                   [](const Pod& pod) { return !unmatched_rdma(pod, policy(), nullptr).empty(); });
}

// KEP-5004: an extended resource that stands for a device class.
TEST(Unmatched, ADeviceClassByNameIsOneOfTheClasses) {
  const std::string of_class = "deviceclass.resource.kubernetes.io/";
  EXPECT_TRUE(is_mistake(of_class + "rdma.nvidia.com"));
  EXPECT_FALSE(is_mistake(of_class + "nics.example.org"));
  EXPECT_FALSE(is_mistake(of_class + "gpu.nvidia.com"));
  EXPECT_EQ(remedy_of_pod(asking_for({"nvidia.com/gpu", of_class + "nics.example.org"}), policy()),
            "If nics.example.org is the class of RDMA devices, add it to spec.match.deviceClasses of policy "
            "site: - nics.example.org.");
}

TEST(Unmatched, AMisspeltNameIsAskedForAndOthersAreNotTakenForOne) {
  EXPECT_EQ(remedy_of_pod(asking_for({"rdma/hac"}), policy()),
            "Do you mean rdma/hca by rdma/hac? If rdma/hac is the RDMA resource, add it to "
            "spec.match.resources of policy site: - {name: rdma/hac}.");
  EXPECT_THAT(remedy_of_pod(asking_for({"nvidia.com/hostdv"}), policy()),
              StartsWith("Do you mean nvidia.com/hostdev by"));
  EXPECT_EQ(remedy_of_pod(asking_for({"RDMA/HCA"}), policy()),
            "No resource is called RDMA/HCA, since domains have small letters: write rdma/hca.");
  for (const char* name : {"rmda/hca", "nvidia.com/hostdv", "RDMA/HCA"})
    EXPECT_TRUE(is_mistake(name)) << name;
  const NcclPolicy numbered = policy_for("example.org/rail-1*", Exposure::SubInterface);
  for (const char* name : {"example.org/rail-2", "rdma/ib", "rdma/nic", "rdma/hca_shared_devices_b"})
    EXPECT_THAT(remedy_of_pod(asking_for({name}), numbered), StartsWith("If ")) << name;
  EXPECT_FALSE(is_mistake("example.org/a"));
}

TEST(Unmatched, ARequestForNoneOrBesideTheContainersIsTold) {
  Json none = asking_for({"nvidia.com/gpu", "rdma/hca"}), beside = asking_for({"example.org/a"});
  none["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = 0;
  none["spec"]["containers"][0]["resources"]["requests"]["rdma/hca"] = "0";
  EXPECT_EQ(remedy_of_pod(none, policy()),
            "The pod requests no rdma/hca: write how many it needs, or nothing if it is not a rank.");
  beside["spec"]["resources"] = {{"limits", {{"rdma/hca", 1}, {"cpu", 4}}}, {"requests", {{"rdma/hca", 1}}}};
  EXPECT_EQ(remedy_of_pod(beside, policy()),
            "spec.resources stands beside the containers, where only cpu, memory and hugepages may be: write "
            "rdma/hca into the resources of a container.");
}

TEST(Unmatched, ClassesAreNamedAndAClaimThatNoContainerNames) {
  Json made = asking_for({"nvidia.com/gpu"});
  made["spec"]["resourceClaims"] = {{{"name", "nics"}, {"resourceClaimTemplateName", "nics"}}};
  EXPECT_EQ(
      remedy_of_pod(made, policy(), {"gpu.nvidia.com", "roce.example.org"}),
      "If roce.example.org is the class of RDMA devices, add it to spec.match.deviceClasses of policy site: "
      "- roce.example.org.");
  NcclPolicy by_class = policy();
  by_class.device_classes = {"roce.example.org"};
  EXPECT_EQ(
      remedy_of_pod(made, by_class, {"roce.example.org"}),
      "No container names claim nics: write resources: {claims: [{name: nics}]} into the one that uses it.");
}

TEST(Unmatched, NetworksAndTheHostsDevicesAreNamed) {
  Json made = asking_for({"nvidia.com/gpu"});
  made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "rail-0";
  made["spec"]["volumes"] = {{{"name", "ib"}, {"hostPath", {{"path", "/dev/infiniband/"}}}}};
  EXPECT_EQ(remedy_of_pod(made, policy()),
            "Ask for the RDMA resource in the container's limits (rdma/hca: 1). "
            "If network ml/rail-0 brings the devices, add it to spec.match.networks of policy site: - {name: "
            "ml/rail-0, exposure: PodOwned}. Mounting /dev/infiniband counts with hostNetwork: true alone.");
  made["spec"]["hostNetwork"] = true;
  EXPECT_THAT(remedy_of_pod(made, policy()),
              HasSubstr("write hostDevices: true into spec.match of policy site."));
  made["metadata"]["annotations"].clear();
  const auto in_vain = [](const Pod& pod) { return unmatched_rdma(pod, policy(), nullptr); };
  EXPECT_EQ(of_parsed(made, in_vain),
            "The pod asks for the host's /dev/infiniband, which policy site does not match.");
  Json off = made, other = made, agent = made;
  off["spec"]["containers"][0]["env"] = Json::array({env_literal("NCCL_IB_DISABLE", "1")});
  other["spec"]["volumes"][0]["hostPath"]["path"] = "/dev/shm";
  agent["spec"]["containers"][0]["resources"].clear();
  for (const Json& healthy : {off, other, agent}) EXPECT_EQ(of_parsed(healthy, in_vain), "");
}

TEST(Unmatched, ALauncherHasNothingToDoUnlessItIsARank) {
  Json made = pod({container("c", {}, "")}, false);
  EXPECT_THAT(remedy_of_pod(made, policy()), StartsWith("Nothing, if the pod is not a rank. Else: Request"));
  made["spec"]["containers"][0]["command"] = {"sh", "-c", "exec mpirun -np 16 train"};
  EXPECT_THAT(remedy_of_pod(made, policy()), AllOf(StartsWith("Nothing to do"), Not(HasSubstr("Request"))));
  made["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 8;
  EXPECT_THAT(remedy_of_pod(made, policy()), StartsWith("Nothing, if the pod is not a rank. Else: Request"));
}

std::string told_of_several(const Json& pod) {
  const Admitted admitted = admit(pod, policy());
  const std::string told =
      of_parsed(pod, [](const Pod& read) { return several_without_rdma(read, policy()); });
  EXPECT_EQ(admitted.plan.warnings.size(), told.empty() ? 0u : 1u) << pod;
  return told;
}

TEST(Unmatched, AGpuPodThatIsOneOfSeveralIsToldThatItLacksRdma) {
  const Json gpus = asking_for({"nvidia.com/gpu"});
  const std::string env = "/spec/containers/0/env", command = "/spec/containers/0/command";
  const auto with = [&](const std::string& path, const Json& value) {
    Json made = gpus;
    made[Json::json_pointer(path)] = value;
    return told_of_several(made);
  };
  const auto env_of = [](const std::map<std::string, std::string>& values) {
    Json list = Json::array();
    for (const auto& [name, value] : values) list.push_back(env_literal(name, value));
    return list;
  };
  EXPECT_EQ(with(env, env_of({{"PET_NNODES", "2"}})),
            "The pod has GPUs and asks for no RDMA resource (rdma/hca: 1), and is one of several "
            "(PET_NNODES=2): between "
            "nodes NCCL will use TCP.");
  EXPECT_THAT(with(env, env_of({{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-master-0"}})),
              HasSubstr("WORLD_SIZE=2"));
  EXPECT_THAT(with("/metadata/annotations", {{"leaderworkerset.sigs.k8s.io/size", "2"}}),
              HasSubstr("size: 2"));
  EXPECT_THAT(with("/metadata/labels", {{"jobset.sigs.k8s.io/replicatedjob-replicas", "4"}}),
              HasSubstr("replicas: 4"));
  EXPECT_THAT(with(command, {"torchrun", "--nnodes=1:4", "a"}), HasSubstr("--nnodes 1:4"));
  EXPECT_THAT(with(command, {"bash", "-c", "exec torchrun --nnodes 2 a"}), HasSubstr("--nnodes 2"));
  for (const auto& [path, value] : std::vector<std::pair<std::string, Json>>{
           {env, env_of({{"PET_NNODES", "1"}})},
           {env, env_of({{"WORLD_SIZE", "8"}})},
           {env, env_of({{"WORLD_SIZE", "8"}, {"MASTER_ADDR", "localhost"}})},
           {env, env_of({{"NNODES", "2"}, {"NCCL_IB_DISABLE", "1"}})},
           {env, env_of({{"NNODES", "2"}, {"NCCL_NET", "Socket"}})},
           {"/metadata/annotations", {{"leaderworkerset.sigs.k8s.io/size", "1"}}},
           {command, {"torchrun", "--nnodes=1", "a"}},
           {command, {"bash", "-c", "torchrun --nnodes $N a"}},
           {command, {"jupyter", "lab"}}})
    EXPECT_EQ(with(path, value), "") << path << value;
  Json rank = asking_for({"nvidia.com/gpu", "rdma/hca"}), cpu = asking_for({});
  rank["spec"]["containers"][0]["env"] = cpu["spec"]["containers"][0]["env"] = env_of({{"NNODES", "2"}});
  EXPECT_EQ(told_of_several(cpu), "");
  EXPECT_TRUE(admit(rank, policy()).plan.inject);
}

}  // namespace
}  // namespace nccl_env::tests::unmatched_test
