// SPDX-License-Identifier: Apache-2.0
// nccl-env nccl select.
#include <gmock/gmock.h>

#include <algorithm>

#include "cli/cli_inputs.h"

namespace nccl_env::select_test {
namespace {

using namespace nccl_env::tests;
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

TEST_F(NcclSelect, RemarksOnVariablesAndValuesThatNcclTakesForOthers) {
  const CliResult result =
      run_cli({"nccl", "select", "--table", table, "--env", "NCCL_IB_HCAA=mlx5", "--env",
               "NCCL_IB_RETRY_CNT=10", "--env", "NCCL_DEBUG=INFO", "--env", "NCCL_IB_HCA="});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err,
              StartsWith("nccl-env: --env NCCL_IB_HCAA: is not in the catalogue of NCCL's variables: "
                         "do you mean NCCL_IB_HCA?\nnccl-env: --env NCCL_IB_RETRY_CNT: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
}

}  // namespace
}  // namespace nccl_env::select_test
