// SPDX-License-Identifier: Apache-2.0
// Pseudonyms keep what decisions go by: equality, shared prefixes, classes, forms; and the doctor says of a
// report with them what it says of the cluster, with their names.
#include "cluster/pseudonyms.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cli/asked_cluster.h"
#include "cli/fleet.h"
#include "cluster/bundle.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::pseudonyms_test {
namespace {

using namespace nccl_env::cli;
using namespace nccl_env::tests;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

// The leading bits that two addresses share.
int shared_bits(const std::string& left, const std::string& right) {
  const auto a = parse_ip(left)->bytes, b = parse_ip(right)->bytes;
  for (int bit = 0; bit < 128; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    if (((a[at] ^ b[at]) >> (7 - bit % 8) & 1) != 0) return bit;
  }
  return 128;
}

TEST(Pseudonyms, AddressesShareAsManyBitsAsBefore) {
  for (const char* key : {"a", "b", "c"}) {
    Pseudonyms names(key);
    const std::vector<std::string> real{"10.1.0.1",      "10.1.0.2",    "10.1.1.2",    "10.200.0.1",
                                        "25.11.128.2",   "25.11.128.3", "192.168.7.1", "172.16.0.9",
                                        "172.31.255.1",  "fd00::1",     "fd00::2",     "fd00:1:2:3::1",
                                        "2001:db8::1:2", "2001:db8::3", "fe80::1",     "fe80::2:3"};
    for (const std::string& left : real) {
      EXPECT_NE(names.addresses(left), left);
      for (const std::string& right : real)
        EXPECT_EQ(shared_bits(names.addresses(left), names.addresses(right)), shared_bits(left, right))
            << left << " " << right;
    }
  }
}

TEST(Pseudonyms, ClassesStay) {
  for (int key = 0; key < 50; ++key) {
    Pseudonyms names(std::to_string(key));
    const auto made = [&](const std::string& real) { return names.addresses(real); };
    EXPECT_THAT(made("10.1.2.3"), MatchesRegex("10\\..*"));
    EXPECT_THAT(made("192.168.2.3"), MatchesRegex("192\\.168\\..*"));
    EXPECT_THAT(made("169.254.2.3"), MatchesRegex("169\\.254\\..*"));
    EXPECT_THAT(made("172.16.2.3"), MatchesRegex("172\\.16\\..*"));
    EXPECT_THAT(made("fe80::1"), MatchesRegex("fe80::.*"));
    EXPECT_THAT(made("fd12::1"), MatchesRegex("fd.*"));
    EXPECT_EQ(made("::1 :: 0.0.0.0 127.0.0.1 0000:0000:0000:0000"),
              "::1 :: 0.0.0.0 127.0.0.1 0000:0000:0000:0000");
  }
}

TEST(Pseudonyms, AGidIsTheAddressThatItCarries) {
  Pseudonyms names("key");
  const std::string address = names.addresses("25.11.128.2");
  EXPECT_EQ(names.addresses("::ffff:25.11.128.2"), "::ffff:" + address);
  const std::string gid = names.addresses("0000:0000:0000:0000:0000:ffff:190b:8002");
  EXPECT_EQ(gid.size(), 39);
  EXPECT_EQ(parse_gid(gid)->address(), *parse_ip(address));
  EXPECT_THAT(names.addresses("b83f:d203:00b4:f5a2"),
              MatchesRegex("b83f:d2[0-9a-f]{2}:[0-9a-f]{4}:[0-9a-f]{4}"));
}

TEST(Pseudonyms, ANetworkStaysOneAndHoldsItsAddresses) {
  Pseudonyms names("key");
  const auto network = parse_cidr(names.addresses("25.11.128.0/27"));
  ASSERT_TRUE(network);
  EXPECT_EQ(*network, network->network());
  EXPECT_EQ(parse_cidr(names.addresses("25.11.128.2/27"))->network(), *network);
  EXPECT_TRUE(network->contains(*parse_ip(names.addresses("25.11.128.30"))));
  EXPECT_FALSE(network->contains(*parse_ip(names.addresses("25.11.128.33"))));
}

TEST(Pseudonyms, TextsHaveThemWhereNamesAndAddressesStand) {
  Pseudonyms names("key");
  const std::string node = names.name("gpu-1"), space = names.name("ml"), pod = names.name("train-0");
  EXPECT_THAT(node, MatchesRegex("n-[0-9a-f]{12}"));
  EXPECT_EQ(names.text("pod ml/train-0 is on gpu-1, not on gpu-10."),
            "pod " + space + "/" + pod + " is on " + node + ", not on gpu-10.");
  EXPECT_EQ(names.text("https://10.1.0.1:6443: x"), "https://" + names.addresses("10.1.0.1") + ":6443: x");
  EXPECT_EQ(names.text("claim \"private\" of \"pods.nccl-env.io\""),
            "claim \"" + names.name("private") + "\" of \"pods.nccl-env.io\"");
  EXPECT_EQ(names.addresses("gpu-1 mlx5_1 0000:53:00.0 2026-11-20T08:00:00Z"),
            "gpu-1 mlx5_1 0000:53:00.0 2026-11-20T08:00:00Z");
  EXPECT_EQ(names.addresses("3 RoCEv2 25.11.128.2 dev eth1 since 2026-11-20T08:00:00Z"),
            "3 RoCEv2 " + names.addresses("25.11.128.2") + " dev eth1 since 2026-11-20T08:00:00Z");
  EXPECT_EQ(names.addresses("0 IB gid fe80:0000:0000:0000:b83f:d203:00b4:f5a2"),
            "0 IB gid " + names.addresses("fe80:0000:0000:0000:b83f:d203:00b4:f5a2"));
  for (const char* stays : {"", "default", "kube-system", "nccl-env-webhook-1"})
    EXPECT_EQ(names.name(stays), stays);
  EXPECT_NE(Pseudonyms("other").name("gpu-1"), node);
  EXPECT_EQ(Pseudonyms("key").name("gpu-1"), node);
  const std::string slashes(1 << 20, '/');
  EXPECT_EQ(names.text(slashes), slashes);
}

// Nothing else names a node without a table, to which no pod was bound.
TEST(Pseudonyms, TheNodeOfARefusalHasOne) {
  Pseudonyms names("key");
  const std::string begin = "webhook \"binding.nccl-env.io\" denied the request: nccl-env: ";
  const std::string text = names.text(begin + "NoTable: gpu-7: there is no NodeFabric of that name.");
  EXPECT_EQ(text, begin + "NoTable: " + names.name("gpu-7") + ": there is no NodeFabric of that name.");
  for (const std::string other : {"Nonsense: gpu-8: x", "NoTable", "NoTable: ", "NoTable: no table", ""})
    EXPECT_EQ(names.text(begin + other), begin + other);
}

TEST(Pseudonyms, PathsAndQueriesHaveThem) {
  Pseudonyms names("key");
  const std::string node = names.name("gpu-1"), space = names.name("ml"), pod = names.name("train-0");
  EXPECT_EQ(names.target("/api/v1/namespaces/ml/pods/train-0"),
            "/api/v1/namespaces/" + space + "/pods/" + pod);
  EXPECT_EQ(names.target("/apis/g/v1/ncclpolicies/ml"), "/apis/g/v1/ncclpolicies/" + space);
  EXPECT_EQ(names.target("/api/v1/pods?fieldSelector=spec.nodeName%3Dgpu-1&limit=500"),
            "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node + "&limit=500");
  EXPECT_EQ(
      names.target("/api/v1/namespaces/ml/events?fieldSelector=involvedObject.name%3Dtrain-0%2Creason%3D"
                   "FailedScheduling&limit=500"),
      "/api/v1/namespaces/" + space + "/events?fieldSelector=involvedObject.name%3D" + pod +
          "%2Creason%3DFailedScheduling&limit=500");
  const std::string phases =
      "?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=500";
  EXPECT_EQ(names.target("/api/v1/pods" + phases), "/api/v1/pods" + phases);
  const std::string page = names.page("gpu/1=");
  EXPECT_EQ(names.target("/apis/g/v1/nodefabrics?limit=500&continue=gpu%2F1%3D"),
            "/apis/g/v1/nodefabrics?limit=500&continue=" + page);
  EXPECT_EQ(names.command("explain pod/train-0 -n ml"), "explain pod/" + pod + " -n " + space);
}

class Disguised : public AskedCluster {
 protected:
  // Findings of nodes with addresses twice, a rate and a subnet that differ, and an index that moved.
  void serve_fleet() {
    std::vector<std::string> nodes;
    for (int i = 1; i <= 6; ++i)
      nodes.push_back(node_yaml("gpu-" + std::to_string(i), i, i == 3 ? 100 : 200));
    nodes[5] = named(nodes[5], "10.1.0.6", "10.1.0.5");
    nodes[5] = named(nodes[5], "address: 10.1.0.6", "address: 10.1.0.5");
    Json tables{{"metadata", {{"resourceVersion", "1"}}}, {"items", Json::array()}};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Json each = parse_documents(nodes[i], "test")->front();
      each["metadata"]["resourceVersion"] = "1";
      Json interfaces = Json::array();
      for (int rail = 1; rail <= 4; ++rail) {
        const std::string last = std::to_string(i == 1 && rail == 2 ? 200 : i == 5 && rail == 1 ? 5 : i + 1);
        const std::string address = "10." + std::to_string(rail) + ".0." + last;
        interfaces.push_back({{"name", "eth" + std::to_string(rail)},
                              {"up", true},
                              {"addresses", Json::array({address + "/25"})}});
        Json& row = each["observed"]["ports"][static_cast<std::size_t>(rail - 1)]["gids"][0];
        row["gid"] = "::ffff:" + address;
        row["address"] = address;
      }
      each["observed"]["interfaces"] = interfaces;
      if (i % 2 == 1)
        each["observed"] = Json(to_json(*parse_node_fabric(each))["observed"]);  // rows as texts
      tables["items"].push_back(each);
    }
    serve("/apis/nccl-env.io/v1alpha1/nodefabrics?limit=500", tables);
    Json own = parse_documents(kPolicy, "test")->front();
    own["metadata"]["resourceVersion"] = "1";
    own["spec"]["fabric"]["subnets"] = Json::array({"10.0.0.0/8"});
    serve("/apis/nccl-env.io/v1alpha1/ncclpolicies?limit=500",
          {{"metadata", {{"resourceVersion", "1"}}}, {"items", Json::array({own})}});
  }
  // The document with each text's names and addresses replaced.
  static Json mapped(Json document, Pseudonyms& names) {
    if (document.is_string()) return names.text(document.get<std::string>());
    if (document.is_structured()) {
      for (Json& inner : document) inner = mapped(inner, names);
    }
    return document;
  }
  static std::vector<std::string> findings(const Json& diagnosis) {
    std::vector<std::string> texts;
    for (const Json& finding : diagnosis["findings"]) texts.push_back(finding.dump());
    return texts;
  }
  [[nodiscard]] std::string text_of(const std::string& file) const {
    std::ifstream stream(path(file));
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

TEST_F(Disguised, TheDoctorFindsTheSameByTheirPseudonyms) {
  serve_fleet();
  const CliResult live = run({"doctor", "-o", "json"});
  ASSERT_EQ(live.code, 1) << live.err;
  ASSERT_THAT(live.out, HasSubstr("10.1.0.5 is also the address of gpu-"));
  ASSERT_THAT(live.out, HasSubstr("10.2.0.128/25"));
  ASSERT_EQ(run({"bug-report", "--plain", "-o", path("plain")}).code, 0);
  const auto plain = parse_bundle(text_of("plain"));
  ASSERT_TRUE(plain) << plain.error().message;
  for (const char* key : {"one", "two", "three", "four", "five"}) {
    Pseudonyms names(key);
    const std::string text = render_bundle(disguised(*plain, names));
    EXPECT_THAT(text, Not(HasSubstr("gpu-1")));
    EXPECT_THAT(text, Not(HasSubstr("10.1.0.")));
    const CliResult made = run_cli({"doctor", "-o", "json", "--bundle", write("report", text)});
    EXPECT_EQ(made.code, live.code);
    EXPECT_THAT(findings(Json::parse(made.out)),
                UnorderedElementsAreArray(findings(mapped(Json::parse(live.out), names))));
  }
}

TEST_F(Disguised, ExplainsAPodByItsPseudonym) {
  serve_fleet();
  serve("/api/v1/namespaces/ml/pods/train-0", given_pod("train-0"));
  serve("/api/v1/namespaces/ml", {{"metadata", {{"name", "ml"}, {"labels", {{"nccl-env.io/policy", "p"}}}}}});
  const CliResult live = run({"explain", "pod/train-0"});
  const CliResult made = run({"bug-report", "--pod", "train-0", "-o", path("report"), "--key", path("key")});
  ASSERT_EQ(made.code, 0) << made.err;
  std::string key = text_of("key");
  key.pop_back();
  Pseudonyms names(key);
  const std::string other = names.name("train-0"), space = names.name("ml");
  for (const char* each : {"gpu-1", "p"}) names.name(each);
  EXPECT_THAT(made.out, HasSubstr("explain pod/" + other + " -n " + space));
  const CliResult again = run_cli({"explain", "pod/" + other, "--bundle", path("report"), "-o", "json"});
  EXPECT_EQ(again.code, live.code);
  EXPECT_EQ(Json::parse(again.out),
            mapped(Json::parse(run({"explain", "pod/train-0", "-o", "json"}).out), names));
  for (const char* real : {"train-0", "gpu-1", "127.0.0.1"})
    EXPECT_THAT(text_of("report"), Not(HasSubstr(real)));
  // The same key, the same pseudonyms; and a file that is not a key is refused.
  ASSERT_EQ(run({"bug-report", "--pod", "train-0", "-o", path("second"), "--key", path("key")}).code, 0);
  EXPECT_EQ(text_of("second"), text_of("report"));
  EXPECT_EQ(run({"bug-report", "-o", path("third"), "--key", write("short", "abc")}).code, 4);
  EXPECT_EQ(run({"bug-report", "-o", path("third"), "--plain", "--key", path("key")}).code, 2);
}

TEST_F(Disguised, ANamespaceIsHiddenAlsoWhereItsPolicyIsNamedLikeIt) {
  serve_fleet();
  Json given = given_pod("train-0");
  given["metadata"]["namespace"] = "blue";
  for (const char* key : {"nccl-env.io/status", "nccl-env.io/node"}) {
    Json& note = given["metadata"]["annotations"][key];
    note = named(note.get<std::string>(), R"("policy":"p")", R"("policy":"blue")");
  }
  Json of_space = parse_documents(named(kPolicy, "name: p", "name: blue"), "test")->front();
  of_space["metadata"]["generation"] = 2;
  given["spec"]["initContainers"] = Json::array(
      {{{"name", "i"}, {"env", Json::array({{{"name", "NCCL_ENV_POLICY"}, {"value", of_space.dump()}}})}}});
  serve("/apis/nccl-env.io/v1alpha1/ncclpolicies/blue", of_space);
  serve("/api/v1/namespaces/blue/pods/train-0", given);
  serve("/api/v1/namespaces/blue",
        {{"metadata", {{"name", "blue"}, {"labels", {{"nccl-env.io/policy", "blue"}}}}}});
  const CliResult live = run({"explain", "pod/train-0", "-n", "blue", "-o", "json"});
  ASSERT_THAT(live.out, HasSubstr("Policy blue is at generation 2 today"));
  const std::string key(64, 'a'), report = path("report");
  ASSERT_EQ(
      run({"bug-report", "-n", "blue", "--pod", "train-0", "-o", report, "--key", write("key", key + "\n")})
          .code,
      0);
  EXPECT_THAT(text_of("report"), Not(HasSubstr("blue")));
  Pseudonyms names(key);
  for (const char* each : {"blue", "gpu-1", "train-0"}) names.name(each);
  const CliResult again =
      run_cli({"explain", "pod/" + names.name("train-0"), "--bundle", report, "-o", "json"});
  EXPECT_EQ(again.code, live.code);
  Json told = Json::parse(live.out), replayed = Json::parse(again.out);
  for (Json* each : {&told, &replayed}) (*each)["containers"].erase(0);  // whose text quotes its words
  EXPECT_EQ(replayed, mapped(told, names));
}

}  // namespace
}  // namespace nccl_env::pseudonyms_test
