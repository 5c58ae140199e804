// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/port_facts.h"

#include <gmock/gmock.h>

namespace nccl_env::port_facts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OtherFacts, AreThoseWithoutWordsOfTheirOwn) {
  Port port;
  port.hca = "mlx5_1";
  port.transport = Transport::RoCE;
  port.rate_gbps = 200;
  port.driver = "mlx5_core";
  port.numa_node = 1;
  port.gids.emplace();
  EXPECT_THAT(other_facts(port, std::vector<std::string_view>{"driver"}),
              ElementsAre("transport RoCE", "rateGbps 200", "numaNode 1"));
  EXPECT_THAT(other_facts(port), IsEmpty());
  port.lossless_priorities = "";
  EXPECT_THAT(other_facts(port), ElementsAre("losslessPriorities none"));
}

}  // namespace
}  // namespace nccl_env::port_facts_test
