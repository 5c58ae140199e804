// SPDX-License-Identifier: Apache-2.0
// The CRD NcclPolicy is what its description says, and its patterns and the reader agree.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generate/outputs.h"
#include "manifests/crd.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/policy/writer.h"
#include "support/matchers.h"
#include "support/places.h"

namespace nccl_env::crd_policy_test {
namespace {

namespace fs = std::filesystem;
using namespace nccl_env::tests;
using Json = nlohmann::json;

Json minimal_policy() {
  return Json::parse(
      R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NcclPolicy", "metadata": {"name": "p"},
                         "spec": {"match": {"resources": [{"name": "rdma/hca"}]}}})");
}

TEST(PolicySchema, IsTheDescriptions) {
  const Json spec = crd_schema("ncclpolicies")["properties"]["spec"];
  const Json described = generate::spec_schema();
  EXPECT_EQ(spec["properties"], described["properties"]) << "run make generate";
  EXPECT_EQ(spec["required"], described["required"]);
}

TEST(PolicySchema, HasTheWordsOfGidIndexDeliveryAndVersions) {
  const Json spec = crd_schema("ncclpolicies")["properties"]["spec"];
  for (const Json& value : Json::parse(R"(["Auto", "PinIfUniform", "Dynamic", "Omit", "0", "9", "10", "99",
       "100", "199", "249", "255", "256", "300", "00", "007", "-1", "omit", "", 0, 255, 256, -1, 1.5, true])")) {
    const bool read =
        read_policy(put(minimal_policy(), "/spec/gidIndex"_json_pointer, value), {}).policy.has_value();
    EXPECT_EQ(violations(spec["properties"]["gidIndex"], value).empty(), read) << value;
  }
  for (const Json& value :
       Json::parse(R"(["2.18", "2.21.5", "2.32.3", "2.100.100", "2.17", "2.021", "2.21.05",
       "2.1000", "3.0", "2", "v2.21.5", "2.21.5-1", "", 2.21])")) {
    const Json policy =
        put(minimal_policy(), "/spec/nccl"_json_pointer, Json::object({{"minVersion", value}}));
    EXPECT_EQ(violations(spec["properties"]["nccl"]["properties"]["minVersion"], value).empty(),
              read_policy(policy, {}).policy.has_value())
        << value;
  }
  for (
      const Json& value : Json::parse(
          R"([["File"], ["EnvFile"], ["EnvFile", "File"], ["Reference"], [], ["env"], ["File", 1], "File"])")) {
    const bool read =
        read_policy(put(minimal_policy(), "/spec/delivery"_json_pointer, value), {}).policy.has_value();
    EXPECT_EQ(violations(spec["properties"]["delivery"], value).empty(), read) << value;
  }
}

TEST(PolicySchema, HasTheReadersDefaults) {
  const Json schema = crd_schema("ncclpolicies");
  for (Json object :
       {minimal_policy(), put(minimal_policy(), "/spec/fabric/hcas"_json_pointer, {"mlx5_*"})}) {
    const auto plain = parse_policy(object, {});
    const auto filled = parse_policy(with_defaults(schema, object), {});
    ASSERT_TRUE(plain.ok() && filled.ok());
    EXPECT_EQ(to_json(*plain), to_json(*filled));
  }
}

// A variable that joins the catalogue as equal on all ranks has to join the rule as well.
TEST(PolicySchema, ForbidsEditsOfWhatAllRanksShare) {
  Words equal;
  for (const Variable& variable : nccl_variables()) {
    if (variable.ranks == Ranks::Equal) equal.insert(std::string(variable.name));
  }
  const Json rules = crd_schema("ncclpolicies").at("/properties/spec/x-kubernetes-validations"_json_pointer);
  for (const char* part : {"/0/rule", "/0/messageExpression", "/1/rule"}) {
    const std::string text = rules.at(Json::json_pointer(part));
    std::istringstream names(text.substr(0, text.find(']')));
    Words listed;
    for (std::string skipped, name; std::getline(names, skipped, '\'') && std::getline(names, name, '\'');) {
      EXPECT_TRUE(listed.insert(name).second) << name << " stands twice";
    }
    EXPECT_EQ(listed, equal) << part;
  }
}

TEST(PolicySchema, TakesEveryShippedPolicy) {
  const Json schema = crd_schema("ncclpolicies");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(tests::in_source("/policies"))) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto documents = parse_documents(text, entry.path().string());
    ASSERT_TRUE(documents.ok()) << documents.error().message;
    for (const Json& object : *documents) EXPECT_THAT(violations(schema, object), IsEmpty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 6);
}

// Written out by the programs, it fits as well: `nccl-env policy check` and the schema agree on each form.
TEST(PolicySchema, TakesWhatToJsonWrites) {
  const auto policy = parse_policy(minimal_policy(), {});
  ASSERT_TRUE(policy.ok());
  EXPECT_THAT(violations(crd_schema("ncclpolicies"), to_json(*policy)), IsEmpty());
}

}  // namespace
}  // namespace nccl_env::crd_policy_test
