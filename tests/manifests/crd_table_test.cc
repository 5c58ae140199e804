// SPDX-License-Identifier: Apache-2.0
// The CRD NodeFabric is what its description says, and its patterns and the parsers agree.
#include <filesystem>
#include <fstream>

#include "generate/example_table.h"
#include "generate/outputs.h"
#include "manifests/crd.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/listing/import.h"
#include "support/matchers.h"
#include "support/places.h"

namespace nccl_env::crd_table_test {
namespace {

namespace fs = std::filesystem;
using namespace nccl_env::tests;
using generate::example_table;
using Json = nlohmann::json;

Json table_with(const std::string& path) {
  return example_table(path.find("gids") == path.npos ? RowsForm::Texts : RowsForm::Objects);
}

std::string table_error(const Json& object) {
  const auto table = parse_node_fabric(object);
  return table.ok() ? "" : table.error().message;
}

TEST(TableSchema, IsTheDescriptions) {
  Json observed = crd_schema("nodefabrics")["properties"]["observed"];
  const Json described = generate::table_schema();
  observed["properties"].erase("summary");
  EXPECT_EQ(observed["properties"], described["properties"]) << "run make generate";
  EXPECT_EQ(observed["required"], described["required"]);
}

TEST(TableSchema, RefusesWhatTheReaderRefuses) {
  const Json schema = crd_schema("nodefabrics");
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"/observed/ports/0/hca", "mlx5_1,mlx5_2"},
      {"/observed/ports/0/hca", ""},
      {"/observed/ports/0/hca", "_mlx5"},
      {"/observed/ports/0/driver", "a\nb"},
      {"/observed/ports/0/netdev", "eth=1"},
      {"/observed/ports/0/netdev", "a-name-of-16-byt"},
      {"/observed/ports/0/pciAddress", "53:00.0"},
      {"/observed/ports/0/sysImageGuid", "b83f:d203:00b4"},
      {"/observed/ports/0/losslessPriorities", "3,4"},
      {"/observed/ports/0/losslessPriorities", "012345670"},
      {"/observed/ports/0/dscpPriorities", "-3"},
      {"/observed/ports/0/gidRows/0", ""},
      {"/observed/ports/0/gidRows/0", "3"},
      {"/observed/ports/0/gidRows/0", "RoCEv2 25.11.128.2"},
      {"/observed/ports/0/gidRows/0", "3 RoCEv3 25.11.128.2"},
      {"/observed/ports/0/gidRows/0", "3 25.11.128.2 eth1"},
      {"/observed/ports/0/gidRows/0", "3 25.11.128.2 dev"},
      {"/observed/ports/0/gidRows/0", "3 25.11.128.2 dev a=b"},
      {"/observed/ports/0/gidRows/0", "3  25.11.128.2"},
      {"/observed/ports/0/gidRows/0", "3 25.11.128.2 "},
      {"/observed/ports/0/gidRows/0", "3 25.11.128.2 since yesterday"},
      {"/observed/ports/0/gids/0/gid", "not a gid"},
      {"/observed/ports/0/gids/0/address", "host"},
      {"/observed/ports/0/pkeys/0/key", "8001"},
      {"/observed/interfaces/0/name", "et h1"},
      {"/observed/interfaces/0/master", "br/0"},
      {"/observed/nodeInterface", ""},
      {"/observed/nodeLabels/0/key", ""},
      {"/observed/nodeLabels/0/key", "Zone.io/zone"},
      {"/observed/nodeLabels/0/key", "a/b/c"},
      {"/observed/nodeLabels/0/key", "zone-"},
      {"/observed/nodeLabels/0/value", "a b"},
      {"/observed/nodeLabels/0/value", "_a"},
      {"/observed/bootId", "\x7f"}};
  for (const auto& [at, text] : cases) {
    const Json object = put(table_with(at), Json::json_pointer(at), text);
    EXPECT_NE(table_error(object), "") << at << " " << text;
    EXPECT_FALSE(violations(schema, object).empty()) << at << " " << text;
  }
}

TEST(TableSchema, TakesWhatTheReaderTakes) {
  const Json schema = crd_schema("nodefabrics");
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"/observed/ports/0/hca", "rocep1s0f1.2-x"},
      {"/observed/ports/0/netdev", "a~b.100@if2"},
      {"/observed/ports/0/pciAddress", "10000:E1:1F.7"},
      {"/observed/ports/0/pfPciAddress", "0000:53:00.0"},
      {"/observed/ports/0/lag", "bond0"},
      {"/observed/ports/0/sysImageGuid", "B83F:D203:00B4:F5A2"},
      {"/observed/ports/0/losslessPriorities", "0"},
      {"/observed/ports/0/gidRows/0", "255 ::"},
      {"/observed/ports/0/gidRows/0", "0 IB gid fe80:0000:0000:0000:5aa2:e1ff:fe11:2233"},
      {"/observed/ports/0/gidRows/0",
       "255 RoCEv2 gid ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255 dev a~b.100@if2-abc since "
       "2026-11-20T07:00:00+23:59"},
      {"/observed/ports/0/gids/0/gid", "::ffff:25.11.128.2"},
      {"/observed/ports/0/gids/0/gid", "::FFFF:190B:8002"},
      {"/observed/interfaces/0/addresses/0", "FE80::1/64"},
      {"/observed/nodeLabels/0/key", "Zone_1.a"},
      {"/observed/nodeLabels/0/value", ""},
      {"/observed/nodeLabels/0/value", "NVIDIA-H100-80GB-HBM3"},
      {"/observed/bootId", " ~"}};
  for (const auto& [at, text] : cases) {
    const Json object = put(table_with(at), Json::json_pointer(at), text);
    EXPECT_EQ(table_error(object), "");
    EXPECT_THAT(violations(schema, object), IsEmpty()) << at;
  }
}

TEST(TableSchema, TakesEveryImportedListing) {
  const Json schema = crd_schema("nodefabrics");
  EXPECT_THAT(violations(schema, example_table()), IsEmpty());
  EXPECT_THAT(violations(schema, example_table(RowsForm::Objects)), IsEmpty());
  int files = 0;
  for (const auto& entry : fs::directory_iterator(tests::in_source("/tests/data/tables"))) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto outcome =
        import_listing({entry.path().filename().string(), text}, {.node = "n", .node_interface = {}});
    if (!outcome.report) continue;  // the mangled one
    EXPECT_THAT(violations(schema, Json(to_json(outcome.report->table))), IsEmpty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 9);
}

}  // namespace
}  // namespace nccl_env::crd_table_test
