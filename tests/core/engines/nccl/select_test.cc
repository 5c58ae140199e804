// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/engines/nccl/nccl_fabric.h"

namespace nccl_env::test::select_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(NcclSelect, PortsIndexesAndInterfacesAsJson) {
  const auto table = fabric({roce("mlx5_0"), roce("mlx5_1")});
  const auto selection =
      nccl_select(table, {{"NCCL_IB_HCA", "=mlx5_1"}, {"NCCL_SOCKET_IFNAME", "=eth0"}}, kNewestNccl);
  EXPECT_EQ(to_json(selection).dump(),
            R"({"hcas":["mlx5_1:1"],"gidIndex":{"mlx5_1:1":3},"interfaces":["eth0"],"notes":[]})");
}

TEST(NcclSelect, AFaultIsWhatTheListDidNotMean) {
  const auto faults = [](const std::vector<Port>& ports, const std::string& list) {
    std::vector<NcclFault> found;
    for (const auto& [fault, text] : nccl_select(fabric(ports), {{"NCCL_IB_HCA", list}}, kNewestNccl).faults)
      found.push_back(fault);
    return found;
  };
  using testing::ElementsAre;
  Port down = roce("mlx5_2");
  down.state = PortState::Down;
  const std::vector<Port> ports{roce("mlx5_1"), down, roce("mlx5_10")};
  EXPECT_THAT(faults(ports, "=mlx5_1,mlx5_2"), ElementsAre(NcclFault::PortDown));
  EXPECT_THAT(faults(ports, "mlx5"), IsEmpty()) << "which devices were meant is not known";
  EXPECT_THAT(faults(ports, "^mlx5_2,mlx5_3"), IsEmpty()) << "what is left out need not be there";
  EXPECT_THAT(faults(ports, "=mlx5_1,mlx5_3"), ElementsAre(NcclFault::NoSuchPort));
  EXPECT_THAT(faults(ports, "mlx5_1"), ElementsAre(NcclFault::Neighbour));
  EXPECT_THAT(faults(ports, "mlx5_1,mlx5_10"), IsEmpty()) << "the neighbour is named, too";
  EXPECT_THAT(faults({down}, "=mlx5_2"), ElementsAre(NcclFault::PortDown, NcclFault::NoPort));
}

TEST(NcclSelect, AnIndexThatIsNotKnownIsLeftOut) {
  Port port = roce("mlx5_0");
  port.gids.reset();
  const nlohmann::json json(to_json(nccl_select(fabric({port}), {}, kNewestNccl)));
  EXPECT_EQ(json["hcas"], nlohmann::json::array({"mlx5_0:1"}));
  EXPECT_EQ(json["gidIndex"], nlohmann::json::object());
  EXPECT_EQ(json["notes"].size(), 1U);
}

TEST(NcclSelect, EachPortSearchesForItself) {
  Port other = roce("mlx5_1");
  other.gids = std::vector<GidRow>{v1(0, "fe80::2"), v2(1, "::ffff:10.1.3.3")};
  const nlohmann::json json(to_json(nccl_select(fabric({roce("mlx5_0"), other}), {}, kNewestNccl)));
  EXPECT_EQ(json["gidIndex"].dump(), R"({"mlx5_0:1":3,"mlx5_1:1":1})");
}

TEST(NcclSelect, OneNoteForAllPortsOfWhichTheSameIsToBeSaid) {
  const auto selection = nccl_select(fabric({roce("mlx5_0"), roce("mlx5_1")}), {}, version("2.20.5"));
  EXPECT_THAT(selection.notes,
              Contains(HasSubstr("mlx5_0:1, mlx5_1:1: GID index 0 (the default before 2.21)")));
  ASSERT_EQ(selection.faults.size(), 1U);
  EXPECT_EQ(selection.faults[0].first, NcclFault::OldDefault) << "the ports have better rows";
}

TEST(NcclSelect, VariablesOfTheSearchAreNotReadBefore221) {
  const NcclEnv env{{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}, {"NCCL_IB_ROCE_VERSION_NUM", "2"}};
  const auto old = nccl_select(fabric({roce("mlx5_0")}), env, version("2.20.5"));
  EXPECT_THAT(old.notes,
              Contains("NCCL before 2.21 does not read NCCL_IB_ADDR_FAMILY, NCCL_IB_ROCE_VERSION_NUM."));
  const auto newer = nccl_select(fabric({roce("mlx5_0")}), env, version("2.21.5"));
  EXPECT_THAT(newer.notes, Not(Contains(HasSubstr("does not read"))));
}

TEST(NcclSelect, AnEmptyTableHasNoPorts) {
  NodeFabric table;
  const auto selection = nccl_select(table, {}, kNewestNccl);
  EXPECT_THAT(selection.ports, IsEmpty());
  EXPECT_THAT(selection.notes, Contains(HasSubstr("No device found")));
  EXPECT_THAT(selection.notes, Contains(HasSubstr("interfaces are not known")));
}

TEST(NcclSelect, HostileValuesGiveShortPrintableNotes) {
  const std::string hostile = std::string(1'000'000, '\xff') + ",\x1b[31m";
  NcclEnv env;
  for (const char* name : {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_IB_ADDR_RANGE", "NCCL_IB_GID_INDEX",
                           "NCCL_IB_ADDR_FAMILY", "NCCL_SOCKET_FAMILY", "NCCL_COMM_ID"}) {
    env[name] = hostile;
  }
  for (const char* at : {"2.18.1", "2.21.5", "2.30.7"}) {
    const std::string text = to_json(nccl_select(fabric({roce("mlx5_0")}), env, version(at))).dump();
    EXPECT_LT(text.size(), 4096U) << at;
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << at;
  }
  env["NCCL_NET"] = hostile;
  EXPECT_LT(to_json(nccl_select(fabric({roce("mlx5_0")}), env, kNewestNccl)).dump().size(), 4096U);
}

TEST(NcclSelect, ALaterVersionIsAnsweredByTheNewestRulesWithANote) {
  const auto newest = nccl_select(fabric({roce("mlx5_0")}), {}, kNewestNccl);
  const auto later = nccl_select(fabric({roce("mlx5_0")}), {}, {2, 33, 1});
  ASSERT_EQ(later.notes.size(), newest.notes.size() + 1);
  EXPECT_EQ(later.notes.front(),
            "NCCL 2.33.1 is newer than the rules that are known here: those of 2.32.3 are taken.");
  EXPECT_EQ(later.ports.size(), newest.ports.size());
}

}  // namespace
}  // namespace nccl_env::test::select_test
