// SPDX-License-Identifier: Apache-2.0
// ncclIbGetGidIndex, ncclUpdateGidIndex, envIbAddrFamily, envIbAddrRange (src/transport/net_ib.cc).
#include <gmock/gmock.h>

#include "core/nccl/nccl_fabric.h"

namespace nccl_env::test::gid_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

TEST(NcclGid, IndexZeroIsTheDefaultUpTo2205) {
  for (const char* at : {"2.18.1", "2.19.3", "2.20.5", "2.20"}) {
    const NcclGid answer = ask(roce("mlx5_0"), {}, at);
    EXPECT_THAT(answer.index, Optional(0)) << at;
    EXPECT_THAT(answer.note, HasSubstr("GID index 0 (the default before 2.21) is link-local and RoCE v1."))
        << at;
    EXPECT_THAT(ask(infiniband("mlx5_0"), {}, at).index, Optional(0)) << at;
    EXPECT_THAT(ask(infiniband("mlx5_0"), {{"NCCL_IB_GID_INDEX", "3"}}, at).index, Optional(3)) << at;
  }
}

TEST(NcclGid, NegativeIsFatalUpTo2205AndDynamicAfter) {
  const NcclEnv env{{"NCCL_IB_GID_INDEX", "-1"}};
  EXPECT_EQ(ask(roce("mlx5_0"), env, "2.20.5").index, std::nullopt);
  EXPECT_THAT(ask(roce("mlx5_0"), env, "2.20.5").note, HasSubstr("first connection fails"));
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
  const auto literal = [](const char* text, std::string_view at = "2.23.4") {
    return ask(roce("mlx5_0"), {{"NCCL_IB_GID_INDEX", text}}, at);
  };
  EXPECT_THAT(literal("3").note, IsEmpty());
  EXPECT_THAT(literal("2").index, Optional(2));
  EXPECT_THAT(literal("2").note, HasSubstr("GID index 2 (from NCCL_IB_GID_INDEX) is RoCE v1."));
  EXPECT_THAT(literal("1").note, HasSubstr("is link-local."));
  EXPECT_THAT(literal("7").index, Optional(7));
  EXPECT_THAT(literal("7").note, HasSubstr("is empty"));
  EXPECT_EQ(literal("16").index, std::nullopt);
  EXPECT_THAT(literal("16").note, HasSubstr("outside the table, and the first connection fails"));
  EXPECT_EQ(literal("16", "2.20.5").index, std::nullopt);
}

TEST(NcclGid, LiteralAboveEightBitsIsCut) {
  const Port port = roce_with({v2(0, "::ffff:10.1.2.3")}, 1024);
  const NcclGid answer = ask(port, {{"NCCL_IB_GID_INDEX", "256"}}, "2.21.5");
  EXPECT_THAT(answer.index, Optional(0));
  EXPECT_THAT(answer.note, HasSubstr("cut to eight bits: 0 is used"));
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

TEST(NcclGid, LiteralBeyondTheRowsOfATableOfUnknownLength) {
  const NcclGid answer =
      ask(roce_with({v2(0, "::ffff:10.1.2.3")}, std::nullopt), {{"NCCL_IB_GID_INDEX", "5"}}, "2.23.4");
  EXPECT_THAT(answer.index, Optional(5));
  EXPECT_THAT(answer.note, HasSubstr("is empty or outside the table"));
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
  EXPECT_EQ(ask(port, {}, "2.30.7").index, std::nullopt);
  EXPECT_THAT(ask(port, {}, "2.30.7").note, HasSubstr("link layer is not known"));
}

}  // namespace
}  // namespace nccl_env::test::gid_test
