// SPDX-License-Identifier: Apache-2.0
// ncclIbGetGidIndex, ncclUpdateGidIndex, envIbAddrFamily, envIbAddrRange (src/transport/net_ib.cc).
#include <gmock/gmock.h>

#include "core/engines/nccl/nccl_fabric.h"
#include "support/golden.h"

namespace nccl_env::test::gid_test {
namespace {

using testing::Optional;

// The index; the golden holds the note.
std::optional<int> index_of(const Port& port, const NcclEnv& env, const std::string& at) {
  const NcclGid answer = ask(port, env, at);
  std::string input = "NCCL " + at;
  for (const auto& [name, value] : env) input += " " + name + "=" + value;
  tests::expect_golden(input, answer.note);
  return answer.index;
}

TEST(NcclGid, IndexZeroIsTheDefaultUpTo2205) {
  for (const char* at : {"2.18.1", "2.19.3", "2.20.5", "2.20"}) {
    EXPECT_THAT(index_of(roce("mlx5_0"), {}, at), Optional(0)) << at;
    EXPECT_THAT(ask(infiniband("mlx5_0"), {}, at).index, Optional(0)) << at;
    EXPECT_THAT(ask(infiniband("mlx5_0"), {{"NCCL_IB_GID_INDEX", "3"}}, at).index, Optional(3)) << at;
  }
}

TEST(NcclGid, NegativeIsFatalUpTo2205AndDynamicAfter) {
  const NcclEnv env{{"NCCL_IB_GID_INDEX", "-1"}};
  EXPECT_EQ(index_of(roce("mlx5_0"), env, "2.20.5"), std::nullopt);
  EXPECT_EQ(ask(infiniband("mlx5_0"), env, "2.20.5").index, std::nullopt);
  for (const char* at : kVersionsThatSearch) {
    EXPECT_THAT(ask(roce("mlx5_0"), env, at).index, Optional(3)) << at;
    EXPECT_THAT(ask(roce("mlx5_0"), {{"NCCL_IB_GID_INDEX", "-7"}}, at).index, Optional(3)) << at;
  }
}

TEST(NcclGid, LiteralIsReadWithBaseZeroAndEmptyIsUnset) {
  const std::vector<std::pair<const char*, int>> cases{
      {"3", 3},         {"0x3", 3},   {"03", 3},
      {"abc", 0},       {"\"3\"", 0}, {"2abc", 2},
      {"1e3", 1},       {"", 3},      {"99999999999999999999", 3},
      {"4294967298", 2}};
  for (const auto& [text, index] : cases) {
    EXPECT_THAT(ask(roce("mlx5_0"), {{"NCCL_IB_GID_INDEX", text}}, "2.23.4").index, Optional(index)) << text;
  }
  EXPECT_THAT(ask(roce("mlx5_0"), {{"NCCL_IB_GID_INDEX", ""}}, "2.20.5").index, Optional(0));
}

TEST(NcclGid, LiteralThatWillNotCarryTraffic) {
  const auto literal = [](const char* text, const std::string& at = "2.23.4") {
    return index_of(roce("mlx5_0"), {{"NCCL_IB_GID_INDEX", text}}, at);
  };
  for (const int index : {3, 2, 1, 7}) EXPECT_THAT(literal(std::to_string(index).c_str()), Optional(index));
  EXPECT_EQ(literal("16"), std::nullopt);
  EXPECT_EQ(literal("16", "2.20.5"), std::nullopt);
  const Port port = roce_with({v2(0, "::ffff:10.1.2.3")}, 1024);
  EXPECT_THAT(index_of(port, {{"NCCL_IB_GID_INDEX", "256"}}, "2.21.5"), Optional(0)) << "eight bits";
  const Port unknown = roce_with({v2(0, "::ffff:10.1.2.3")}, std::nullopt);
  EXPECT_THAT(index_of(unknown, {{"NCCL_IB_GID_INDEX", "5"}}, "2.23.4"), Optional(5)) << "of unknown length";
}

TEST(NcclGid, LiteralNeedsNoRows) {
  Port port = roce("mlx5_0");
  port.gids.reset();
  EXPECT_THAT(ask(port, {{"NCCL_IB_GID_INDEX", "3"}}, "2.23.4").index, Optional(3));
  EXPECT_EQ(ask(port, {{"NCCL_IB_GID_INDEX", "16"}}, "2.23.4").index, std::nullopt);
  EXPECT_EQ(ask(port, {}, "2.23.4").index, std::nullopt);
  EXPECT_TRUE(ask(port, {}, "2.23.4").needs_rows);
  EXPECT_FALSE(ask(port, {{"NCCL_IB_GID_INDEX", "3"}}, "2.23.4").needs_rows);
}

TEST(NcclGid, InfiniBandFrom2223TakesTheRoutableGidOrZero) {
  Port plain = infiniband("mlx5_0");
  Port routable = infiniband("mlx5_0");
  routable.gids->push_back(row(1, "fec0:0:12:1:506b:4b03:1:1", GidType::IB));
  for (const char* at : {"2.22.3", "2.22", "2.30.7"}) {
    EXPECT_THAT(ask(plain, {}, at).index, Optional(0)) << at;
    EXPECT_THAT(ask(routable, {}, at).index, Optional(1)) << at;
    EXPECT_THAT(ask(routable, {{"NCCL_IB_GID_INDEX", "5"}}, at).index, Optional(1)) << "not read in " << at;
    EXPECT_THAT(ask(routable, {{"NCCL_IB_ROUTABLE_FLID_GID_INDEX", "2"}}, at).index, Optional(0)) << at;
    EXPECT_THAT(ask(routable, {{"NCCL_IB_ROUTABLE_FLID_GID_INDEX", "8"}}, at).index, Optional(0)) << at;
    EXPECT_EQ(ask(routable, {{"NCCL_IB_ROUTABLE_FLID_GID_INDEX", "-1"}}, at).index, std::nullopt) << at;
  }
  EXPECT_THAT(ask(routable, {}, "2.21.5").index, Optional(0));
  plain.gids.reset();
  EXPECT_EQ(ask(plain, {}, "2.22.3").index, std::nullopt);
  EXPECT_THAT(ask(plain, {}, "2.21.5").index, Optional(0));
}

TEST(NcclGid, LinkLayerThatIsNotKnown) {
  Port port = roce("mlx5_0");
  port.link_layer.reset();
  EXPECT_THAT(ask(port, {}, "2.30.7").index, Optional(3));  // the transport tells
  port.transport.reset();
  EXPECT_THAT(ask(port, {}, "2.30.7").index, Optional(3));  // a RoCE v2 row tells
  port.gids = std::vector<GidRow>{untyped(0, "fe80::1")};
  EXPECT_EQ(index_of(port, {}, "2.30.7"), std::nullopt);
}

}  // namespace
}  // namespace nccl_env::test::gid_test
