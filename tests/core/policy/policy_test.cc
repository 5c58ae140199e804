// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy_findings.h"

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/policy/description.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/policy/writer.h"

namespace nccl_env::policy_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Policy, HasDefaultsForAllButTheMatch) {
  const auto reading = read("{}");
  ASSERT_TRUE(reading.policy);
  EXPECT_THAT(reading.findings, IsEmpty());
  EXPECT_EQ(to_json(*reading.policy), json::parse(R"({
    "apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "p", "generation": 1},
    "spec": {"mode": "Enforce", "match": {"resources": [], "deviceClasses": [], "networks": [],
      "hostDevices": true}, "skipResources": ["vpc.amazonaws.com/efa"], "containers": "Requesting",
      "fabric": {"hcas": [], "netdevs": [], "subnets": [], "linkLayer": "Any", "excludeHcas": []},
      "hca": "FromNode", "gidIndex": "Auto", "socketInterface": "Omit", "env": {},
      "delivery": ["File"], "onUnresolved": "Allow"}})"));
}

TEST(Policy, IsReadBackFromItsOwnJson) {
  const auto reading = read(R"({"mode": "DryRun", "containers": "All", "skipResources": [],
    "match": {"resources": [{"name": "rdma/*", "exposure": "Host"}, {"name": "a.b/c"}], "hostDevices": false,
      "deviceClasses": ["mrdma.google.com"], "networks": [{"name": "ml/rail-*", "exposure": "SubInterface"}]},
    "fabric": {"hcas": ["mlx5_[1-8]"], "netdevs": ["eth*"], "subnets": ["10.0.0.0/8", "fd02::/16"],
      "linkLayer": "InfiniBand", "excludeHcas": ["mlx5_9"], "minRateGbps": 99.5, "expectPorts": 8},
    "hca": "=mlx5_1", "gidIndex": 3, "partitionKey": "0x8001", "socketInterface": "eth0", "nccl": {"minVersion": "2.31.2"},
    "env": {"NCCL_IB_TIMEOUT": "22"}, "onUnresolved": "Deny"})");
  EXPECT_THAT(reading.findings, IsEmpty());
  ASSERT_TRUE(reading.policy);
  EXPECT_EQ(reading.policy->mode, PolicyMode::DryRun);
  EXPECT_EQ(reading.policy->resources[0].exposure, Exposure::Host);
  EXPECT_EQ(reading.policy->resources[1].exposure, std::nullopt);
  EXPECT_THAT(reading.policy->skip_resources, IsEmpty());
  EXPECT_EQ(reading.policy->gid_index.literal, 3);
  EXPECT_EQ(reading.policy->min_nccl, (NcclVersion{2, 31, 2}));
  EXPECT_EQ(reading.policy->partition_key, 0x8001);
  EXPECT_EQ(reading.policy->fabric.link_layer, LinkLayer::InfiniBand);
  EXPECT_THAT(reading.policy->fabric.subnets, SizeIs(2));
  EXPECT_EQ(reading.policy->env.at("NCCL_IB_PKEY_VALUE"), "32769");
  EXPECT_FALSE(to_json(*reading.policy)["spec"]["env"].contains("NCCL_IB_PKEY_VALUE"))
      << "partitionKey says it";
  const auto again = read_policy(to_json(*reading.policy), {});
  ASSERT_TRUE(again.policy);
  EXPECT_EQ(to_json(*again.policy), to_json(*reading.policy));
}

TEST(Policy, ReportsEveryFindingAtOnceByPath) {
  const json object =
      object_with(R"({"mode": "enforce", "fabric": {"subnets": ["10.0.0.0/8", "x"], "expectPorts": 0},
                                "env": {"NCCL_IB_RETRY_CNT": "10"}})");
  EXPECT_FALSE(read_policy(object, {}).policy);
  EXPECT_THAT(findings_of(object),
              ElementsAre(error("spec.mode"), error("spec.fabric.subnets[1]"),
                          error("spec.fabric.expectPorts"), error("spec.env.NCCL_IB_RETRY_CNT")));
}

TEST(Policy, ErrorsBecomeOneSentence) {
  const auto result =
      parse_policy(object_with(R"({"hca": 1, "gidIndex": 256, "delivery": ["Env", "File"]})"), {});
  ASSERT_FALSE(result.ok());
  tests::expect_golden(result.error().message);
  EXPECT_TRUE(parse_policy(object_with("{}"), {}).ok());
}

TEST(Policy, RefusesUnknownFieldsAndNamesTheNearest) {
  refuses({R"({"hcaa": "Omit"})", R"({"gidindex": 3})", R"({"fabric": {"excludeHca": []}})",
           R"({"tuning": {}})", R"({"match": {"hostDevices": true, "resource": []}})",
           R"({"match": {"resources": [{"name": "rdma/hca", "exposures": "Host"}]}})", R"({"a b": 1})"});
}

TEST(Policy, NamesWrongTypesAndWhatIsExpected) {
  refuses({R"({"mode": true})", R"({"fabric": []})", R"({"fabric": {"hcas": "mlx5_0"}})",
           R"({"fabric": {"hcas": [0]}})", R"({"fabric": {"expectPorts": 8.0}})",
           R"({"fabric": {"minRateGbps": 0}})", R"({"fabric": {"minRateGbps": "200"}})",
           R"({"match": {"hostDevices": "true"}})", R"({"socketInterface": null})", R"({"env": []})"});
}

TEST(Policy, IsRefusedAsAWholeWhenItIsNoPolicy) {
  EXPECT_THAT(findings_of(json::array()), ElementsAre(error("")));
  EXPECT_THAT(findings_of(json::object()),
              ElementsAre(error("apiVersion"), error("kind"), error("metadata"), error("spec")));
  json other = object_with("{}");
  other["apiVersion"] = "nccl-env.io/v1";
  other["specs"] = json::object();
  EXPECT_THAT(findings_of(other), ElementsAre(error("specs"), error("apiVersion")));
}

TEST(Policy, IgnoresStatusAndWhatTheServerSets) {
  json object = object_with("{}");
  object["status"] = 1;
  object["metadata"] = {{"name", "a.b-c" + std::string(58, 'd')},
                        {"generation", 7},
                        {"uid", "x"},
                        {"managedFields", json::array()}};
  const auto reading = read_policy(object, {});
  ASSERT_TRUE(reading.policy);
  EXPECT_EQ(reading.policy->generation, 7);
}

// Each field of spec as another policy may have it, and whether a node's values follow from it. A new field
// is missing here, and counts.
TEST(Policy, ItsHashIsOverWhatDecidesTheValuesOfNodes) {
  const std::map<std::string, std::pair<std::string, bool>> fields = {
      {"mode", {R"({"mode": "DryRun"})", false}},
      {"match", {R"({"match": {"resources": [{"name": "rdma/*"}]}})", false}},
      {"skipResources", {R"({"skipResources": []})", false}},
      {"containers", {R"({"containers": "All"})", false}},
      {"delivery", {R"({"delivery": ["EnvFile"]})", false}},
      {"onUnresolved", {R"({"onUnresolved": "Deny"})", false}},
      {"env", {R"({"env": {"NCCL_IB_TIMEOUT": "22"}})", false}},
      {"fabric", {R"({"fabric": {"expectPorts": 8}})", true}},
      {"hca", {R"({"hca": "=mlx5_0"})", true}},
      {"gidIndex", {R"({"gidIndex": "Pin"})", true}},
      {"socketInterface", {R"({"socketInterface": "eth0"})", true}},
      {"partitionKey", {R"({"partitionKey": "0x8001"})", true}},
      {"nccl", {R"({"nccl": {"minVersion": "2.18"}})", true}},
      {"engines", {R"({"engines": ["NCCL", "UCX"]})", true}},
      {"variants",
       {R"({"variants": [{"when": {"linkLayer": "Ethernet"}, "env": {"NCCL_IB_TC": "106"}}]})", true}}};
  const auto hash = [](const std::string& spec) {
    const auto reading = read(spec);
    return reading.policy ? reading.policy->value_hash : "refused";
  };
  const std::string plain = hash("{}");
  EXPECT_THAT(plain, testing::MatchesRegex("[0-9a-f]{8}"));
  EXPECT_EQ(hash(R"({"hca": "FromNode", "gidIndex": "Auto"})"), plain) << "defaults written out";
  described::each_field<NcclPolicy>([&](const auto& field) {
    const auto found = fields.find(std::string(field.name));
    ASSERT_NE(found, fields.end()) << field.name;
    const auto& [spec, counts] = found->second;
    EXPECT_EQ(hash(spec) != plain, counts) << field.name << " " << hash(spec);
    EXPECT_NE(hash(spec), "refused") << field.name;
  });
  for (const char* constant : {"NCCL_IB_ADDR_FAMILY\": \"AF_INET6", "NCCL_IB_ADDR_RANGE\": \"10.0.0.0/8",
                               "NCCL_IB_ROCE_VERSION_NUM\": \"1", "NCCL_IB_RESILIENCY_PORT_RECOVERY\": \"1"})
    EXPECT_NE(hash(R"({"env": {")" + std::string(constant) + "\"}}"), plain) << "NCCL chooses its row by it";
}

TEST(Policy, IsAsYoungAsTheNewestWriteOfAllButItsStatus) {
  const auto written = [](const json& fields) {
    json object = object_with("{}");
    object["metadata"]["managedFields"] = fields;
    const auto reading = read_policy(object, {});
    return reading.policy->written ? format_timestamp(*reading.policy->written) : "";
  };
  const json edit = {{"manager", "kubectl"}, {"time", "2026-11-20T08:00:00Z"}},
             gitops = {{"manager", "flux"}, {"time", "2026-11-20T09:00:00Z"}},
             status = {{"manager", "nccl-env-webhook"},
                       {"time", "2026-11-20T10:00:00Z"},
                       {"subresource", "status"}};
  EXPECT_EQ(written({gitops, edit, status}), "2026-11-20T09:00:00Z");
  EXPECT_EQ(written(json::array({status})), "");
  EXPECT_EQ(written(5), "");
}

TEST(Policy, TakesTheWebhooksAgeOfItsStatus) {
  const auto age = [](const json& seconds) {
    json object = to_json(*read("{}").policy);
    object["status"] = {{"maxTableAgeSeconds", seconds}};
    return read_policy(object, {}).policy->max_table_age;
  };
  EXPECT_EQ(age(5400), std::chrono::seconds(5400));
  for (const json& odd : {json(0), json(-1), json("3h"), json(1.5), json(~std::uint64_t{0})})
    EXPECT_EQ(age(odd), std::nullopt) << odd;
  EXPECT_LE(age(std::int64_t{1} << 60), std::chrono::hours(366 * 24)) << "what is added to a time fits";
}

TEST(Policy, NeedsANameAndAPositiveGeneration) {
  for (const json& metadata : {json{{"name", "Upper"}}, json{{"name", ""}}, json{{"name", "a..b"}},
                               json{{"name", 1}}, json{{"name", std::string(64, 'a')}}, json::object()}) {
    json object = object_with("{}");
    object["metadata"] = metadata;
    EXPECT_THAT(findings_of(object), ElementsAre(error("metadata.name"))) << metadata;
  }
  for (const json& generation : {json(0), json(-1), json("1"), json(1.5), json(18446744073709551615u)}) {
    json object = object_with("{}");
    object["metadata"]["generation"] = generation;
    EXPECT_THAT(findings_of(object), ElementsAre(error("metadata.generation"))) << generation;
  }
}

TEST(PolicyMatch, NeedsAtLeastOneCondition) {
  refuses(each("match", {"{}", R"({"resources": []})", R"({"hostDevices": false, "deviceClasses": []})",
                         R"({"networks": []})"}));
  json object = object_with("{}");
  object["spec"].erase("match");
  EXPECT_THAT(findings_of(object), ElementsAre(error("spec.match")));
}

TEST(PolicyMatch, TakesGlobsOfExtendedResources) {
  takes(
      {R"({"match": {"resources": [{"name": "rdma/hca*", "exposure": "SubInterface"}, {"name": "*/rdma-vf"}]}})"});
  for (const std::string name :
       {"", "rdma/ hca", R"(rdma/h\tca)", "cpu", "rdma/[ab", "rdma/[[:digit:]]", R"(rdma/\\)"})
    refuses({R"({"match": {"resources": [{"name": ")" + name + R"("}]}})"});
  refuses({R"({"match": {"resources": ["rdma/hca"]}})", R"({"match": {"resources": [{}]}})",
           R"({"match": {"resources": [{"name": "rdma/a", "exposure": "host"}]}})"});
  warns_of({R"({"match": {"resources": [{"name": "*"}]}})"});
}

TEST(PolicyMatch, HoldsSixtyFourEntries) {
  json object = object_with("{}");
  for (int i = 0; i < 64; ++i) object["spec"]["match"]["resources"].push_back({{"name", "rdma/a"}});
  EXPECT_TRUE(read_policy(object, {}).policy);
  object["spec"]["match"]["resources"].push_back({{"name", "rdma/a"}});
  EXPECT_THAT(findings_of(object), ElementsAre(error("spec.match.resources")));
}

TEST(PolicyDelivery, IsANonEmptySubset) {
  takes(each("delivery", {R"(["File"])", R"(["EnvFile"])", R"(["EnvFile", "File"])"}));
  refuses(each("delivery", {"[]", R"(["File", "File"])", R"(["file"])", R"(["Reference"])", R"("File")"}));
}

TEST(PolicyMatch, WarnsOfDeviceClassesThatAreKnownNotToBeVerbs) {
  takes(each("match", {R"({"deviceClasses": ["mrdma.google.com", "rdma"]})"}));
  refuses(each("match", {R"({"deviceClasses": ["*.google.com"]})"}));
  warns_of(each("match", {R"({"deviceClasses": ["compute-domain-default-channel.nvidia.com"]})",
                          R"({"deviceClasses": ["efa.networking.k8s.aws"]})"}));
}

TEST(PolicyMatch, NetworksAreGlobsWithAnExposureThatIsNeverHost) {
  takes(each("match",
             {R"({"networks": [{"name": "*/rail-[0-7]"}, {"name": "ml/vf", "exposure": "PodOwned"}]})"}));
  EXPECT_EQ(read(R"({"match": {"networks": [{"name": "ml/x"}]}})").policy->networks[0].exposure,
            Exposure::PodOwned);
  refuses(each("match", {R"({"networks": [{"name": "ml/x", "exposure": "Host"}]})",
                         R"({"networks": [{"name": "rail"}]})", R"({"networks": [{"exposure": "PodOwned"}]})",
                         R"({"networks": ["ml/x"]})", R"({"networks": [{"name": "a/[b"}]})"}));
}

TEST(Policy, BoundsItsFindings) {
  json object = object_with("{}");
  for (int i = 0; i < 5000; ++i) object["spec"]["field" + std::to_string(i)] = 1;
  const auto reading = read_policy(object, {});
  EXPECT_FALSE(reading.policy);
  EXPECT_THAT(reading.findings, SizeIs(101));
  tests::expect_golden(reading.findings.back().sentence);
}

TEST(Policy, ShowsHostileTextEscaped) {
  json object = object_with("{}");
  object["spec"]["\x1b[31m"] = 1;
  object["metadata"]["name"] = "\xff\n";
  for (const Finding& finding : read_policy(object, {}).findings) {
    for (const char c : line_of(finding)) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

TEST(Exposure, IsReadFromItsWords) {
  for (const auto value : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
    EXPECT_EQ(parse_exposure(to_string(value)), value);
  }
  EXPECT_EQ(parse_exposure("host"), std::nullopt);
}

TEST(Policy, NamesEngines) {
  const NcclPolicy policy =
      read_policy(object_with(R"({"engines": ["NCCL", "UCX", "Gloo"]})"), {}).policy.value();
  EXPECT_EQ(policy.engines,
            (std::vector<const Engine*>{&nccl_engine(), find_engine("UCX"), find_engine("Gloo")}));
  EXPECT_EQ(to_json(policy)["spec"]["engines"], (json{"NCCL", "UCX", "Gloo"}));
  EXPECT_EQ(unavailable_engines(policy), "Gloo");
  EXPECT_EQ(read("{}").policy->engines.size(), 1u);
  takes({R"({"engines": ["NCCL", "UCX"]})",
         R"({"engines": ["NCCL", "Gloo"], "delivery": ["EnvFile", "File"]})"});
  refuses({R"({"engines": ["UCX"]})", R"({"engines": ["NCCL", "NCCL"]})", R"({"engines": ["NCCL", "vLLM"]})",
           R"({"engines": ["NCCL", "ucx"]})"});
  // The words of the schema are those of the catalogue.
  std::string words(nccl_engine().name);
  for (const Engine* engine : other_engines()) {
    if (gives_values(*engine)) words.append("|").append(engine->name);
  }
  EXPECT_EQ(described::policy::kEngine.pattern, "(" + words + ")");
}

}  // namespace
}  // namespace nccl_env::policy_test
