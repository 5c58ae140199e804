// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy_findings.h"

namespace nccl_env::values_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(PolicyHca, IsAWordOrAList) {
  takes(each("hca", {R"("Omit")", R"("=mlx5_1,mlx5_2:1")", R"("^mlx5_0")"}));
  warns_of(each("hca", {R"("mlx5_1")"}));
  refuses(each("hca", {R"("fromNode")", R"("FromNod")", R"("None")", R"("off")", R"("Auto")",
                       R"("=mlx5_1;mlx5_2")", R"("=mlx5_0, mlx5_1")", R"j("=$(HCA)")j", R"("")"}));
}

TEST(PolicyVersion, WarnsOfOneThatIsNotKnown) {
  takes(each("nccl", {R"({"minVersion": "2.32.3"})"}));
  warns_of(each("nccl", {R"({"minVersion": "2.99"})"}));
}

TEST(PolicyGidIndex, IsAWordOrAnIntegerInEitherForm) {
  for (const char* spec : {R"({"gidIndex": 3})", R"({"gidIndex": "3"})"}) {
    const auto reading = read(spec);
    ASSERT_TRUE(reading.policy);
    EXPECT_EQ(reading.policy->gid_index.kind, GidIndexRule::Kind::Literal);
    EXPECT_EQ(reading.policy->gid_index.literal, 3);
  }
  EXPECT_EQ(read(R"({"gidIndex": "Dynamic"})").policy->gid_index.kind, GidIndexRule::Kind::Dynamic);
  refuses(each("gidIndex", {"-1", "256", R"("03")", "3.0", R"("dynamic")", "18446744073709551615"}));
  // A word that is meant is named.
  refuses(each("gidIndex", {R"("auto")", R"("Dynamc")", R"("None")", R"("FromNode")"}));
}

TEST(PolicyGidIndex, RowZeroIsLinkLocalOnMostRocePorts) {
  takes({R"({"gidIndex": 0, "fabric": {"linkLayer": "InfiniBand"}})"});
  warns_of(each("gidIndex", {"0"}));
}

TEST(PolicyFabric, WarnsOfWhatIsNoGlob) {
  for (const std::string glob :
       {"mlx5_.*", "mlx5_[0-3]+", "(mlx5_0|mlx5_1)", "mlx5_0$", R"(mlx5_\\d)", "mlx5_0-7", "mlx5_{0..7}"})
    warns_of(each("fabric",
                  {R"({"hcas": ["mlx5_1", ")" + glob + R"("]})", R"({"excludeHcas": [")" + glob + R"("]})"}));
  warns_of(each("fabric", {R"({"netdevs": ["eth[0-9]+"]})"}));
  takes(each("fabric", {R"({"netdevs": ["eth0.*"], "hcas": ["mlx5_[0-9]", "roce?.1", "rail-0"]})"}));
}

TEST(PolicyFabric, WarnsOfARateThatNoPortHas) {
  takes(each("fabric", {R"({"minRateGbps": 800})"}));
  warns_of({R"({"fabric": {"minRateGbps": 100000}})",
            R"({"variants": [{"when": {"minRateGbps": 400000}, "env": {"NCCL_IB_TC": "1"}}]})"});
}

// Each matches nothing, and says nothing of it to a pod.
TEST(PolicyFabric, RefusesGlobsThatNoNameMatches) {
  for (const std::string glob : {"mlx5_0,mlx5_1", "=mlx5_0", "^mlx5_0", "mlx5_0:1", "mlx5_{0,1}", "mlx5_[0-7",
                                 "mlx5_0;mlx5_1", "mlx5_[8-1]"})
    refuses(each("fabric", {R"({"hcas": [")" + glob + R"("]})", R"({"excludeHcas": [")" + glob + R"("]})"}));
  refuses(each("fabric", {R"({"netdevs": ["abcdefghijklmnop"]})", R"({"expectPorts": 33})"}));
  takes(each("fabric", {R"({"hcas": ["mlx5_[0,1]"], "netdevs": ["abcdefghijklmno"]})",
                        R"({"netdevs": ["abcdefghijklmnop*"], "expectPorts": 32})"}));
}

TEST(PolicyFabric, WarnsOfListsThatLeaveNothing) {
  takes(each("fabric", {R"({"excludeHcas": []})", R"({"hcas": ["mlx5_*"], "excludeHcas": ["mlx5_?"]})",
                        R"({"hcas": ["mlx5_*", "ib*"], "excludeHcas": ["mlx5_*"]})"}));
  warns_of(each("fabric",
                {R"({"hcas": []})", R"({"netdevs": []})", R"({"subnets": []})", R"({"excludeHcas": ["*"]})",
                 R"({"hcas": ["mlx5_0", "mlx5_1?"], "excludeHcas": ["mlx5_*"]})"}));
}

TEST(PolicyFabric, WarnsWhereFewerDevicesAreNamedThanPortsExpected) {
  takes(each("fabric", {R"({"hcas": ["mlx5_1", "mlx5_2"], "expectPorts": 2})",
                        R"({"hcas": ["mlx5_*"], "expectPorts": 8})"}));
  warns_of(each("fabric", {R"({"hcas": ["mlx5_1", "mlx5_2"], "expectPorts": 3})"}));
}

TEST(PolicySkipResources, MayNotPassOverAllThatMatches) {
  refuses({R"({"match": {"resources": [{"name": "vpc.amazonaws.com/efa"}]}})"});
  const std::string skip = R"(, "skipResources": ["rdma/*"]})";
  takes({R"({"match": {"resources": [{"name": "rdma/*"}, {"name": "nvidia.com/hostdev"}]})" + skip,
         R"({"match": {"resources": [{"name": "rdma/*"}], "hostDevices": true})" + skip});
  refuses({R"({"match": {"resources": [{"name": "rdma/*"}, {"name": "rdma/ib"}]})" + skip});
}

TEST(PolicyNccl, TheOldestVersionDecidesWhatMayBeLeftToIt) {
  EXPECT_TRUE(read("{}").policy->searches_gid());
  for (const auto& [version, searches] :
       {std::pair("2.18", false), std::pair("2.20.5", false), std::pair("2.21", true),
        std::pair("2.21.5", true), std::pair("2.32.3", true)}) {
    const auto reading = read(R"({"nccl": {"minVersion": ")" + std::string(version) + "\"}}");
    ASSERT_TRUE(reading.policy) << version;
    EXPECT_EQ(reading.policy->searches_gid(), searches) << version;
  }
  takes(each("nccl", {"{}"}));
  refuses(
      each("nccl", {R"({"minVersion": "2.17.1"})", R"({"minVersion": "v2.21.5-1"})",
                    R"({"minVersion": "2.021"})", R"({"minVersion": 2.21})", R"({"version": "2.21.5"})"}));
}

TEST(PolicyNccl, WhatNcclHasToSearchNeedsAnNcclThatDoes) {
  takes({R"({"gidIndex": "Auto", "nccl": {"minVersion": "2.20.5"}})", R"({"gidIndex": "Dynamic"})",
         R"({"gidIndex": "Pin", "nccl": {"minVersion": "2.20.5"}})",
         R"({"gidIndex": "Auto", "nccl": {"minVersion": "2.21.5"}})",
         R"({"gidIndex": "Dynamic", "nccl": {"minVersion": "2.21.5"}})"});
  refuses(
      {R"({"gidIndex": "Dynamic", "nccl": {"minVersion": "2.20.5"}})", R"({"gidIndex": "PinIfUniform"})"});
}

TEST(PolicyPartitionKey, IsFourHexDigitsAndNamedOnce) {
  takes(each("partitionKey", {R"("0x8001")"}));
  refuses(each("partitionKey", {R"("0x0000")", R"("0x8000")", R"("8001")", "32769"}));
  for (const auto& [spec, by_value] : std::map<std::string, bool>{
           {R"("fabric": {"linkLayer": "InfiniBand"}, "nccl": {"minVersion": "2.31.2"})", true},
           {R"("fabric": {"linkLayer": "InfiniBand"}, "nccl": {"minVersion": "2.30.7"})", false},
           {R"("fabric": {"linkLayer": "InfiniBand"})", false},
           {R"("nccl": {"minVersion": "2.31.2"})", false}}) {
    const auto reading = read(R"({"partitionKey": "0x8001", )" + spec + "}");
    ASSERT_TRUE(reading.policy);
    EXPECT_EQ(reading.policy->env.contains("NCCL_IB_PKEY_VALUE"), by_value) << spec;
  }
  refuses({R"({"partitionKey": "0x8001", "env": {"NCCL_IB_PKEY_VALUE": "32769"}})",
           R"({"partitionKey": "0x8001", "env": {"NCCL_IB_PKEY": "1"}})",
           R"({"partitionKey": "0x8001", "delivery": ["File"], "variants": [)"
           R"({"when": {"linkLayer": "InfiniBand"}, "env": {"NCCL_IB_PKEY": "1"}}]})"});
}

TEST(PolicySocketInterface, IsAWordOrAListOfTwoCharactersOrMore) {
  takes(each("socketInterface", {R"("eth0")", R"("FromNode")", R"("^lo,docker0")"}));
  warns_of(
      each("socketInterface", {R"("mlx5_0")", R"("=mlx5_1")", R"("eth0,rocep1s0f1")", R"("^lo,bnxt_re0")",
                               R"("^docker0")", R"("lo")", R"("=lo")", R"("eth0,lo")"}));
  refuses(each("socketInterface", {R"("e")", R"("omit")", R"("none")", R"("eth0,abcdefghijklmnop")"}));
}

TEST(PolicyEnv, TakesConstantsOfTheKnownLibraries) {
  takes(each("env", {R"({"NCCL_IB_TIMEOUT": "22", "UCX_TLS": "rc,cuda", "GLOO_SOCKET_IFNAME": "eth0"})",
                     R"({"RCCL_MSCCL_ENABLE": "0", "NVSHMEM_IB_GID_INDEX": "3"})",
                     R"({"UCX_TLS": "rc", "UCX_LOG_LEVEL": "warn", "UCX_HANDLE_ERRORS": "bt"})"}));
  refuses(each("env", {R"({"LD_PRELOAD": "/x.so"})", R"({"nccl_ib_timeout": "22"})", R"({"NCCL_": "1"})",
                       R"({"NCCL_A-B": "1"})"}));
}

TEST(PolicyEnv, RefusesValuesThatAreNoTextOrChangeOnTheWay) {
  refuses(each("env",
               {R"({"NCCL_IB_TIMEOUT": 22})", R"({"NCCL_IB_TIMEOUT": true})", R"({"NCCL_IB_TIMEOUT": null})",
                R"({"UCX_TLS": ""})", R"json({"UCX_TLS": "$(HOSTNAME)"})json", R"({"UCX_TLS": "a\nb"})",
                R"({"UCX_TLS": ")" + std::string(1024, 'a') + "\"}", R"({"UCX_TLS": "rc "})"}));
}

TEST(PolicyEnv, LeavesNodeValuesToTheirFields) {
  refuses(each("env", {R"({"NCCL_IB_HCA": "=mlx5_0"})", R"({"NCCL_IB_GID_INDEX": "3"})",
                       R"({"NCCL_SOCKET_IFNAME": "eth0"})", R"({"NCCL_HOSTID": "a"})"}));
}

TEST(PolicyEnv, LoadsCodeOnlyWherePermitted) {
  const auto specs = each("env", {R"({"NCCL_NET_PLUGIN": "none"})", R"({"NCCL_CONF_FILE": "/etc/x"})",
                                  R"({"UCX_MODULE_DIR": "/tmp"})", R"({"NVSHMEM_BOOTSTRAP_PLUGIN": "a.so"})",
                                  R"({"UCX_GDB_COMMAND": "sh"})", R"({"UCX_LOG_FILE": "/tmp/x"})",
                                  R"({"UCX_PROFILE_FILE": "/tmp/x"})", R"({"UCX_STATS_DEST": "file:/tmp/x"})",
                                  R"({"UCX_MEMTRACK_DEST": "stdout"})", R"({"UCX_ERROR_MAIL_TO": "a@b"})"});
  refuses(specs);
  for (const std::string& spec : specs) EXPECT_TRUE(read(spec, true).policy) << spec;
}

TEST(PolicyEnv, WarnsOfWhatIsUnknownSlowOrTurnsTheNetworkOff) {
  takes(each("env", {R"({"NCCL_P2P_DISABLE": "0", "NCCL_SHM_DISABLE": "0"})", R"({"NCCL_IB_DISABLE": "0"})",
                     R"({"NCCL_NET": "ib"})"}));
  warns_of(each("env", {R"({"NCCL_IB_TIMEOUTS": "22"})", R"({"NCCL_SOMETHING_QUITE_NEW": "1"})",
                        R"({"NCCL_P2P_DISABLE": "1"})", R"({"NCCL_SHM_DISABLE": "1"})",
                        R"({"NCCL_IB_DISABLE": "1"})", R"({"NCCL_NET": "Socket"})", R"({"NCCL_NET": "IBB"})",
                        R"({"NCCL_NET": "gIB"})", R"({"NCCL_NET": "AWS Libfabric"})"}));
}

TEST(PolicyEnv, ListsOfOneFunctionNeedAnNcclThatReadsThem) {
  const std::string list = R"({"env": {"NCCL_ALGO": "Ring;AllReduce:Tree"})";
  takes({list + "}", list + R"(, "nccl": {"minVersion": "2.24"}})"});
  warns_of({list + R"(, "nccl": {"minVersion": "2.23.4"}})"});
  refuses(each("env", {R"({"NCCL_PROTO": "foo"})"}));
}

TEST(PolicyEnv, HoldsSixtyFourEntries) {
  json object = object_with("{}");
  for (int i = 0; i < 65; ++i) object["spec"]["env"]["UCX_A" + std::to_string(i)] = "1";
  EXPECT_THAT(findings_of(object), ElementsAre(error("spec.env")));
}

}  // namespace
}  // namespace nccl_env::values_test
