// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/variable_names.h"

#include <gtest/gtest.h>

#include "nccl_env/core/engines/catalogue.h"

namespace nccl_env {
namespace {

TEST(NameProblem, OfAMisspeltBeginningNamesTheVariableThatIsMeant) {
  for (const std::string_view name : {"NCLL_DEBUG", "NCL_DEBUG", "nccl_debug", "Nccl_Debug", "NCCLL_DEBUG"})
    EXPECT_EQ(name_problem(name), "is not a variable of NCCL's: do you mean NCCL_DEBUG?") << name;
  for (const std::string_view name :
       {"NCLL_MINE", "NVCC_DEBUG", "DEBUG", "N_DEBUG", "NCCL", "_", "NCCL_DEBUG"})
    EXPECT_EQ(name_problem(name), std::nullopt) << name;
  const std::pair<const char*, std::string> meant[] = {
      {"NCCL_GID_INDEX", "do you mean NCCL_IB_GID_INDEX?"},
      {"NCCL_IB_QPS_PER_CONN", "do you mean NCCL_IB_QPS_PER_CONNECTION?"},
      {"NCCL_IB_TRAFFIC_CLASS", "do you mean NCCL_IB_TC?"},
      {"NCCL_TIMEOUT", "PyTorch takes its time-out as init_process_group(timeout)"},
      {"NCCL_DISABLE_IB", "do you mean NCCL_IB_DISABLE?"},
      {"NCCL-IB-HCA", "do you mean NCCL_IB_HCA?"},
      {"NCCL_SOCKET_INTERFACE", "do you mean NCCL_SOCKET_IFNAME?"}};
  for (const auto& [name, text] : meant)
    EXPECT_EQ(name_problem(name), "is not a variable of NCCL's: " + text) << name;
  EXPECT_EQ(name_problem("NCCL_IB_RES"), std::nullopt);  // two begin so
  EXPECT_EQ(name_problem("NCCL-MINE"), std::nullopt);
  EXPECT_EQ(setting_problem("UCX_NET_DEVICE", "mlx5_0:1").value().sentence,
            "UCX_NET_DEVICE is not a variable of UCX's: do you mean UCX_NET_DEVICES?");
  EXPECT_FALSE(setting_problem("UCX_LOG_LEVEL", "info"));
  EXPECT_TRUE(has_known_prefix("NCLL_DEBUG"));
  EXPECT_FALSE(has_known_prefix("NVCC_DEBUG"));
}

}  // namespace
}  // namespace nccl_env
