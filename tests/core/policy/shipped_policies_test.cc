// SPDX-License-Identifier: Apache-2.0
// The policies that we ship, as people apply them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/conf_pods.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/glob.h"
#include "support/matchers.h"
#include "support/places.h"

namespace nccl_env::shipped_policies_test {
namespace {

using namespace nccl_env::tests;

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> policy_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(tests::in_source("/policies")))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

PolicyReading read(const fs::path& path) {
  const auto documents = parse_documents(content(path), path.string());
  if (!documents.ok() || documents->size() != 1) {
    ADD_FAILURE() << path << ": " << (documents.ok() ? "not one document" : documents.error().message);
    return {};
  }
  return read_policy(documents->front(), {});
}

NcclPolicy policy(const std::string& name) {
  return read(fs::path(tests::in_source("/policies")) / (name + ".yaml")).policy.value_or(NcclPolicy{});
}

const ResourceMatch* match_of(const NcclPolicy& policy, std::string_view resource) {
  const auto found =
      std::find_if(policy.resources.begin(), policy.resources.end(),
                   [&](const ResourceMatch& match) { return glob_matches(match.name, resource); });
  return found == policy.resources.end() ? nullptr : &*found;
}

TEST(Policies, AreNamedAsTheirFilesWithoutAnyFinding) {
  const auto files = policy_files();
  EXPECT_GE(files.size(), 14u);
  for (const fs::path& file : files) {
    const auto reading = read(file);
    for (const Finding& finding : reading.findings) {
      ADD_FAILURE() << file << ": " << line_of(finding);
    }
    ASSERT_TRUE(reading.policy) << file;
    EXPECT_EQ(reading.policy->name, file.stem().string());
  }
}

TEST(Policies, SayTheirSourceTheirExposureAndWhatIsNotKnownOrSeen) {
  for (const fs::path& file : policy_files()) {
    for (const char* word :
         {"\n# Source: ", "\n# Exposure: ", "\n# Not known: ", "\n# NCCL: ", "\n# Never seen: "})
      EXPECT_NE(content(file).find(word), std::string::npos) << file << word;
  }
}

// docs/use/clouds.md has a row for each, with its constants.
TEST(Policies, StandInTheDocumentation) {
  std::map<std::string, std::string> rows;
  std::ifstream page(tests::in_source("/docs/use/clouds.md"));
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| [") && line.find("/policies/") != std::string::npos)
      rows.emplace(line.substr(3, line.find(']') - 3), line);
  }
  EXPECT_EQ(rows.size(), policy_files().size());
  for (const fs::path& file : policy_files()) {
    const NcclPolicy each = policy(file.stem().string());
    const std::string& row = rows[each.name];
    EXPECT_NE(row.find("/policies/" + each.name + ".yaml)"), std::string::npos) << each.name;
    for (const auto& [name, value] : each.env)
      EXPECT_NE(row.find("`" + name + "=" + value + "`"), std::string::npos) << each.name << " " << name;
    for (const PolicyVariant& variant : each.variants) {
      for (const auto& [name, value] : variant.env)
        EXPECT_NE(row.find("`" + name + "=" + value + "`"), std::string::npos) << each.name << " " << name;
    }
    if (each.name == "generic-rdma") continue;  // its many names are in the file
    for (const ResourceMatch& match : each.resources)
      EXPECT_NE(row.find("`" + match.name + "`"), std::string::npos) << each.name << " " << match.name;
  }
}

// A traffic class belongs to the switches: only where the fabric's own documents state one.
TEST(Policies, SetATrafficClassOnlyWhereTheSourceStatesIt) {
  std::map<std::string, std::string> classes;
  for (const fs::path& file : policy_files()) {
    const NcclPolicy each = policy(file.stem().string());
    if (const auto found = each.env.find("NCCL_IB_TC"); found != each.env.end())
      classes.emplace(each.name, found->second);
    for (const PolicyVariant& variant : each.variants) {
      if (const auto found = variant.env.find("NCCL_IB_TC"); found != variant.env.end())
        classes.emplace(each.name, found->second);
    }
    EXPECT_EQ(each.env.count("NCCL_IB_RETRY_CNT"), 0u) << each.name << ": 7, the most, is NCCL's own";
  }
  EXPECT_THAT(classes, UnorderedElementsAre(Pair("alibaba-lingjun", "136"), Pair("coreweave", "96"),
                                            Pair("oci-gb200", "41"), Pair("oci-mi355x", "41"),
                                            Pair("oci-roce", "41"), Pair("oci-vf", "41")));
}

// A pod of each resource that the policy matches, as the default installation admits it.
std::vector<Form> forms_of(const NcclPolicy& policy) {
  std::vector<Form> forms;
  for (const ResourceMatch& match : policy.resources) {
    std::string resource = match.name.substr(0, match.name.find('['));
    if (resource != match.name) resource += '1';
    std::replace(resource.begin(), resource.end(), '*', '1');
    const tests::Json pod = tests::pod({tests::container("c", {}, resource)}, false);
    forms.push_back(tests::admit(pod, policy, nullptr, tests::with_resolver()).plan.form);
  }
  return forms;
}

// RoCE behind a shared plugin, functions and devices of the pod's own: the pod itself is asked. InfiniBand
// behind a shared plugin, and policies that leave the index to NCCL, need no init container.
TEST(Policies, ResolveInThePodWhatOnlyThePodKnows) {
  for (const char* name : {"alibaba-lingjun", "amd-roce", "baidu-roce", "generic-rdma", "oci-roce", "oci-vf",
                           "onprem-roce", "tencent-tke"})
    EXPECT_THAT(forms_of(policy(name)), Each(Form::ContainerStart)) << name;
  for (const char* name : {"alibaba-erdma", "azure-infiniband"})
    EXPECT_THAT(forms_of(policy(name)), Each(Form::Binding)) << name;
}

TEST(Policies, NeverTakeAPodForTheHostNorAnotherDevice) {
  for (const fs::path& file : policy_files()) {
    const auto reading = read(file);
    ASSERT_TRUE(reading.policy) << file;
    for (const ResourceMatch& match : reading.policy->resources)
      EXPECT_TRUE(match.exposure && *match.exposure != Exposure::Host) << file << " " << match.name;
    for (const char* resource : {"nvidia.com/gpu", "amd.com/gpu", "openshift.io/mlnx_bf",
                                 "vpc.amazonaws.com/efa", "networking.gke.io.networks/rdma-0"})
      EXPECT_EQ(match_of(*reading.policy, resource), nullptr) << file << " " << resource;
  }
}

TEST(Policies, ContradictNoWellKnownName) {
  const auto hold = [](std::initializer_list<const char*> resources) {
    for (const char* resource : resources) {
      EXPECT_NE(match_of(policy("generic-rdma"), resource), nullptr) << resource;
      for (const fs::path& file : policy_files()) {
        const NcclPolicy each = policy(file.stem().string());
        const ResourceMatch* match = match_of(each, resource);
        if (match == nullptr) continue;
        EXPECT_EQ(match->exposure, known_exposure(resource)) << file << " " << resource;
      }
    }
  };
  hold({"rdma/hca", "rdma/hca1", "rdma/hca_shared_devices_a", "rdma/rdma_shared_device_ib", "rdma/ib",
        "rdma/shared_ib", "rdma/ib_hdr", "rdma/shared_ib_hdr", "rdma/roce_gdr", "rdma/vhca",
        "spidernet.io/shared_cx5_gpu1", "spidernet.io/gpu1sriov", "spidernet.io/gpu1rdma"});
  hold({"nvidia.com/roce", "aliyun/erdma", "tke.cloud.tencent.com/rdma-hca", "vke.volcengine.com/rdma",
        "nvidia.com/hostdev", "nvidia.com/mlnxnics", "nvidia.com/sriovlegacy", "nvidia.com/rdma-vf",
        "nvidia.com/sriov-rdma-vf", "nvidia.com/resibs1", "openshift.io/mlnxnics",
        "openshift.io/mlnx_sriov_rdma", "openshift.io/mlnx_rdma", "openshift.io/sriovlegacy",
        "openshift.io/eno5np0rdma", "koordinator.sh/rdma", "amd.com/nic", "amd.com/vnic"});
}

TEST(Policies, GenericTunesNothing) {
  const NcclPolicy generic = policy("generic-rdma");
  EXPECT_TRUE(generic.host_devices);
  EXPECT_THAT(generic.env, IsEmpty());
  EXPECT_FALSE(generic.fabric.names_ports());
  EXPECT_EQ(generic.hca.kind, HcaRule::Kind::FromNode);
  EXPECT_EQ(generic.gid_index.kind, GidIndexRule::Kind::Auto);
  EXPECT_EQ(generic.socket_interface.kind, SocketInterfaceRule::Kind::Omit);
}

// What a pod gets of each stands in tests/data/golden/policies.
TEST(Policies, TellTheFabricAsTheirSourceDoes) {
  const FabricRule baidu = policy("baidu-roce").fabric, dgx = policy("dgx-infiniband").fabric;
  EXPECT_THAT(baidu.hcas, ElementsAre("mlx5_[1-8]"));
  EXPECT_EQ(baidu.expect_ports, 8);
  EXPECT_FALSE(dgx.names_ports());
  EXPECT_EQ(dgx.expect_ports, 8);
  EXPECT_EQ(dgx.link_layer, LinkLayer::InfiniBand);
  EXPECT_EQ(policy("azure-infiniband").fabric.link_layer, LinkLayer::InfiniBand);
}

}  // namespace
}  // namespace nccl_env::shipped_policies_test
