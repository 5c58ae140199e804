// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/node_table.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "generate/example_table.h"
#include "nccl_env/core/fabric/interface_index.h"
#include "support/golden.h"

namespace nccl_env::node_table_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using tests::expect_golden;

// Some values that say more than the kinds' examples.
json full_table(RowsForm form = RowsForm::Texts) {
  json object = generate::example_table(form);
  object["observed"]["nodeInterface"] = "bond0";
  json& port = object["observed"]["ports"][0];
  port["transport"] = "RoCE";
  port["pfPciAddress"] = "";
  if (form == RowsForm::Texts)
    port["gidRows"][0] = "3 RoCEv2 25.11.128.2 dev eth1 since 2026-11-20T08:00:00Z";
  if (form == RowsForm::Objects) port["gids"][0]["type"] = "RoCEv2";
  return object;
}

json older_table() {
  return full_table(RowsForm::Objects);
}

json minimal_table() {
  return json::parse(R"({"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric",
                         "metadata": {"name": "n"}, "observed": {"ports": []}})");
}

// The message for the full table, in the form that has the field, with `value` at the JSON pointer; "" if it
// is accepted.
std::string message_with(const std::string& pointer, const json& value) {
  json object = pointer.find("gids") == pointer.npos ? full_table() : older_table();
  object[json::json_pointer(pointer)] = value;
  const auto table = parse_node_fabric(object);
  return table ? "" : table.error().message;
}

// Each value is refused at the pointer's field; the golden holds why.
void refuses(const std::string& pointer, const std::vector<json>& values) {
  for (const json& value : values) {
    const std::string message = message_with(pointer, value);
    EXPECT_NE(message, "") << pointer << " " << value;
    expect_golden(pointer + " = " + value.dump(-1, ' ', true), message);
  }
}
void accepts(const std::string& pointer, const std::vector<json>& values) {
  for (const json& value : values) EXPECT_EQ(message_with(pointer, value), "") << pointer << " " << value;
}

json list_of(int count, const std::function<json(const std::string&)>& item) {
  json made = json::array();
  for (int at = 0; at < count; ++at) made.push_back(item(std::to_string(at)));
  return made;
}

// A node's clock may be wrong, and other writers of the object have not looked at the node.
TEST(NodeFabric, IsAsOldAsItsAgentsNewestWriteByTheServersClock) {
  const auto entry = [](const json& manager, const json& time) {
    return json{{"manager", manager}, {"operation", "Apply"}, {"time", time}};
  };
  const auto dated = [](const json& fields) {
    json object = full_table();
    object["metadata"]["managedFields"] = fields;
    const auto table = parse_node_fabric(object);
    return table.ok() ? format_timestamp(*table->dated()) : table.error().message;
  };
  const json agents = entry("nccl-env-agent", "2026-11-20T11:00:00Z"),
             older = entry("nccl-env-agent", "2026-11-20T10:00:00Z"),
             others = entry("kubectl", "2026-11-20T12:00:00Z");
  EXPECT_EQ(dated({older, agents, others}), "2026-11-20T11:00:00Z");
  EXPECT_EQ(dated({agents, older}), "2026-11-20T11:00:00Z");
  const json own = {json::array(),
                    {others},
                    {entry("nccl-env-agent", "noon")},
                    {entry("nccl-env-agent", 5)},
                    {entry(1, "2026-11-20T12:00:00Z"), 5, "text"},
                    "text",
                    json::object(),
                    nullptr};
  for (const json& fields : own) EXPECT_EQ(dated(fields), "2026-11-20T08:00:00Z") << fields;
}

TEST(NodeFabric, ReadsEveryField) {
  const auto table = parse_node_fabric(full_table());
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->name, "gpu-node-1");
  EXPECT_EQ(format_timestamp(*table->time), "2026-11-20T08:00:00Z");
  EXPECT_EQ(table->rdma_namespace_mode, RdmaNamespaceMode::Shared);
  EXPECT_EQ(table->node_interface, "bond0");
  EXPECT_EQ(table->node_labels, (std::vector<NodeLabel>{{"topology.kubernetes.io/zone", "b"}}));
  const Port& port = table->ports.at(0);
  EXPECT_EQ(port.hca, "mlx5_1");
  EXPECT_EQ(port.link_layer, LinkLayer::Ethernet);
  EXPECT_EQ(port.transport, Transport::RoCE);
  EXPECT_EQ(port.state, PortState::Active);
  EXPECT_EQ(port.rate_gbps, 200);
  EXPECT_EQ(port.pf_pci_address, "");
  EXPECT_EQ(port.netdev, "eth1");
  const GidRow& row = port.gids->at(0);
  EXPECT_EQ(row.index, 3);
  EXPECT_EQ(row.type, GidType::RoCEv2);
  EXPECT_EQ(format_ip(*row.address), "25.11.128.2");
  const InterfaceIndex interfaces(*table);
  const Interface* interface = interfaces.find("eth1");
  ASSERT_NE(interface, nullptr);
  EXPECT_EQ(interface->addresses->at(0).prefix, 27);
  EXPECT_EQ(interface->up, true);
  EXPECT_EQ(interfaces.find("eth2"), nullptr);
}

TEST(NodeFabric, WritesWhatItReadAndInTheDocumentedOrder) {
  EXPECT_EQ(json(to_json(*parse_node_fabric(full_table()))), full_table());
  EXPECT_EQ(json(to_json(*parse_node_fabric(minimal_table()))), minimal_table());
  const std::string text = to_json(*parse_node_fabric(full_table())).dump();
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("hca":"mlx5_1","port":1,"unavailable":"NoVerbs","linkLayer":"Ethernet","transport":"RoCE")"));
  EXPECT_THAT(text, HasSubstr(R"("rateGbps":200,)"));
}

TEST(NodeFabric, AbsentStaysUnknown) {
  const auto table = parse_node_fabric(json::parse(R"({
    "apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "n"},
    "observed": {"ports": [{"hca": "mlx5_0", "port": 1, "lag": null},
                           {"hca": "mlx5_1", "port": 1, "gidRows": []}]}})"));
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_FALSE(table->time || table->interfaces || table->node_interface);
  EXPECT_FALSE(table->ports[0].gids || table->ports[0].lag || table->ports[0].rate_gbps);
  ASSERT_TRUE(table->ports[1].gids) << "an empty list of rows is not an unknown one";
  EXPECT_TRUE(table->ports[1].gids->empty());
  EXPECT_EQ(to_json(*table)["observed"]["ports"][1].dump(), R"({"hca":"mlx5_1","port":1,"gidRows":[]})");
}

TEST(NodeFabric, RowsInTheirOlderFormAreReadAndWrittenToo) {
  const auto table = parse_node_fabric(older_table());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(json(to_json(*table)), full_table());
  EXPECT_EQ(json(to_json(*table, RowsForm::Objects)), older_table());
  EXPECT_TRUE(has_row_objects(older_table()));
  for (const json& other :
       {full_table(), minimal_table(), json(), json(7), json::parse(R"({"observed": [1]})")})
    EXPECT_FALSE(has_row_objects(other)) << other;
}

TEST(NodeFabric, APortHasItsRowsInOneForm) {
  json object = older_table();
  json& port = object["/observed/ports/0"_json_pointer];
  port["gidRows"] = json::array();
  expect_golden("gids beside gidRows", parse_node_fabric(object).error().message);
  port["gids"] = nullptr;
  EXPECT_TRUE(parse_node_fabric(object));
  object = older_table();
  object["/observed/ports/1"_json_pointer] = {{"hca", "mlx5_2"}, {"port", 1}, {"gidRows", json::array()}};
  EXPECT_TRUE(parse_node_fabric(object)) << "ports may differ";
}

TEST(NodeFabric, IgnoresUnknownFieldsAndTheSummary) {
  json object = full_table();
  object["/observed/summary"_json_pointer] = "whatever";
  for (int i = 0; i < 200; ++i)
    object["/observed/ports/0"_json_pointer]["colour" + std::to_string(i)] = {1, 2};
  object["status"] = 7;
  const auto table = parse_node_fabric(object);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(json(to_json(*table)), full_table());
}

TEST(NodeFabric, NamesEveryRefusedFieldByItsPath) {
  json object = older_table();
  object["/observed/ports/0/gids/0/gid"_json_pointer] = "zz";
  object["/observed/time"_json_pointer] = "yesterday";
  object["/observed/interfaces/0/mtu"_json_pointer] = -1;
  object["metadata"]["name"] = "Node_1";
  object.erase("kind");
  const auto table = parse_node_fabric(object);
  ASSERT_FALSE(table.ok());
  expect_golden(table.error().message);
}

TEST(NodeFabric, CountsTheRefusalsAfterTwenty) {
  json object = minimal_table();
  for (int port = 0; port < 30; ++port) object["observed"]["ports"].push_back({{"hca", "a b"}, {"port", 1}});
  expect_golden("30 refusals", parse_node_fabric(object).error().message);
}

TEST(NodeFabric, RefusesOtherShapes) {
  for (const char* text : {"null", "[]", "7", "{}", R"({"observed":[]})", R"({"metadata":1,"observed":2})"})
    expect_golden(text, parse_node_fabric(json::parse(text)).error().message);
  refuses("/apiVersion", {"v1"});
  refuses("/kind", {"Node"});
  refuses("/observed", {nullptr});
  refuses("/observed/ports", {nullptr, json::object()});
  refuses("/observed/ports/0", {7});
  refuses("/observed/ports/0/port", {nullptr});
}

TEST(NodeFabric, RefusesNamesThatWouldChangeAList) {
  refuses("/observed/ports/0/hca", {"", "mlx5_0,mlx5_1", "mlx5_0:1", "^mlx5_0", "=mlx5_0", "mlx5 0", "mlx5\n",
                                    "../x", "_x", "\xc3\xa4", std::string(64, 'a')});
  accepts("/observed/ports/0/hca", {std::string(63, 'a')});
  refuses("/observed/interfaces/0/name",
          {"eth1,eth2", "eth1:0", "^eth1", "=eth1", "eth 1", "a/b", ".", "..", "sixteenbyteslong", "e\t"});
  accepts("/observed/interfaces/0/name", {"bond0.2973", "enp53s0f0np0", "br-ex", "fifteen-bytes15"});
  for (const char* interface :
       {"/observed/nodeInterface", "/observed/ports/0/lag", "/observed/ports/0/gids/0/netdev"})
    refuses(interface, {"eth1,eth2", "sixteenbyteslong"});
}

TEST(NodeFabric, NodeNamesAreDnsSubdomains) {
  accepts("/metadata/name", {"gpu-node-1", "10.0.0.1", "a.b-c.d"});
  refuses("/metadata/name",
          {"", "-a", "a-", "a..b", ".a", "a.", "a.-b", "a-.b", "A", "a_b", std::string(254, 'a')});
}

TEST(NodeFabric, ValuesAreInRangeListedAndOfOneForm) {
  refuses("/observed/ports/0/port", {0, 256, -1, 1.0, "1", 1ULL << 63, true});
  accepts("/observed/ports/0/port", {255});
  refuses("/observed/ports/0/numaNode", {-1});
  refuses("/observed/ports/0/rateGbps", {-1, 1e300, "200"});
  accepts("/observed/ports/0/rateGbps", {2.5});
  refuses("/observed/ports/0/maxRateGbps", {1e300});
  refuses("/observed/ports/0/gids/0/index", {65536});
  refuses("/observed/interfaces/0/mtu", {1LL << 31});
  // Words count case.
  refuses("/observed/ports/0/linkLayer", {"ethernet"});
  refuses("/observed/ports/0/transport", {"roce"});
  refuses("/observed/ports/0/state", {"PORT_ACTIVE"});
  refuses("/observed/ports/0/gids/0/type", {"RoCE v2"});
  refuses("/observed/rdmaNamespaceMode", {""});
  refuses("/observed/ports/0/pciAddress", {"0000:53:00", "53:00.0", "0000:53:20.0", "0000:53:00.8",
                                           "0000-53-00.0", "0000:5g:00.0", "0000:53:00.0 ", ""});
  accepts("/observed/ports/0/pfPciAddress", {""});
  accepts("/observed/ports/0/pciAddress", {"10000:e1:1f.7"});
  json object = full_table();
  object["/observed/ports/0/pciAddress"_json_pointer] = "0000:AF:00.0";
  EXPECT_EQ(parse_node_fabric(object)->ports[0].pci_address, "0000:af:00.0");
  refuses("/observed/ports/0/trafficClass", {256});
  refuses("/observed/ports/0/sysImageGuid",
          {"", "b83fd20300b4f5a2", "0xb83fd20300b4f5a2", "b83f:d203:00b4:f5ag"});
}

TEST(NodeFabric, RowsAreRefusedByTheirPlace) {
  refuses("/observed/ports/0/gids/0/address", {"25.11.128.3"});  // contradicts its GID
  refuses("/observed/ports/0/gids/0/gid", {"fe80::1"});
  refuses("/observed/ports/0/gidRows", {json::array({"3 RoCEv2 25.11.128.2", "4 RoCEv2 25.11.128", 5}),
                                        json::array({"5 25.11.128.2", "0 fe80::1", "5 25.11.128.2"}),
                                        json::array({"256 25.11.128.2"}), "3 25.11.128.2"});
}

TEST(NodeFabric, RowsAreSortedAndIndicesUnique) {
  json object = older_table();
  json& rows = object["/observed/ports/0/gids"_json_pointer];
  rows.push_back({{"index", 1}, {"gid", "fe80::1"}});
  const auto table = parse_node_fabric(object);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->ports[0].gids->at(0).index, 1);
  EXPECT_EQ(table->ports[0].gids->at(1).index, 3);
  rows.push_back({{"index", 3}, {"gid", "fe80::2"}});
  expect_golden(rows.dump(), parse_node_fabric(object).error().message);
  refuses("/observed/ports/0/gidTableLength", {3});
}

TEST(NodeFabric, PortsAndInterfacesAreUnique) {
  json object = full_table();
  json& ports = object["observed"]["ports"];
  ports.push_back(ports[0]);
  ports[1]["port"] = 2;
  EXPECT_TRUE(parse_node_fabric(object).ok());
  ports[1]["port"] = 1;
  expect_golden("a second mlx5_1 port 1", parse_node_fabric(object).error().message);
  object = full_table();
  object["observed"]["interfaces"].push_back({{"name", "eth1"}});
  expect_golden("a second eth1", parse_node_fabric(object).error().message);
}

TEST(NodeFabric, LabelsAreThoseOfKubernetes) {
  const std::string name(63, 'a');
  std::string domain = "a";
  for (int i = 0; i < 126; ++i) domain += ".a";
  accepts("/observed/nodeLabels/0/key", {name, domain + "/" + name, "a.b/C_d.e-F", "0"});
  refuses("/observed/nodeLabels/0/key",
          {"", name + "a", domain + "a/a", "/a", "a/", "A/a", "a/b/c", "-a", "a "});
  accepts("/observed/nodeLabels/0/value", {"", name, "A_b.c-9"});
  refuses("/observed/nodeLabels/0/value", {name + "a", "a.", "a/b", " "});
  const auto label = [](const std::string& at) { return json::object({{"key", "k" + at}}); };
  refuses("/observed/nodeLabels", {list_of(17, label)});
  accepts("/observed/nodeLabels", {list_of(16, label), json::array()});
  refuses("/observed/nodeLabels", {json::parse(R"([{"key": "k1"}, {"key": "k1"}])"), json::parse("[{}]")});
}

json rows(int count) {
  return list_of(count, [](const std::string& at) {
    return json{{"index", std::stoi(at)}, {"gid", "fe80::1"}};
  });
}

json row_texts(int count) {
  return list_of(count, [](const std::string& at) { return at + " gid fe80::1"; });
}

TEST(NodeFabric, ListsAreBounded) {
  const auto port = [](const std::string& at) { return json{{"hca", "a" + at}, {"port", 1}}; };
  expect_golden("257 ports", message_with("/observed/ports", list_of(257, port)));
  accepts("/observed/ports", {list_of(256, port)});
  const auto interface = [](const std::string& at) { return json{{"name", "eth" + at}}; };
  expect_golden("1025 interfaces", message_with("/observed/interfaces", list_of(1025, interface)));
  accepts("/observed/interfaces", {list_of(1024, interface)});
}

TEST(NodeFabric, RowsAreBoundedOverAllPorts) {
  json object = minimal_table();
  json& ports = object["observed"]["ports"];
  ports = json::array({json{{"hca", "a"}, {"port", 1}, {"gids", rows(4096)}}});
  EXPECT_TRUE(parse_node_fabric(object).ok());
  ports[0]["gids"] = rows(4097);
  expect_golden("4097 rows of one port", parse_node_fabric(object).error().message);
  ports = list_of(256, [](const std::string& at) {
    return json{{"hca", "a" + at}, {"port", 1}, {"gidRows", row_texts(16)}};
  });
  ports[0] = {{"hca", "a0"}, {"port", 1}, {"gids", rows(16)}};
  EXPECT_TRUE(parse_node_fabric(object).ok());
  ports[255]["gidRows"] = row_texts(17);
  expect_golden("4097 rows of 256 ports", parse_node_fabric(object).error().message);
}

// A table with random fields absent and random values, as the reader must accept it.
json random_table(std::mt19937& random, RowsForm form) {
  json object = full_table();
  json& observed = object["observed"];
  json port = observed["ports"][0];
  observed["ports"] = json::array();
  for (unsigned at = 0, count = random() % 5; at < count; ++at) {
    json next = port;
    next["hca"] = "hca-" + std::to_string(at);
    next["rateGbps"] = static_cast<double>(random() % 4000) / 10;
    const bool texts = form == RowsForm::Texts;
    next.erase("gidRows");
    json& rows = next[texts ? "gidRows" : "gids"] = json::array();
    for (int index = 0; index < 40; index += 1 + static_cast<int>(random() % 30)) {
      Gid gid;
      for (auto& byte : gid.bytes) byte = static_cast<std::uint8_t>(random());
      const std::string address = format_ip(gid.address());
      rows.push_back(texts ? json(std::to_string(index) + " " + address)
                           : json{{"index", index}, {"gid", format_gid(gid)}, {"address", address}});
    }
    for (auto field = next.begin(); field != next.end();) {
      const bool required = field.key() == "hca" || field.key() == "port";
      field = !required && random() % 3 == 0 ? next.erase(field) : std::next(field);
    }
    observed["ports"].push_back(next);
  }
  for (const char* field : {"time", "bootId", "nodeInterface", "interfaces", "rdmaNamespaceMode"}) {
    if (random() % 2 == 0) observed.erase(field);
  }
  return object;
}

TEST(NodeFabric, AnyAcceptedTableIsWrittenAsItWasRead) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const RowsForm form = round % 2 == 0 ? RowsForm::Texts : RowsForm::Objects;
    const json object = random_table(random, form);
    const auto table = parse_node_fabric(object);
    ASSERT_TRUE(table.ok()) << table.error().message;
    ASSERT_EQ(json(to_json(*table, form)), object);
  }
}

TEST(NodeFabric, AnyDamageIsRefusedOrRead) {
  std::mt19937 random(8);
  const json values[] = {nullptr,        0,         -1, 1e300, "", "x", true, json::array({nullptr}),
                         json::object(), 1ULL << 63};
  for (int round = 0; round < 600; ++round) {
    json damaged = round % 2 == 0 ? full_table() : older_table();
    const json flat = damaged.flatten();
    auto field = flat.begin();
    std::advance(field, random() % flat.size());
    const json& value = values[random() % std::size(values)];
    damaged[json::json_pointer(field.key())] = value;
    const auto table = parse_node_fabric(damaged);
    if (table) {
      const json written = to_json(*table);
      ASSERT_EQ(json(to_json(*parse_node_fabric(written))), written);
    } else {
      ASSERT_FALSE(table.error().message.empty());
    }
  }
}

TEST(NodeFabricText, IsReadAsItsTreeIsBoundedAndStrict) {
  const std::string text = full_table().dump();
  const auto table = read_node_fabric(text);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(json(to_json(*table)), full_table());
  EXPECT_EQ(read_node_fabric(minimal_table().dump(2))->name, "n");
  const std::pair<const char*, std::string> refused[] = {
      {"nothing", ""},
      {"a table and }", text + "}"},
      {"1 MiB of [", std::string(1 << 20, '[')},
      {"70 lists", std::string(70, '[') + std::string(70, ']')},
      {"8 MiB and a blank", std::string((8U << 20U) + 1, ' ')},
      {"a port twice", R"({"apiVersion":"nccl-env.io/v1alpha1","kind":"NodeFabric","metadata":{"name":"n"},
                          "observed":{"ports":[{"hca":"a","port":1,"port":2}]}})"},
      {"two keys twice", R"({"apiVersion":"nccl-env.io/v1alpha1","kind":"NodeFabric","metadata":{"name":"n"},
                            "observed":{"ports":[{"hca":"a","b":1,"port":1,"b":2,"":1,"a":3,"":2}]}})"}};
  for (const auto& [title, given] : refused) {
    const auto none = read_node_fabric(given);
    ASSERT_FALSE(none) << title;
    expect_golden(title, none.error().message);
  }
}

TEST(PartitionKeys, AreReadAndWrittenBackByIndex) {
  nlohmann::json object = nlohmann::json::parse(R"({
    "apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "a"}, "observed": {"ports": [
      {"hca": "mlx5_0", "port": 1, "pkeys": [{"index": 3, "key": "0x8001"}, {"index": 0, "key": "0xFFFF"}]},
      {"hca": "mlx5_1", "port": 1, "pkeys": []}, {"hca": "mlx5_2", "port": 1}]}})");
  const auto table = parse_node_fabric(object);
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->ports[0].pkeys->size(), 2U);
  EXPECT_EQ((*table->ports[0].pkeys)[1].key, 0x8001);
  EXPECT_TRUE(table->ports[1].pkeys->empty());
  EXPECT_FALSE(table->ports[2].pkeys);
  const auto written = to_json(*table)["observed"]["ports"];
  EXPECT_EQ(written[0]["pkeys"].dump(), R"([{"index":0,"key":"0xffff"},{"index":3,"key":"0x8001"}])");
  EXPECT_FALSE(written[2].contains("pkeys"));
  for (const char* bad : {"0x0000", "0x8000", "8001", "0x80011", "0x800g", "-x8001", "0x+801"}) {
    object["observed"]["ports"][0]["pkeys"][0]["key"] = bad;
    const auto refused = parse_node_fabric(object);
    ASSERT_FALSE(refused) << bad;
    expect_golden(bad, refused.error().message);
  }
  object["observed"]["ports"][0]["pkeys"][0] = {{"index", 0}, {"key", "0x8001"}};
  expect_golden("index 0 twice", parse_node_fabric(object).error().message);
  object["observed"]["ports"][0]["pkeys"][0]["index"] = 128;
  EXPECT_FALSE(parse_node_fabric(object));
}

}  // namespace
}  // namespace nccl_env::node_table_test
