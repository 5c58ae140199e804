// SPDX-License-Identifier: Apache-2.0
#include "listing/import_fixture.h"

namespace nccl_env::ibdev2netdev_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Ibdev2netdev, GivesTheNetdevAndNoState) {
  const Port port = port_of("mlx5_0 port 1 ==> eth1 (Down)\n");
  EXPECT_EQ(port.netdev, "eth1");
  EXPECT_EQ(port.state, std::nullopt);
  EXPECT_EQ(port.link_layer, std::nullopt);
  EXPECT_EQ(table_of("mlx4_0 port 2 <===> ib0 (Up)\n").interfaces, std::nullopt);
}

TEST(Ibdev2netdev, RefusesLinesThatDoNotParse) {
  for (const std::string line :
       {"mlx5_0 port 1 ==> eth1", "mlx5_0 port 1 ==> (Up)", "mlx5_0 port x ==> eth1 (Up)",
        "mlx5_0 port 1 ==> eth1 (Maybe)", "mlx5/0 port 1 ==> eth1 (Up)", "mlx5_0 port 1 ==> eth1 (Up) (Up)",
        "0000:12:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) fw 28.40 port 1 (ACTIVE) ==> eth1 (Up)"}) {
    EXPECT_THAT(problems_of(import_text(line + "\n")), ElementsAre(HasSubstr("a.txt:1: expected "))) << line;
  }
  EXPECT_THAT(problems_of(import_text("mlx5_0 port 1 -> eth1 (Up)\n")),
              ElementsAre(HasSubstr("a.txt:1: this looks like a listing's line")));
}

}  // namespace
}  // namespace nccl_env::ibdev2netdev_test
