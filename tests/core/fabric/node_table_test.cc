// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/node_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "generate/example_table.h"
#include "nccl_env/core/fabric/interface_index.h"

namespace nccl_env::node_table_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(text, HasSubstr(R"("hca":"mlx5_1","port":1,"linkLayer":"Ethernet","transport":"RoCE")"));
  EXPECT_THAT(text, HasSubstr(R"("rateGbps":200,)"));
}

TEST(NodeFabric, AbsentStaysUnknown) {
  const auto table = parse_node_fabric(json::parse(R"({
    "apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "n"},
    "observed": {"ports": [{"hca": "mlx5_0", "port": 1, "lag": null}]}})"));
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_FALSE(table->time || table->interfaces || table->node_interface);
  EXPECT_FALSE(table->ports[0].gids || table->ports[0].lag || table->ports[0].rate_gbps);
}

TEST(NodeFabric, AnEmptyListOfRowsIsNotAnUnknownOne) {
  json object = full_table();
  object["/observed/ports/0/gidRows"_json_pointer] = json::array();
  const auto table = parse_node_fabric(object);
  ASSERT_TRUE(table.ok() && table->ports[0].gids.has_value());
  EXPECT_TRUE(table->ports[0].gids->empty());
  EXPECT_EQ(json(to_json(*table)), object);
  object["/observed/ports/0/gidRows"_json_pointer] = nullptr;
  EXPECT_FALSE(parse_node_fabric(object)->ports[0].gids);
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
  EXPECT_EQ(parse_node_fabric(object).error().message,
            "observed.ports[0].gids: stands beside gidRows, which takes its place");
  port["gids"] = nullptr;
  EXPECT_TRUE(parse_node_fabric(object));
  object = older_table();
  object["/observed/ports/1"_json_pointer] = {{"hca", "mlx5_2"}, {"port", 1}, {"gidRows", json::array()}};
  EXPECT_TRUE(parse_node_fabric(object)) << "ports may differ";
}

TEST(NodeFabric, IgnoresUnknownFieldsAndTheSummary) {
  json object = full_table();
  object["/observed/summary"_json_pointer] = "whatever";
  object["/observed/ports/0/colour"_json_pointer] = {1, 2};
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
  EXPECT_THAT(table.error().message,
              AllOf(HasSubstr("observed.ports[0].gids[0].gid: \"zz\""), HasSubstr("observed.time: "),
                    HasSubstr("observed.interfaces[0].mtu: "), HasSubstr("metadata.name: "),
                    HasSubstr("kind: is missing")));
}

TEST(NodeFabric, CountsTheRefusalsAfterTwenty) {
  json object = minimal_table();
  for (int port = 0; port < 30; ++port) object["observed"]["ports"].push_back({{"hca", "a b"}, {"port", 1}});
  const std::string message = parse_node_fabric(object).error().message;
  EXPECT_THAT(message,
              AllOf(HasSubstr("ports[19].hca"), Not(HasSubstr("ports[20]")), HasSubstr("and 10 more")));
}

TEST(NodeFabric, RefusesOtherShapes) {
  for (const char* text : {"null", "[]", "7", "{}", R"({"observed":[]})", R"({"metadata":1,"observed":2})"}) {
    EXPECT_FALSE(parse_node_fabric(json::parse(text)).ok()) << text;
  }
  EXPECT_THAT(message_with("/apiVersion", "v1"), HasSubstr("apiVersion"));
  EXPECT_THAT(message_with("/kind", "Node"), HasSubstr("kind"));
  EXPECT_THAT(message_with("/observed", nullptr), HasSubstr("observed: is missing"));
  EXPECT_THAT(message_with("/observed/ports", nullptr), HasSubstr("observed.ports: is missing"));
  EXPECT_THAT(message_with("/observed/ports", json::object()), HasSubstr("observed.ports: must be an array"));
  EXPECT_THAT(message_with("/observed/ports/0", 7), HasSubstr("observed.ports[0]: must be an object"));
  EXPECT_THAT(message_with("/observed/ports/0/port", nullptr), HasSubstr("port: is missing"));
}

TEST(NodeFabric, RefusesNamesThatWouldChangeAList) {
  for (const char* name : {"", "mlx5_0,mlx5_1", "mlx5_0:1", "^mlx5_0", "=mlx5_0", "mlx5 0", "mlx5\n", "../x",
                           "_x", "\xc3\xa4"}) {
    EXPECT_THAT(message_with("/observed/ports/0/hca", name), HasSubstr("ports[0].hca")) << name;
  }
  EXPECT_NE(message_with("/observed/ports/0/hca", std::string(64, 'a')), "");
  EXPECT_EQ(message_with("/observed/ports/0/hca", std::string(63, 'a')), "");
  for (const char* name :
       {"eth1,eth2", "eth1:0", "^eth1", "=eth1", "eth 1", "a/b", ".", "..", "sixteenbyteslong", "e\t"}) {
    EXPECT_THAT(message_with("/observed/interfaces/0/name", name), HasSubstr("interfaces[0].name")) << name;
    EXPECT_NE(message_with("/observed/nodeInterface", name), "") << name;
    EXPECT_NE(message_with("/observed/ports/0/lag", name), "") << name;
    EXPECT_NE(message_with("/observed/ports/0/gids/0/netdev", name), "") << name;
  }
  for (const char* name : {"bond0.2973", "enp53s0f0np0", "br-ex", "fifteen-bytes15"}) {
    EXPECT_EQ(message_with("/observed/interfaces/0/name", name), "") << name;
  }
}

TEST(NodeFabric, NodeNamesAreDnsSubdomains) {
  for (const std::string& name :
       {std::string("gpu-node-1"), std::string("10.0.0.1"), std::string("a.b-c.d")}) {
    EXPECT_EQ(message_with("/metadata/name", name), "") << name;
  }
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string("a-"), std::string("a..b"), std::string(".a"),
        std::string("a."), std::string("a.-b"), std::string("a-.b"), std::string("A"), std::string("a_b"),
        std::string(254, 'a')}) {
    EXPECT_NE(message_with("/metadata/name", name), "") << name;
  }
}

TEST(NodeFabric, NumbersAreWholeAndInRange) {
  const char* port = "/observed/ports/0/port";
  for (const json& value :
       {json(0), json(256), json(-1), json(1.0), json("1"), json(1ULL << 63), json(true)}) {
    EXPECT_NE(message_with(port, value), "") << value;
  }
  EXPECT_EQ(message_with(port, 255), "");
  EXPECT_NE(message_with("/observed/ports/0/numaNode", -1), "");
  EXPECT_NE(message_with("/observed/ports/0/rateGbps", -1), "");
  EXPECT_NE(message_with("/observed/ports/0/rateGbps", 1e300), "");
  EXPECT_NE(message_with("/observed/ports/0/maxRateGbps", 1e300), "");
  EXPECT_NE(message_with("/observed/ports/0/rateGbps", "200"), "");
  EXPECT_EQ(message_with("/observed/ports/0/rateGbps", 2.5), "");
  EXPECT_NE(message_with("/observed/ports/0/gids/0/index", 65536), "");
  EXPECT_NE(message_with("/observed/interfaces/0/mtu", 1LL << 31), "");
}

TEST(NodeFabric, WordsAreCaseSensitiveAndListed) {
  EXPECT_THAT(message_with("/observed/ports/0/linkLayer", "ethernet"),
              HasSubstr("Ethernet, InfiniBand, Unspecified"));
  EXPECT_THAT(message_with("/observed/ports/0/transport", "roce"),
              HasSubstr("InfiniBand, RoCE, iWARP, eRDMA"));
  EXPECT_THAT(message_with("/observed/ports/0/state", "PORT_ACTIVE"), HasSubstr("Active, Armed, Init, Down"));
  EXPECT_THAT(message_with("/observed/ports/0/gids/0/type", "RoCE v2"), HasSubstr("IB, RoCEv1, RoCEv2"));
  EXPECT_THAT(message_with("/observed/rdmaNamespaceMode", ""), HasSubstr("shared, exclusive"));
}

TEST(NodeFabric, AddressesOfDevicesHaveOneForm) {
  for (const char* text : {"0000:53:00", "53:00.0", "0000:53:20.0", "0000:53:00.8", "0000-53-00.0",
                           "0000:5g:00.0", "0000:53:00.0 "}) {
    EXPECT_NE(message_with("/observed/ports/0/pciAddress", text), "") << text;
  }
  EXPECT_NE(message_with("/observed/ports/0/pciAddress", ""), "");
  EXPECT_EQ(message_with("/observed/ports/0/pfPciAddress", ""), "");
  EXPECT_EQ(message_with("/observed/ports/0/pciAddress", "10000:e1:1f.7"), "");
  json object = full_table();
  object["/observed/ports/0/pciAddress"_json_pointer] = "0000:AF:00.0";
  EXPECT_EQ(parse_node_fabric(object)->ports[0].pci_address, "0000:af:00.0");
  for (const char* text : {"", "b83fd20300b4f5a2", "0xb83fd20300b4f5a2", "b83f:d203:00b4:f5ag"}) {
    EXPECT_NE(message_with("/observed/ports/0/sysImageGuid", text), "") << text;
  }
}

TEST(NodeFabric, AnAddressMayNotContradictItsGid) {
  EXPECT_THAT(message_with("/observed/ports/0/gids/0/address", "25.11.128.3"),
              HasSubstr("ports[0].gids[0].address: 25.11.128.3 contradicts"));
  EXPECT_NE(message_with("/observed/ports/0/gids/0/gid", "fe80::1"), "");
}

TEST(NodeFabric, ARefusedRowIsNamedByItsPlace) {
  const char* rows = "/observed/ports/0/gidRows";
  EXPECT_EQ(message_with(rows, json::array({"3 RoCEv2 25.11.128.2", "4 RoCEv2 25.11.128", 5})),
            "observed.ports[0].gidRows[1]: \"25.11.128\" is not an IPv4 or IPv6 address; "
            "observed.ports[0].gidRows[2]: must be a string");
  EXPECT_EQ(message_with(rows, json::array({"5 25.11.128.2", "0 fe80::1", "5 25.11.128.2"})),
            "observed.ports[0].gidRows: index 5 stands twice");
  EXPECT_EQ(message_with(rows, json::array({"256 25.11.128.2"})),
            "observed.ports[0].gidRows: index 256 is beyond gidTableLength 256");
  EXPECT_EQ(message_with(rows, "3 25.11.128.2"),
            "observed.ports[0].gidRows: must be an array of at most 4096");
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
  EXPECT_THAT(parse_node_fabric(object).error().message, HasSubstr("ports[0].gids: index 3 stands twice"));
  EXPECT_THAT(message_with("/observed/ports/0/gidTableLength", 3), HasSubstr("beyond gidTableLength 3"));
}

TEST(NodeFabric, PortsAndInterfacesAreUnique) {
  json object = full_table();
  json& ports = object["observed"]["ports"];
  ports.push_back(ports[0]);
  ports[1]["port"] = 2;
  EXPECT_TRUE(parse_node_fabric(object).ok());
  ports[1]["port"] = 1;
  EXPECT_THAT(parse_node_fabric(object).error().message, HasSubstr("ports[1]: mlx5_1 port 1 stands twice"));
  object = full_table();
  object["observed"]["interfaces"].push_back({{"name", "eth1"}});
  EXPECT_THAT(parse_node_fabric(object).error().message, HasSubstr("interfaces[1].name: eth1 stands twice"));
}

TEST(NodeFabric, LabelsAreThoseOfKubernetes) {
  const std::string name(63, 'a');
  std::string domain = "a";
  for (int i = 0; i < 126; ++i) domain += ".a";
  for (const std::string& key : {name, domain + "/" + name, std::string("a.b/C_d.e-F"), std::string("0")})
    EXPECT_EQ(message_with("/observed/nodeLabels/0/key", key), "") << key;
  for (const std::string& key :
       {std::string(), name + "a", domain + "a/a", std::string("/a"), std::string("a/"), std::string("A/a"),
        std::string("a/b/c"), std::string("-a"), std::string("a ")})
    EXPECT_THAT(message_with("/observed/nodeLabels/0/key", key), HasSubstr("is not a label's key")) << key;
  for (const std::string& value : {std::string(), name, std::string("A_b.c-9")})
    EXPECT_EQ(message_with("/observed/nodeLabels/0/value", value), "") << value;
  for (const std::string& value : {name + "a", std::string("a."), std::string("a/b"), std::string(" ")})
    EXPECT_THAT(message_with("/observed/nodeLabels/0/value", value), HasSubstr("is not a label's value"));

  json labels = json::array();
  for (int at = 0; at < 17; ++at) labels.push_back(json::object({{"key", "k" + std::to_string(at)}}));
  EXPECT_EQ(message_with("/observed/nodeLabels", labels),
            "observed.nodeLabels: must be an array of at most 16, not 17");
  labels.erase(labels.begin());
  EXPECT_EQ(message_with("/observed/nodeLabels", labels), "");
  EXPECT_EQ(message_with("/observed/nodeLabels", json::array()), "");
  labels[3]["key"] = "k1";
  EXPECT_EQ(message_with("/observed/nodeLabels", labels), "observed.nodeLabels[3].key: k1 stands twice");
  labels[3].erase("key");
  EXPECT_EQ(message_with("/observed/nodeLabels", labels), "observed.nodeLabels[3].key: is missing");
}

json rows(int count) {
  json made = json::array();
  for (int at = 0; at < count; ++at) made.push_back({{"index", at}, {"gid", "fe80::1"}});
  return made;
}

json row_texts(int count) {
  json made = json::array();
  for (int at = 0; at < count; ++at) made.push_back(std::to_string(at) + " gid fe80::1");
  return made;
}

TEST(NodeFabric, ListsAreBounded) {
  json ports = json::array();
  for (int at = 0; at < 257; ++at) ports.push_back({{"hca", "a" + std::to_string(at)}, {"port", 1}});
  EXPECT_EQ(message_with("/observed/ports", ports),
            "observed.ports: must be an array of at most 256, not 257");
  ports.erase(ports.begin());
  EXPECT_EQ(message_with("/observed/ports", ports), "");
  json interfaces = json::array();
  for (int at = 0; at < 1025; ++at) interfaces.push_back({{"name", "eth" + std::to_string(at)}});
  EXPECT_EQ(message_with("/observed/interfaces", interfaces),
            "observed.interfaces: must be an array of at most 1024, not 1025");
  interfaces.erase(interfaces.begin());
  EXPECT_EQ(message_with("/observed/interfaces", interfaces), "");
}

TEST(NodeFabric, RowsAreBoundedOverAllPorts) {
  json object = minimal_table();
  json& ports = object["observed"]["ports"];
  ports = json::array({json{{"hca", "a"}, {"port", 1}, {"gids", rows(4096)}}});
  EXPECT_TRUE(parse_node_fabric(object).ok());
  ports[0]["gids"] = rows(4097);
  EXPECT_EQ(parse_node_fabric(object).error().message,
            "observed.ports[0].gids: must be an array of at most 4096, not 4097");
  ports = json::array();
  for (int at = 0; at < 256; ++at)
    ports.push_back({{"hca", "a" + std::to_string(at)}, {"port", 1}, {"gidRows", row_texts(16)}});
  ports[0] = {{"hca", "a0"}, {"port", 1}, {"gids", rows(16)}};
  EXPECT_TRUE(parse_node_fabric(object).ok());
  ports[255]["gidRows"] = row_texts(17);
  EXPECT_EQ(parse_node_fabric(object).error().message,
            "observed.ports: hold 4097 GID rows in all, and may hold at most 4096");
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

TEST(NodeFabricText, IsReadAsItsTreeIs) {
  const std::string text = full_table().dump();
  const auto table = read_node_fabric(text);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(json(to_json(*table)), full_table());
  EXPECT_EQ(read_node_fabric(minimal_table().dump(2))->name, "n");
}

TEST(NodeFabricText, IsBoundedAndStrict) {
  const auto refused = [](const std::string& text) {
    const auto table = read_node_fabric(text);
    return table ? std::string() : table.error().message;
  };
  EXPECT_THAT(refused(""), HasSubstr("not JSON"));
  EXPECT_THAT(refused(full_table().dump() + "}"), HasSubstr("not JSON"));
  EXPECT_THAT(refused(std::string(1 << 20, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(refused(std::string(70, '[') + std::string(70, ']')), HasSubstr("too deep"));
  EXPECT_THAT(refused(std::string((8U << 20U) + 1, ' ')), HasSubstr("larger than 8 MiB"));
  EXPECT_THAT(refused(R"({"apiVersion":"nccl-env.io/v1alpha1","kind":"NodeFabric","metadata":{"name":"n"},
                          "observed":{"ports":[{"hca":"a","port":1,"port":2}]}})"),
              HasSubstr("observed.ports[0].port: stands twice"));
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
    EXPECT_THAT(refused.error().message, HasSubstr("pkeys[0].key")) << bad;
  }
  object["observed"]["ports"][0]["pkeys"][0] = {{"index", 0}, {"key", "0x8001"}};
  EXPECT_THAT(parse_node_fabric(object).error().message, HasSubstr("index 0 stands twice"));
  object["observed"]["ports"][0]["pkeys"][0]["index"] = 128;
  EXPECT_FALSE(parse_node_fabric(object));
}

}  // namespace
}  // namespace nccl_env::node_table_test
