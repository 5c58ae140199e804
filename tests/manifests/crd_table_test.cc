// SPDX-License-Identifier: Apache-2.0
// The CRD NodeFabric and its reader say the same: a field, a word or a bound of the one is in the other.
#include <gmock/gmock.h>

#include <boost/pfr/tuple_size.hpp>
#include <filesystem>
#include <fstream>

#include "manifests/crd.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/listing/import.h"
#include "support/places.h"

namespace nccl_env::crd_table_test {
namespace {

namespace fs = std::filesystem;
using namespace nccl_env::tests;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// Every field that there is.
Json full_table() {
  return Json::parse(
      R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "n"},
    "observed": {"time": "2026-11-20T08:00:00Z", "bootId": "b", "agentVersion": "0.1.0",
      "rdmaNamespaceMode": "shared", "nodeInterface": "bond0",
      "nodeLabels": [{"key": "topology.kubernetes.io/zone", "value": "b"}],
      "ports": [{"hca": "mlx5_1", "port": 1, "linkLayer": "Ethernet", "transport": "RoCE", "state": "Active",
        "stateSince": "2026-11-20T07:00:00Z", "rateGbps": 200, "maxRateGbps": 400, "activeMtu": 4096, "driver": "mlx5_core",
        "pciAddress": "0000:53:00.0", "pfPciAddress": "", "lag": "", "netdev": "eth1", "numaNode": 0,
        "boardId": "MT_0000000223", "sysImageGuid": "b83f:d203:00b4:f5a2", "gidTableLength": 256,
        "gidIndexChanges": 2,
        "gidRows": ["3 RoCEv2 25.11.128.2 dev eth1 since 2026-11-20T07:00:00Z"],
        "pkeys": [{"index": 1, "key": "0x8001"}]}],
      "interfaces": [{"name": "eth1", "addresses": ["25.11.128.2/27"], "mtu": 4200, "up": true, "master": ""}]}})");
}

// The same with the rows in their older form, which no port has beside the other.
Json older_table() {
  Json object = full_table();
  Json& port = object["observed"]["ports"][0];
  port.erase("gidRows");
  port["gids"] = Json::parse(
      R"([{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:190b:8002", "type": "RoCEv2",
           "address": "25.11.128.2", "netdev": "eth1", "indexSince": "2026-11-20T07:00:00Z"}])");
  return object;
}

Json table_with(const std::string& path) {
  return path.find("gids") == path.npos ? full_table() : older_table();
}

std::string table_error(const Json& object) {
  const auto table = parse_node_fabric(object);
  return table.ok() ? "" : table.error().message;
}

TEST(TableSchema, HasTheReadersFields) {
  const Json observed = crd_schema("nodefabrics")["properties"]["observed"]["properties"];
  const Json port = observed["ports"]["items"]["properties"];
  // One member each; NodeFabric has its name, which is metadata, and no summary.
  EXPECT_EQ(observed.size(), boost::pfr::tuple_size_v<NodeFabric> - 1 + 1);
  EXPECT_EQ(port.size(), boost::pfr::tuple_size_v<Port> + 1);  // rows in two forms
  EXPECT_EQ(observed["nodeLabels"]["items"]["properties"].size(), boost::pfr::tuple_size_v<NodeLabel>);
  EXPECT_EQ(observed["nodeLabels"]["maxItems"], kMaxNodeLabels);
  EXPECT_EQ(port["gids"]["items"]["properties"].size(), boost::pfr::tuple_size_v<GidRow>);
  EXPECT_EQ(observed["interfaces"]["items"]["properties"].size(), boost::pfr::tuple_size_v<Interface>);

  ASSERT_EQ(table_error(full_table()), "");
  for (const Leaf& leaf : leaves(crd_schema("nodefabrics"))) {
    if (!leaf.path.starts_with("observed.") || leaf.path.starts_with("observed.summary")) continue;
    EXPECT_TRUE(table_with(leaf.path).contains(leaf.at)) << leaf.path;
    const Json wrong = Json::object({{"no", "such type"}});
    EXPECT_THAT(table_error(put(table_with(leaf.path), leaf.at, wrong)), HasSubstr(leaf.path))
        << "is not read";
  }
}

TEST(TableSchema, HasTheReadersWords) {
  int compared = 0;
  for (const Leaf& leaf : leaves(crd_schema("nodefabrics"))) {
    if (!leaf.schema.contains("enum")) continue;
    const std::string message = table_error(put(table_with(leaf.path), leaf.at, kNoWord));
    EXPECT_EQ(words_after(message, "is none of "), leaf.schema["enum"].get<Words>()) << leaf.path;
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

TEST(TableSchema, HasTheReadersLimits) {
  for (const Leaf& leaf : leaves(crd_schema("nodefabrics"))) {
    if (leaf.path.starts_with("observed.summary")) continue;
    for (const auto& [bound, beyond] : {std::pair("minimum", -1), std::pair("maximum", 1)}) {
      if (!leaf.schema.contains(bound)) continue;
      const int limit = leaf.schema[bound];
      const auto read = [&](int value) {
        Json object = table_with(leaf.path);
        // The one bound that depends on another field.
        if (leaf.path.ends_with(".index")) object["observed"]["ports"][0].erase("gidTableLength");
        if (leaf.path.ends_with(".gidTableLength")) object["observed"]["ports"][0]["gidRows"] = Json::array();
        return table_error(put(object, leaf.at, value));
      };
      EXPECT_EQ(read(limit), "") << leaf.path;
      EXPECT_THAT(read(limit + beyond), HasSubstr(leaf.path)) << bound;
    }
  }
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
  EXPECT_THAT(violations(schema, full_table()), IsEmpty());
  EXPECT_THAT(violations(schema, older_table()), IsEmpty());
  int files = 0;
  for (const auto& entry : fs::directory_iterator(tests::in_source("/tests/data/tables"))) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto outcome =
        import_listings({{entry.path().filename().string(), text}}, {.node = "n", .node_interface = {}});
    if (!outcome.report) continue;  // the mangled one
    EXPECT_THAT(violations(schema, Json(to_json(outcome.report->table))), IsEmpty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 11);
}

}  // namespace
}  // namespace nccl_env::crd_table_test
