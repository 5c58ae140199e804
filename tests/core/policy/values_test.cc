// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy_findings.h"

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::values_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(PolicyHca, IsAWordOrAList) {
  expect_clean(R"({"hca": "Omit"})");
  expect_clean(R"({"hca": "=mlx5_1,mlx5_2:1"})");
  expect_clean(R"({"hca": "^mlx5_0"})");
  expect_warning(R"({"hca": "mlx5_1"})", "spec.hca");
  expect_error(R"({"hca": "fromNode"})", "spec.hca");
  expect_error(R"({"hca": "FromNod"})", "spec.hca");
  for (const char* other : {"None", "off", "Auto", "=mlx5_1;mlx5_2"})
    expect_error(R"({"hca": ")" + std::string(other) + "\"}", "spec.hca");
  expect_error(R"({"hca": "=mlx5_0, mlx5_1"})", "spec.hca");
  expect_error(R"json({"hca": "=$(HCA)"})json", "spec.hca");
  expect_error(R"({"hca": ""})", "spec.hca");
}

TEST(PolicyEnv, WarnsOfWhatMakesEveryPodSlow) {
  expect_warning(R"({"env": {"NCCL_P2P_DISABLE": "1"}})", "spec.env.NCCL_P2P_DISABLE");
  expect_warning(R"({"env": {"NCCL_SHM_DISABLE": "1"}})", "spec.env.NCCL_SHM_DISABLE");
  expect_clean(R"({"env": {"NCCL_P2P_DISABLE": "0", "NCCL_SHM_DISABLE": "0"}})");
}

TEST(PolicyVersion, WarnsOfOneThatIsNotKnown) {
  expect_warning(R"({"nccl": {"minVersion": "2.99"}})", "spec.nccl.minVersion");
  expect_clean(R"({"nccl": {"minVersion": "2.32.3"}})");
}

TEST(PolicyGidIndex, IsAWordOrAnIntegerInEitherForm) {
  for (const char* spec : {R"({"gidIndex": 3})", R"({"gidIndex": "3"})"}) {
    const auto reading = read(spec);
    ASSERT_TRUE(reading.policy);
    EXPECT_EQ(reading.policy->gid_index.kind, GidIndexRule::Kind::Literal);
    EXPECT_EQ(reading.policy->gid_index.literal, 3);
  }
  EXPECT_EQ(read(R"({"gidIndex": "Dynamic"})").policy->gid_index.kind, GidIndexRule::Kind::Dynamic);
  for (const char* spec :
       {R"({"gidIndex": -1})", R"({"gidIndex": 256})", R"({"gidIndex": "03"})", R"({"gidIndex": 3.0})",
        R"({"gidIndex": "dynamic"})", R"({"gidIndex": 18446744073709551615})"}) {
    expect_error(spec, "spec.gidIndex");
  }
}

TEST(PolicyGidIndex, RowZeroIsLinkLocalOnMostRocePorts) {
  expect_warning(R"({"gidIndex": 0})", "spec.gidIndex");
  expect_clean(R"({"gidIndex": 0, "fabric": {"linkLayer": "InfiniBand"}})");
}

TEST(PolicyGidIndex, AWordThatIsMeantIsNamed) {
  for (const auto& [text, meant] :
       {std::pair("auto", "Auto"), {"Dynamc", "Dynamic"}, {"None", "Omit"}, {"FromNode", "Auto"}}) {
    const auto reading = read(R"({"gidIndex": ")" + std::string(text) + "\"}");
    EXPECT_EQ(reading.findings.at(0).sentence,
              "\"" + std::string(text) + "\": do you mean " + std::string(meant) + "?");
  }
}

TEST(PolicyFabric, WarnsOfARegularExpression) {
  for (const char* glob : {"mlx5_.*", "mlx5_[0-3]+", "(mlx5_0|mlx5_1)", "mlx5_0$", R"(mlx5_\\d)"}) {
    expect_warning(R"({"fabric": {"hcas": ["mlx5_1", ")" + std::string(glob) + R"("]}})",
                   "spec.fabric.hcas[1]");
    expect_warning(R"({"fabric": {"excludeHcas": [")" + std::string(glob) + R"("]}})",
                   "spec.fabric.excludeHcas[0]");
  }
  expect_warning(R"({"fabric": {"netdevs": ["eth[0-9]+"]}})", "spec.fabric.netdevs[0]");
  expect_clean(R"({"fabric": {"netdevs": ["eth0.*"], "hcas": ["mlx5_[0-9]", "roce?.1"]}})");  // VLANs
}

TEST(PolicyFabric, WarnsOfARateThatNoPortHas) {
  expect_warning(R"({"fabric": {"minRateGbps": 100000}})", "spec.fabric.minRateGbps");
  expect_warning(R"({"variants": [{"when": {"minRateGbps": 400000}, "env": {"NCCL_IB_TC": "1"}}]})",
                 "spec.variants[0].when.minRateGbps");
  expect_clean(R"({"fabric": {"minRateGbps": 800}})");
}

// Each matches nothing, and says nothing of it to a pod.
TEST(PolicyFabric, RefusesGlobsThatNoNameMatches) {
  for (const char* glob :
       {"mlx5_0,mlx5_1", "=mlx5_0", "^mlx5_0", "mlx5_0:1", "mlx5_{0,1}", "mlx5_0;mlx5_1", "mlx5_[8-1]"}) {
    const std::string list = R"(": [")" + std::string(glob) + R"("]}})";
    expect_error(R"({"fabric": {"hcas)" + list, "spec.fabric.hcas[0]");
    expect_error(R"({"fabric": {"excludeHcas)" + list, "spec.fabric.excludeHcas[0]");
  }
  expect_error(R"({"fabric": {"netdevs": ["abcdefghijklmnop"]}})", "spec.fabric.netdevs[0]");
  expect_clean(R"({"fabric": {"hcas": ["mlx5_[0,1]"], "netdevs": ["abcdefghijklmno"]}})");
  expect_clean(R"({"fabric": {"netdevs": ["abcdefghijklmnop*"], "expectPorts": 32}})");
  expect_error(R"({"fabric": {"expectPorts": 33}})", "spec.fabric.expectPorts");
}

TEST(PolicyFabric, WarnsOfEmptyLists) {
  for (const char* list : {"hcas", "netdevs", "subnets"})
    expect_warning(R"({"fabric": {")" + std::string(list) + R"(": []}})", "spec.fabric." + std::string(list));
  expect_clean(R"({"fabric": {"excludeHcas": []}})");
}

TEST(PolicyFabric, WarnsWhereNoDeviceIsLeft) {
  expect_warning(R"({"fabric": {"excludeHcas": ["*"]}})", "spec.fabric.excludeHcas");
  expect_warning(R"({"fabric": {"hcas": ["mlx5_0", "mlx5_1?"], "excludeHcas": ["mlx5_*"]}})",
                 "spec.fabric.excludeHcas");
  expect_clean(R"({"fabric": {"hcas": ["mlx5_*"], "excludeHcas": ["mlx5_?"]}})");
  expect_clean(R"({"fabric": {"hcas": ["mlx5_*", "ib*"], "excludeHcas": ["mlx5_*"]}})");
}

TEST(PolicyFabric, WarnsWhereFewerDevicesAreNamedThanPortsExpected) {
  const std::string two = R"({"fabric": {"hcas": ["mlx5_1", "mlx5_2"], "expectPorts": )";
  expect_warning(two + "3}}", "spec.fabric.expectPorts");
  expect_clean(two + "2}}");
  expect_clean(R"({"fabric": {"hcas": ["mlx5_*"], "expectPorts": 8}})");
}

TEST(PolicySkipResources, MayNotPassOverAllThatMatches) {
  expect_error(R"({"match": {"resources": [{"name": "vpc.amazonaws.com/efa"}]}})", "spec.match.resources");
  const std::string skip = R"(, "skipResources": ["rdma/*"]})";
  expect_error(R"({"match": {"resources": [{"name": "rdma/*"}, {"name": "rdma/ib"}]})" + skip,
               "spec.skipResources");
  expect_clean(R"({"match": {"resources": [{"name": "rdma/*"}, {"name": "nvidia.com/hostdev"}]})" + skip);
  expect_clean(R"({"match": {"resources": [{"name": "rdma/*"}], "hostDevices": true})" + skip);
}

TEST(PolicyNccl, TheOldestVersionDecidesWhatMayBeLeftToIt) {
  EXPECT_FALSE(read("{}").policy->searches_gid());
  for (const auto& [version, searches] :
       {std::pair("2.18", false), std::pair("2.20.5", false), std::pair("2.21", true),
        std::pair("2.21.5", true), std::pair("2.32.3", true)}) {
    const auto reading = read(R"({"nccl": {"minVersion": ")" + std::string(version) + "\"}}");
    ASSERT_TRUE(reading.policy) << version;
    EXPECT_EQ(reading.policy->searches_gid(), searches) << version;
  }
  expect_clean(R"({"nccl": {}})");
  expect_error(R"({"nccl": {"minVersion": "2.17.1"}})", "spec.nccl.minVersion");
  expect_error(R"({"nccl": {"minVersion": "v2.21.5-1"}})", "spec.nccl.minVersion");
  expect_error(R"({"nccl": {"minVersion": "2.021"}})", "spec.nccl.minVersion");
  expect_error(R"({"nccl": {"minVersion": 2.21}})", "spec.nccl.minVersion");
  expect_error(R"({"nccl": {"version": "2.21.5"}})", "spec.nccl.version");
}

TEST(PolicyNccl, WhatNcclHasToSearchNeedsAnNcclThatDoes) {
  expect_clean(R"({"gidIndex": "Auto", "nccl": {"minVersion": "2.20.5"}})");
  expect_clean(R"({"gidIndex": "Auto", "nccl": {"minVersion": "2.21.5"}})");
  const std::string spec = R"({"gidIndex": "Dynamic")";
  expect_warning(spec + "}", "spec.gidIndex");
  expect_clean(spec + R"(, "nccl": {"minVersion": "2.21.5"}})");
  expect_error(spec + R"(, "nccl": {"minVersion": "2.20.5"}})", "spec.gidIndex");
  expect_error(R"({"gidIndex": "PinIfUniform"})", "spec.gidIndex");
}

TEST(PolicyPartitionKey, IsFourHexDigitsAndNamedOnce) {
  expect_clean(R"({"partitionKey": "0x8001"})");
  for (const char* spec : {R"({"partitionKey": "0x0000"})", R"({"partitionKey": "0x8000"})",
                           R"({"partitionKey": "8001"})", R"({"partitionKey": 32769})"}) {
    expect_error(spec, "spec.partitionKey");
  }
  for (const auto& [spec, by_value] : std::map<std::string, bool>{
           {R"("fabric": {"linkLayer": "InfiniBand"}, "nccl": {"minVersion": "2.31.2"})", true},
           {R"("fabric": {"linkLayer": "InfiniBand"}, "nccl": {"minVersion": "2.30.7"})", false},
           {R"("fabric": {"linkLayer": "InfiniBand"})", false},
           {R"("nccl": {"minVersion": "2.31.2"})", false}}) {
    const auto reading = read(R"({"partitionKey": "0x8001", )" + spec + "}");
    ASSERT_TRUE(reading.policy);
    EXPECT_EQ(reading.policy->env.contains("NCCL_IB_PKEY_VALUE"), by_value) << spec;
  }
  expect_error(R"({"partitionKey": "0x8001", "env": {"NCCL_IB_PKEY_VALUE": "32769"}})",
               "spec.env.NCCL_IB_PKEY_VALUE");
  expect_error(R"({"partitionKey": "0x8001", "env": {"NCCL_IB_PKEY": "1"}})", "spec.env.NCCL_IB_PKEY");
  expect_error(R"({"partitionKey": "0x8001", "delivery": ["File"], "variants": [)"
               R"({"when": {"linkLayer": "InfiniBand"}, "env": {"NCCL_IB_PKEY": "1"}}]})",
               "spec.variants[0].env.NCCL_IB_PKEY");
}

TEST(PolicySocketInterface, IsAWordOrAListOfTwoCharactersOrMore) {
  expect_clean(R"({"socketInterface": "eth0"})");
  expect_clean(R"({"socketInterface": "FromNode"})");
  expect_clean(R"({"socketInterface": "^lo,docker0"})");
  for (const char* hca : {"mlx5_0", "=mlx5_1", "eth0,rocep1s0f1", "^lo,bnxt_re0"})
    expect_warning(R"({"socketInterface": ")" + std::string(hca) + "\"}", "spec.socketInterface");
  expect_error(R"({"socketInterface": "e"})", "spec.socketInterface");
  expect_error(R"({"socketInterface": "omit"})", "spec.socketInterface");
  expect_error(R"({"socketInterface": "none"})", "spec.socketInterface");
  expect_error(R"({"socketInterface": "eth0,abcdefghijklmnop"})", "spec.socketInterface");
  for (const char* list : {"^docker0", "lo", "=lo", "eth0,lo"})
    expect_warning(R"({"socketInterface": ")" + std::string(list) + "\"}", "spec.socketInterface");
}

TEST(PolicyEnv, TakesConstantsOfTheKnownLibraries) {
  expect_clean(R"({"env": {"NCCL_IB_TIMEOUT": "22", "UCX_TLS": "rc,cuda", "GLOO_SOCKET_IFNAME": "eth0",
                           "RCCL_MSCCL_ENABLE": "0", "NVSHMEM_IB_GID_INDEX": "3"}})");
  expect_error(R"({"env": {"LD_PRELOAD": "/x.so"}})", "spec.env.LD_PRELOAD");
  expect_error(R"({"env": {"nccl_ib_timeout": "22"}})", "spec.env.nccl_ib_timeout");
  expect_error(R"({"env": {"NCCL_": "1"}})", "spec.env.NCCL_");
  expect_error(R"({"env": {"NCCL_A-B": "1"}})", R"(spec.env["NCCL_A-B"])");
}

TEST(PolicyEnv, SaysHowToQuoteANumber) {
  expect_error(R"({"env": {"NCCL_IB_TIMEOUT": 22}})", "spec.env.NCCL_IB_TIMEOUT");
  expect_error(R"({"env": {"NCCL_IB_TIMEOUT": true}})", "spec.env.NCCL_IB_TIMEOUT");
  expect_error(R"({"env": {"NCCL_IB_TIMEOUT": null}})", "spec.env.NCCL_IB_TIMEOUT");
}

TEST(PolicyEnv, LeavesNodeValuesToTheirFields) {
  expect_error(R"({"env": {"NCCL_IB_HCA": "=mlx5_0"}})", "spec.env.NCCL_IB_HCA");
  expect_error(R"({"env": {"NCCL_IB_GID_INDEX": "3"}})", "spec.env.NCCL_IB_GID_INDEX");
  expect_error(R"({"env": {"NCCL_SOCKET_IFNAME": "eth0"}})", "spec.env.NCCL_SOCKET_IFNAME");
  expect_error(R"({"env": {"NCCL_HOSTID": "a"}})", "spec.env.NCCL_HOSTID");
}

TEST(PolicyEnv, RefusesValuesThatChangeOnTheWay) {
  expect_error(R"({"env": {"UCX_TLS": ""}})", "spec.env.UCX_TLS");
  expect_error(R"json({"env": {"UCX_TLS": "$(HOSTNAME)"}})json", "spec.env.UCX_TLS");
  expect_error(R"({"env": {"UCX_TLS": "a\nb"}})", "spec.env.UCX_TLS");
  expect_error(("{\"env\": {\"UCX_TLS\": \"" + std::string(1024, 'a') + "\"}}").c_str(), "spec.env.UCX_TLS");
}

TEST(PolicyEnv, LoadsCodeOnlyWherePermitted) {
  for (const char* spec :
       {R"({"env": {"NCCL_NET_PLUGIN": "none"}})", R"({"env": {"NCCL_CONF_FILE": "/etc/x"}})",
        R"({"env": {"UCX_MODULE_DIR": "/tmp"}})", R"({"env": {"NVSHMEM_BOOTSTRAP_PLUGIN": "a.so"}})",
        R"({"env": {"UCX_GDB_COMMAND": "sh"}})", R"({"env": {"UCX_LOG_FILE": "/tmp/x"}})",
        R"({"env": {"UCX_PROFILE_FILE": "/tmp/x"}})", R"({"env": {"UCX_STATS_DEST": "file:/tmp/x"}})",
        R"({"env": {"UCX_MEMTRACK_DEST": "stdout"}})", R"({"env": {"UCX_ERROR_MAIL_TO": "a@b"}})"}) {
    const auto refused = read(spec);
    ASSERT_THAT(refused.findings, SizeIs(1)) << spec;
    tests::expect_golden(spec, refused.findings[0].sentence);
    EXPECT_TRUE(read(spec, true).policy) << spec;
  }
}

TEST(PolicyEnv, TakesWhatUcxOnlyReads) {
  EXPECT_TRUE(
      read(R"({"env": {"UCX_TLS": "rc", "UCX_LOG_LEVEL": "warn", "UCX_HANDLE_ERRORS": "bt"}})").policy);
}

TEST(PolicyEnv, WarnsOfUnknownNcclNames) {
  expect_warning(R"({"env": {"NCCL_IB_TIMEOUTS": "22"}})", "spec.env.NCCL_IB_TIMEOUTS");
  expect_warning(R"({"env": {"NCCL_SOMETHING_QUITE_NEW": "1"}})", "spec.env.NCCL_SOMETHING_QUITE_NEW");
}

TEST(PolicyEnv, WarnsWhereTheNetworkIsTurnedOff) {
  expect_warning(R"({"env": {"NCCL_IB_DISABLE": "1"}})", "spec.env.NCCL_IB_DISABLE");
  expect_clean(R"({"env": {"NCCL_IB_DISABLE": "0"}})");
  expect_warning(R"({"env": {"NCCL_NET": "Socket"}})", "spec.env.NCCL_NET");
  expect_clean(R"({"env": {"NCCL_NET": "ib"}})");
  for (const char* plugin : {"IBB", "gIB", "AWS Libfabric"})
    expect_warning(R"({"env": {"NCCL_NET": ")" + std::string(plugin) + "\"}}", "spec.env.NCCL_NET");
}

TEST(PolicyEnv, ListsOfOneFunctionNeedAnNcclThatReadsThem) {
  const std::string list = R"({"env": {"NCCL_ALGO": "Ring;AllReduce:Tree"})";
  expect_clean(list + "}");
  expect_clean(list + R"(, "nccl": {"minVersion": "2.24"}})");
  expect_warning(list + R"(, "nccl": {"minVersion": "2.23.4"}})", "spec.env.NCCL_ALGO");
  expect_error(R"({"env": {"NCCL_PROTO": "foo"}})", "spec.env.NCCL_PROTO");
  expect_error(R"({"env": {"UCX_TLS": "rc "}})", "spec.env.UCX_TLS");
}

TEST(PolicyEnv, HoldsSixtyFourEntries) {
  json object = object_with("{}");
  for (int i = 0; i < 65; ++i) object["spec"]["env"]["UCX_A" + std::to_string(i)] = "1";
  EXPECT_THAT(findings_of(object), ElementsAre(error("spec.env")));
}

}  // namespace
}  // namespace nccl_env::values_test
