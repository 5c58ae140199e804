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
  expect_error(R"({"variants": [{"env": {"NCCL_IB_SL": "1"}}]})", "spec.variants[0].when", "is missing");
  expect_error(R"({"variants": [{"when": {}, "env": {"NCCL_IB_SL": "1"}}]})", "spec.variants[0].when",
               "belongs into spec.env");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}}]})", "spec.variants[0].env", "is missing");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {}}]})", "spec.variants[0].env");
  expect_error(R"({"variants": [{"when": {"linkLayer": "Any"}, "env": {"NCCL_IB_SL": "1"}}]})",
               "spec.variants[0].when.linkLayer", "one of Ethernet, InfiniBand");
  expect_error(R"({"variants": [{"when": {"boards": []}, "env": {"NCCL_IB_SL": "1"}}]})",
               "spec.variants[0].when.boards", "no node meets it");
  expect_error(R"({"variants": [{"when": {"nodes": {}}, "env": {"NCCL_IB_SL": "1"}}]})",
               "spec.variants[0].when.nodes", "unknown field");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"NCCL_IB_HCA": "=a"}}]})",
               "spec.variants[0].env.NCCL_IB_HCA", "set spec.hca instead");
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"NCCL_IB_RETRY_CNT": "10"}}]})",
               "spec.variants[0].env.NCCL_IB_RETRY_CNT", "three bits");
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

  const auto refused = [](const char* labels, const char* at, const char* part) {
    const std::string text = R"({"variants": [{"when": {"nodeLabels": )" + std::string(labels) +
                             R"(}, "env": {"NCCL_IB_SL": "1"}}]})";
    expect_error(text.c_str(), (std::string("spec.variants[0].when.nodeLabels") + at).c_str(), part);
  };
  refused("{}", "", "asks for nothing");
  refused(R"(["a"])", "", "expected an object");
  refused(R"({"a": ""})", ".a", "is empty");
  refused(R"({"a": 1})", ".a", "quote it: \"1\"");
  refused(R"({"a": ["b"]})", ".a", "expected a string");
  refused(R"({"a": "b c"})", ".a", "a blank");
  refused(R"({"a": "[b"})", ".a", "");
  refused(R"({"a-": "b"})", "[\"a-\"]", "is not a label's key");
  refused(R"({"A.io/b": "b"})", "[\"A.io/b\"]", "is not a label's key");
  json many = json::object();
  for (int i = 0; i < 17; ++i) many["k" + std::to_string(i)] = "v";
  refused(many.dump().c_str(), "", "at most 16");
}

// A container reads "" where its node has no value.
TEST(PolicyVariants, TakeByReferenceOnlyWhatMayBeEmpty) {
  const char* variant = R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"UCX_TLS": "rc"}}])";
  expect_error((std::string(variant) + "}").c_str(), "spec.variants[0].env.UCX_TLS", "delivery: [File]");
  expect_error((std::string(variant) + R"(, "delivery": ["Env", "File"]})").c_str(),
               "spec.variants[0].env.UCX_TLS", "not the same as unset");
  expect_clean((std::string(variant) + R"(, "delivery": ["File"]})").c_str());
  expect_error(R"({"variants": [{"when": {"minRateGbps": 1}, "env": {"UCX_TLS": "rc "}}],
                  "delivery": ["File"]})",
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
  EXPECT_THAT(read_policy(object_of(9, 1), {}).findings, ElementsAre(error("spec.variants", "at most 8")));
  EXPECT_THAT(read_policy(object_of(1, 17), {}).findings,
              ElementsAre(error("spec.variants[0].env", "at most 16")));
}

}  // namespace
}  // namespace nccl_env::variants_test
