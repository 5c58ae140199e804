// SPDX-License-Identifier: Apache-2.0
// The dynamic search: ncclUpdateGidIndex, envIbAddrFamily, envIbAddrRange (src/transport/net_ib.cc).
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "core/engines/nccl/nccl_fabric.h"
#include "nccl_env/core/engines/nccl/gid.h"
#include "support/golden.h"

namespace nccl_env::test::gid_search_test {
namespace {

using testing::Optional;

// Results of the search in NCCL's own code, run over these tables.
struct Search {
  const char* rule;
  std::vector<GidRow> rows;
  NcclEnv env;
  int index;
};

const NcclEnv kIpv6{{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}};

NcclEnv range(const char* value) {
  return {{"NCCL_IB_ADDR_RANGE", value}};
}
NcclEnv roce_version(const char* value) {
  return {{"NCCL_IB_ROCE_VERSION_NUM", value}};
}
NcclEnv ipv6_range(const char* value) {
  return {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}, {"NCCL_IB_ADDR_RANGE", value}};
}

const std::vector<Search>& searches() {
  const GidRow local = v1(0, "fe80::1");
  const std::vector<GidRow> usual = *roce("mlx5_0").gids, one{local, v2(1, "::ffff:10.1.2.3")},
                            ipv6{local, v2(1, "fe80::1"), v1(2, "2001:db8::1"), v2(3, "2001:db8::1")},
                            both{local, v2(1, "2001:db8::1"), v2(2, "::ffff:10.1.2.3")};
  static const std::vector<Search> cases{
      {"the lowest RoCE v2 GID of the family", usual, {}, 3},
      {"v2 of a second address does not displace the first",
       {v1(0, "::ffff:10.1.2.3"), v2(1, "::ffff:10.1.2.3"), v1(2, "::ffff:10.9.9.9"),
        v2(3, "::ffff:10.9.9.9")},
       {},
       1},
      {"IPv6 global alone with the default family: 0, silently", ipv6, {}, 0},
      {"IPv6 global with AF_INET6", ipv6, kIpv6, 3},
      {"a range that matches nothing: 0, silently", usual, range("192.168.0.0/16"), 0},
      {"a v1 IPv4 GID is taken although v2 is wanted",
       {local, v2(1, "fe80::1"), v1(2, "::ffff:10.1.2.3")},
       {},
       2},
      {"entry 0 is never held against the range",
       {v2(0, "::ffff:172.16.0.1"), v2(1, "::ffff:10.1.2.3")},
       range("10.0.0.0/8"),
       0},
      {"version 1 wanted", usual, roce_version("1"), 2},
      {"another version: the first of the family", usual, roce_version("3"), 2},
      {"a range picks among addresses",
       {local, v2(1, "::ffff:172.16.0.1"), v2(2, "::ffff:10.1.2.3")},
       range("172.16.0.0/12"),
       1},
      {"only the first range of a list",
       {local, v2(1, "::ffff:192.168.0.1"), v2(2, "::ffff:10.1.2.3")},
       range("10.1.0.0/16,192.168.0.0/16"),
       2},
      {"a negative prefix matches nothing", one, range("10.1.0.0/-1"), 0},
      {"a prefix that is not a number is 0", one, range("172.16.0.0/x"), 1},
      {"too long a prefix: ignored", one, range("172.16.0.0/33"), 1},
      {"a bad address: ignored", one, range("172.16.0/16"), 1},
      {"a range of the other family: ignored", one, range("2001:db8::/32"), 1},
      {"an IPv6 range",
       {local, v2(1, "2001:db8:1::1"), v2(2, "2001:db8:2::1")},
       ipv6_range("2001:db8:2::/48"),
       2},
      {"an IPv6 prefix inside a byte",
       {local, v2(1, "2001:db8:1::1"), v2(2, "2001:db8:8000::1")},
       ipv6_range("2001:db8:8000::/33"),
       2},
      {"AF_INET6 is exact; anything else is IPv4", both, {{"NCCL_IB_ADDR_FAMILY", "af_inet6"}}, 2},
      {"empty variables are unset",
       both,
       {{"NCCL_IB_ADDR_FAMILY", ""}, {"NCCL_IB_ADDR_RANGE", ""}, {"NCCL_IB_ROCE_VERSION_NUM", ""}},
       2},
      {"IPv4 multicast counts as IPv4", {local, v2(1, "ff0e::ffff:e000:1")}, {}, 1},
      {"AF_INET6 moves from an IPv4 entry 0 to whatever comes first",
       {v2(0, "::ffff:10.1.2.3"), v1(1, "fe80::1"), v2(2, "fe80::1")},
       kIpv6,
       1},
      {"all empty", {}, {}, 0},
  };
  return cases;
}

// The index; the golden holds the note.
std::optional<int> index_of(const Port& port, const NcclEnv& env, const std::string& at) {
  const NcclGid answer = ask(port, env, at);
  tests::expect_golden("NCCL " + at, answer.note);
  return answer.index;
}

TEST(NcclGidSearch, DynamicSearch) {
  for (const Search& c : searches()) {
    std::map<std::string, std::string> versions;  // by note
    for (const char* at : kVersionsThatSearch) {
      const NcclGid answer = ask(roce_with(c.rows), c.env, at);
      EXPECT_THAT(answer.index, Optional(c.index)) << c.rule << " in " << at << ": " << answer.note;
      versions[answer.note] += std::string(" ") + at;
    }
    std::string text;
    for (const auto& [note, at] : versions) text += (note.empty() ? "(nothing)" : note) + at + "\n";
    tests::expect_golden(c.rule, text);
  }
}

// A macvlan pod: the node's GIDs show as empty slots, its own come after.
TEST(NcclGidSearch, SparseTableOfASubInterface) {
  const Port port =
      roce_with({v1(4, "fe80::2"), v2(5, "fe80::2"), v1(6, "::ffff:10.1.2.4"), v2(7, "::ffff:10.1.2.4")});
  for (const char* at : kVersionsThatSearch) EXPECT_THAT(index_of(port, {}, at), Optional(7)) << at;
}

TEST(NcclGidSearch, AnEmptySlotCountsAsIpv6AndItsTypeCantBeReadUpTo225) {
  const Port port = roce_with({v1(4, "2001:db8::2"), v2(5, "2001:db8::2")});
  EXPECT_EQ(index_of(port, kIpv6, "2.25.1"), std::nullopt);
  EXPECT_THAT(ask(port, kIpv6, "2.26.2").index, Optional(5));
  EXPECT_THAT(index_of(roce_with({v2(0, "::ffff:10.1.2.3")}, 4), kIpv6, "2.26.2"), Optional(1));
}

TEST(NcclGidSearch, ATypeThatIsNotKnownDecidesNothingAndFailsPodsUpTo225) {
  const Port port = roce_with({v1(0, "fe80::1"), v1(1, "::ffff:10.1.2.3"), untyped(2, "::ffff:10.1.2.3")});
  EXPECT_EQ(index_of(port, {}, "2.26.2"), std::nullopt);
  // Index 1 is what NCCL takes whatever the type of 2 may be.
  EXPECT_THAT(ask(roce_with({untyped(0, "fe80::1"), v2(1, "::ffff:10.1.2.3"), untyped(2, "::ffff:10.1.2.4")}),
                  {}, "2.26.2")
                  .index,
              Optional(1));
  const Port last = roce_with({v1(0, "fe80::1"), v2(1, "::ffff:10.1.2.3"), untyped(2, "fe80::1")});
  for (const char* at : {"2.21.5", "2.22.3", "2.23.4", "2.25.1", "2.26.2"})
    EXPECT_THAT(index_of(last, {}, at), Optional(1)) << at;
}

TEST(NcclGidSearch, RangeWithoutSlashOrOfMoreThan127Bytes) {
  const NcclEnv env = range("10.0.0.0"), vast = range((std::string(200, '1') + "/8").c_str());
  for (const char* at : {"2.21.5", "2.22.3"}) EXPECT_EQ(index_of(roce("mlx5_0"), env, at), std::nullopt);
  EXPECT_THAT(index_of(roce("mlx5_0"), env, "2.23.4"), Optional(3));
  EXPECT_EQ(ask(roce("mlx5_0"), vast, "2.21.5").index, std::nullopt);
  EXPECT_THAT(ask(roce("mlx5_0"), vast, "2.30.7").index, Optional(3));
}

TEST(NcclGidSearch, ATableWithoutEntriesFailsAndOneOfUnknownLengthEndsAtTheHighestRow) {
  for (const char* at : kVersionsThatSearch) EXPECT_EQ(index_of(roce_with({}, 0), {}, at), std::nullopt);
  const Port port = roce_with({v1(0, "fe80::1"), v2(1, "::ffff:10.1.2.3")}, std::nullopt);
  EXPECT_THAT(index_of(port, {}, "2.26.2"), Optional(1));
}

// The search as NCCL writes it, over every slot of the table.
int search_every_slot(const std::vector<GidRow>& rows, int length, bool v6, int wanted) {
  const auto at = [&rows](int index) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [index](const GidRow& r) { return r.index == index; });
    return found == rows.end() ? GidRow{index, {}, std::nullopt, {}, {}} : *found;
  };
  const auto valid = [](const Gid& gid) { return !gid.is_zero() && !gid.is_link_local(); };
  int current = 0;
  for (int candidate = 1; candidate < length; ++candidate) {
    const GidRow c = at(candidate);
    const GidRow cur = at(current);
    const bool right_family = c.gid.is_v4_mapped() != v6;
    if (c.gid.is_v4_mapped() != cur.gid.is_v4_mapped() && right_family) {
      current = candidate;
    } else if (right_family && valid(c.gid)) {
      const bool right_version = c.type == (wanted == 2 ? GidType::RoCEv2 : GidType::RoCEv1);
      if (right_version && (c.type != cur.type || !valid(cur.gid))) {
        current = candidate;
      }
    }
  }
  return current;
}

TEST(NcclGidSearch, LookingAtOneSlotPerGapIsEnough) {
  constexpr int kLength = 12;
  const std::vector<const char*> gids{"fe80::1", "::ffff:10.1.2.3", "::ffff:10.9.9.9", "2001:db8::1",
                                      "2001:db8::2"};
  std::minstd_rand random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<GidRow> rows;
    for (int index = 0; index < kLength; ++index) {
      if (random() % 3 != 0) {
        rows.push_back(
            row(index, gids[random() % gids.size()], random() % 2 == 0 ? GidType::RoCEv1 : GidType::RoCEv2));
      }
    }
    const bool v6 = random() % 2 == 0;
    const int wanted = random() % 4 == 0 ? 1 : 2;
    const NcclEnv env{{"NCCL_IB_ADDR_FAMILY", v6 ? "AF_INET6" : "AF_INET"},
                      {"NCCL_IB_ROCE_VERSION_NUM", std::to_string(wanted)}};
    const int expected = search_every_slot(rows, kLength, v6, wanted);
    ASSERT_THAT(ask(roce_with(rows, kLength), env, "2.26.2").index, Optional(expected)) << "round " << round;
  }
}

TEST(NcclGidSearch, HostileTablesAreBounded) {
  Port port = roce_with(
      {v2(2147483647, "::ffff:10.1.2.3"), v2(-1, "::ffff:10.1.2.4"), v1(5, "fe80::1"), v1(5, "fe80::2")},
      std::nullopt);
  EXPECT_THAT(ask(port, {}, "2.26.2").index, Optional(2147483647));
  port.gid_table_length = 2147483647;
  EXPECT_THAT(ask(port, kIpv6, "2.26.2").index, Optional(0));
  port.gid_table_length = -5;
  EXPECT_EQ(ask(port, {}, "2.26.2").index, std::nullopt);
}

}  // namespace
}  // namespace nccl_env::test::gid_search_test
