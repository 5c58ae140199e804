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
  expect_clean(spec);
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

TEST(PolicyVariants, SayWhatIsWrong) {
  expect_error(R"({"variants": [{"env": {"NCCL_IB_SL": "1"}}]})", "spec.variants[0].when");
  expect_error(R"({"variants": [{"when": {}, "env": {"NCCL_IB_SL": "1"}}]})", "spec.variants[0].when");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}}]})", "spec.variants[0].env");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {}}]})", "spec.variants[0].env");
  expect_error(R"({"variants": [{"when": {"linkLayer": "Any"}, "env": {"NCCL_IB_SL": "1"}}]})",
               "spec.variants[0].when.linkLayer");
  expect_error(R"({"variants": [{"when": {"boards": []}, "env": {"NCCL_IB_SL": "1"}}]})",
               "spec.variants[0].when.boards");
  expect_error(R"({"variants": [{"when": {"nodes": {}}, "env": {"NCCL_IB_SL": "1"}}]})",
               "spec.variants[0].when.nodes");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"NCCL_IB_HCA": "=a"}}]})",
               "spec.variants[0].env.NCCL_IB_HCA");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"NCCL_IB_RETRY_CNT": "10"}}]})",
               "spec.variants[0].env.NCCL_IB_RETRY_CNT");
}

TEST(PolicyVariants, TellNodesByTheirLabels) {
  const char* spec =
      R"({"variants": [{"when": {"nodeLabels": {"node.kubernetes.io/instance-type": "p5*.48xlarge",
    "tier": "a"}}, "env": {"NCCL_IB_SL": "1"}}]})";
  expect_clean(spec);
  const NcclPolicy policy = *read(spec).policy;
  EXPECT_THAT(policy.variants.at(0).when.node_labels,
              ElementsAre(Pair("node.kubernetes.io/instance-type", "p5*.48xlarge"), Pair("tier", "a")));
  EXPECT_EQ(to_json(policy)["spec"]["variants"], json::parse(spec)["variants"]);

  const auto refused = [](const char* labels, const char* at) {
    const std::string text = R"({"variants": [{"when": {"nodeLabels": )" + std::string(labels) +
                             R"(}, "env": {"NCCL_IB_SL": "1"}}]})";
    expect_error(text.c_str(), (std::string("spec.variants[0].when.nodeLabels") + at).c_str());
  };
  refused("{}", "");
  refused(R"(["a"])", "");
  refused(R"({"a": ""})", ".a");
  refused(R"({"a": 1})", ".a");
  refused(R"({"a": ["b"]})", ".a");
  refused(R"({"a": "b c"})", ".a");
  refused(R"({"a": "[b"})", ".a");
  refused(R"({"a-": "b"})", "[\"a-\"]");
  refused(R"({"A.io/b": "b"})", "[\"A.io/b\"]");
  json many = json::object();
  for (int i = 0; i < 17; ++i) many["k" + std::to_string(i)] = "v";
  refused(many.dump().c_str(), "");
}

TEST(PolicyVariants, HaveAFabricAndAnInterface) {
  const char* spec = R"({"fabric": {"hcas": ["mlx5_*"]}, "variants": [
    {"when": {"nodeLabels": {"shape": "a"}}, "fabric": {"hcas": ["mlx5_[1-8]"], "expectPorts": 8}},
    {"when": {"minRateGbps": 400}, "socketInterface": "FromNode"},
    {"when": {"nodeLabels": {"shape": "b"}}, "fabric": {}, "socketInterface": "eth1",
     "env": {"NCCL_IB_SL": "1"}}]})";
  expect_clean(spec);
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

// Which ports are asked would depend on the answer.
TEST(PolicyVariants, WithAFabricAskForLabelsOnly) {
  for (const auto& [when, at] :
       {std::pair(R"("linkLayer": "Ethernet")", "linkLayer"), std::pair(R"("boards": ["MT_*"])", "boards"),
        std::pair(R"("minRateGbps": 1)", "minRateGbps")}) {
    const std::string text = R"({"variants": [{"when": {"nodeLabels": {"a": "b"}, )" + std::string(when) +
                             R"(}, "fabric": {"hcas": ["a"]}}]})";
    expect_error(text.c_str(), (std::string("spec.variants[0].when.") + at).c_str());
  }
}

TEST(PolicyVariants, HaveFabricsOfOneLinkLayerBesideAPartition) {
  const char* start = R"({"partitionKey": "0x8001", "fabric": {"linkLayer": "InfiniBand"}, "variants": [
    {"when": {"nodeLabels": {"a": "b"}}, "fabric": {"linkLayer": ")";
  expect_error((std::string(start) + R"(Ethernet"}}]})").c_str(), "spec.variants[0].fabric.linkLayer");
  expect_clean((std::string(start) + R"(InfiniBand"}}]})").c_str());
}

TEST(PolicyVariants, SayWhatIsWrongWithAFabricOrAnInterface) {
  const auto refused = [](const char* fields, const char* at) {
    const std::string text =
        R"({"variants": [{"when": {"nodeLabels": {"a": "b"}}, )" + std::string(fields) + "}]}";
    expect_error(text.c_str(), (std::string("spec.variants[0].") + at).c_str());
  };
  refused(R"("fabric": {"hcas": "mlx5_1"})", "fabric.hcas");
  refused(R"("fabric": {"hca": []})", "fabric.hca");
  refused(R"("fabric": [])", "fabric");
  refused(R"("socketInterface": "FromNod")", "socketInterface");
  refused(R"("socketInterface": 1)", "socketInterface");
  refused(R"("hca": "=a", "fabric": {})", "hca");
  refused(R"("env": {}, "fabric": {})", "env");
}

TEST(PolicyVariants, ABlankAtTheEndOfAConstantIsRefused) {
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"UCX_TLS": "rc "}}]})",
               "spec.variants[0].env.UCX_TLS");
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
