// SPDX-License-Identifier: Apache-2.0
// nccl-env nccl select.
#include <gmock/gmock.h>

#include "cli/cli_inputs.h"

namespace nccl_env::select_test {
namespace {

using namespace nccl_env::testing;
using Json = nlohmann::json;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class NcclSelect : public Cli {};

TEST_F(NcclSelect, AppliesTheGivenEnvironment) {
  const CliResult all =
      run_cli({"nccl", "select", "--table", table, "--nccl-version", "2.21.5", "-o", "json"});
  EXPECT_EQ(Json::parse(all.out)["hcas"], Json({"mlx5_0:1"}));
  EXPECT_EQ(Json::parse(all.out)["gidIndex"], Json({{"mlx5_0:1", 3}}));
  const CliResult none = run_cli({"nccl", "select", "--table", table, "--env", "NCCL_IB_HCA=^=mlx5_0",
                                  "--env", "NCCL_DEBUG=INFO", "-o", "json"});
  EXPECT_THAT(Json::parse(none.out)["hcas"], IsEmpty());
  EXPECT_THAT(run_cli({"nccl", "select", "--table", table, "--nccl-version", "2.18.3"}).out,
              StartsWith("NCCL 2.18.3 on gpu-1\n  HCAs        mlx5_0:1\n"));
}

}  // namespace
}  // namespace nccl_env::select_test
