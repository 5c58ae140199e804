// SPDX-License-Identifier: Apache-2.0
// spec.variants as a policy's author writes them.
#include "core/policy/policy_findings.h"
#include "nccl_env/core/policy/writer.h"

namespace nccl_env::variants_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(PolicyVariants, AreReadAndWritten) {
  const char* spec = R"({"env": {"NCCL_IB_TC": "106"}, "variants": [
    {"when": {"linkLayer": "InfiniBand"}, "env": {"NCCL_IB_QPS_PER_CONNECTION": "4"}},
    {"when": {"boards": ["MT_*"], "minRateGbps": 400}, "env": {"NCCL_IB_TC": "96", "NCCL_IB_SL": "1"}}]})";
  takes({spec});
  const NcclPolicy policy = *read(spec).policy;
  ASSERT_EQ(policy.variants.size(), 2u);
  EXPECT_EQ(policy.variants[0].when.link_layer, LinkLayer::InfiniBand);
  EXPECT_THAT(policy.variants[1].when.boards, ElementsAre("MT_*"));
  EXPECT_EQ(policy.variants[1].when.min_rate_gbps, 400);
  EXPECT_THAT(policy.variants[1].env, ElementsAre(Pair("NCCL_IB_SL", "1"), Pair("NCCL_IB_TC", "96")));
  EXPECT_THAT(policy.varying(), ElementsAre("NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SL", "NCCL_IB_TC"));
  EXPECT_EQ(to_json(policy)["spec"]["variants"], json::parse(spec)["variants"]);
  EXPECT_EQ(to_json(*read_policy(to_json(policy), {}).policy), to_json(policy));
}

// Specs with one variant each.
std::vector<std::string> variants(std::vector<std::string> fields) {
  for (std::string& variant : fields) variant = "[{" + variant + "}]";
  return each("variants", fields);
}

TEST(PolicyVariants, SayWhatIsWrong) {
  refuses(variants({R"("env": {"NCCL_IB_SL": "1"})", R"("when": {}, "env": {"NCCL_IB_SL": "1"})",
                    R"("when": {"minRateGbps": 1})", R"("when": {"minRateGbps": 1}, "env": {})",
                    R"("when": {"linkLayer": "Any"}, "env": {"NCCL_IB_SL": "1"})",
                    R"("when": {"boards": []}, "env": {"NCCL_IB_SL": "1"})",
                    R"("when": {"nodes": {}}, "env": {"NCCL_IB_SL": "1"})",
                    R"("when": {"minRateGbps": 1}, "env": {"NCCL_IB_HCA": "=a"})",
                    R"("when": {"minRateGbps": 1}, "env": {"NCCL_IB_RETRY_CNT": "10"})",
                    R"("when": {"minRateGbps": 1}, "env": {"UCX_TLS": "rc "})"}));
  // Of a fabric or an interface; with a fabric, which ports are asked would depend on the answer.
  for (const std::string fields :
       {R"(}, "fabric": {"hcas": "mlx5_1"})", R"(}, "fabric": {"hca": []})", R"(}, "fabric": [])",
        R"(}, "socketInterface": "FromNod")", R"(}, "socketInterface": 1)", R"(}, "hca": "=a", "fabric": {})",
        R"(}, "env": {}, "fabric": {})", R"(, "linkLayer": "Ethernet"}, "fabric": {"hcas": ["a"]})",
        R"(, "boards": ["MT_*"]}, "fabric": {"hcas": ["a"]})",
        R"(, "minRateGbps": 1}, "fabric": {"hcas": ["a"]})"})
    refuses(variants({R"("when": {"nodeLabels": {"a": "b"})" + fields}));
}

TEST(PolicyVariants, TellNodesByTheirLabels) {
  const char* spec =
      R"({"variants": [{"when": {"nodeLabels": {"node.kubernetes.io/instance-type": "p5*.48xlarge",
    "tier": "a"}}, "env": {"NCCL_IB_SL": "1"}}]})";
  takes({spec});
  const NcclPolicy policy = *read(spec).policy;
  EXPECT_THAT(policy.variants.at(0).when.node_labels,
              ElementsAre(Pair("node.kubernetes.io/instance-type", "p5*.48xlarge"), Pair("tier", "a")));
  EXPECT_EQ(to_json(policy)["spec"]["variants"], json::parse(spec)["variants"]);

  json many = json::object();
  for (int i = 0; i < 17; ++i) many["k" + std::to_string(i)] = "v";
  for (const std::string& labels : std::vector<std::string>{
           "{}", R"(["a"])", R"({"a": ""})", R"({"a": 1})", R"({"a": ["b"]})", R"({"a": "b c"})",
           R"({"a": "[b"})", R"({"a-": "b"})", R"({"A.io/b": "b"})", many.dump()})
    refuses(variants({R"("when": {"nodeLabels": )" + labels + R"(}, "env": {"NCCL_IB_SL": "1"})"}));
}

TEST(PolicyVariants, HaveAFabricAndAnInterface) {
  const char* spec = R"({"fabric": {"hcas": ["mlx5_*"]}, "variants": [
    {"when": {"nodeLabels": {"shape": "a"}}, "fabric": {"hcas": ["mlx5_[1-8]"], "expectPorts": 8}},
    {"when": {"minRateGbps": 400}, "socketInterface": "FromNode"},
    {"when": {"nodeLabels": {"shape": "b"}}, "fabric": {}, "socketInterface": "eth1",
     "env": {"NCCL_IB_SL": "1"}}]})";
  takes({spec});
  const NcclPolicy policy = *read(spec).policy;
  EXPECT_TRUE(policy.varies_fabric() && policy.varies_socket_interface());
  EXPECT_EQ(policy.variants.at(0).fabric->expect_ports, 8);
  EXPECT_FALSE(policy.variants[0].socket_interface);
  EXPECT_FALSE(policy.variants[1].fabric);
  EXPECT_EQ(policy.variants[1].socket_interface->kind, SocketInterfaceRule::Kind::FromNode);
  EXPECT_FALSE(policy.variants[2].fabric->names_ports()) << "in place of the policy's, as a whole";
  EXPECT_EQ(policy.variants[2].socket_interface->literal, "eth1");
  EXPECT_THAT(policy.varying(), ElementsAre("NCCL_IB_SL"));
  EXPECT_EQ(to_json(*read_policy(to_json(policy), {}).policy), to_json(policy));
}

TEST(PolicyVariants, HaveFabricsOfOneLinkLayerBesideAPartition) {
  const std::string start = R"({"partitionKey": "0x8001", "fabric": {"linkLayer": "InfiniBand"}, "variants": [
    {"when": {"nodeLabels": {"a": "b"}}, "fabric": {"linkLayer": ")";
  takes({start + R"(InfiniBand"}}]})"});
  refuses({start + R"(Ethernet"}}]})"});
}

TEST(PolicyVariants, AreFew) {
  const auto object_of = [](int variants, int names) {
    json object = object_with("{}");
    json env(json::value_t::object);
    for (int i = 0; i < names; ++i) env["UCX_X_" + std::to_string(i)] = "1";
    for (int i = 0; i < variants; ++i)
      object["spec"]["variants"].push_back({{"when", {{"minRateGbps", 1}}}, {"env", env}});
    object["spec"]["delivery"] = json::array({"File"});
    return object;
  };
  EXPECT_TRUE(read_policy(object_of(8, 16), {}).policy);
  EXPECT_THAT(findings_of(object_of(9, 1)), ElementsAre(error("spec.variants")));
  EXPECT_THAT(findings_of(object_of(1, 17)), ElementsAre(error("spec.variants[0].env")));
}

}  // namespace
}  // namespace nccl_env::variants_test
