// SPDX-License-Identifier: Apache-2.0
#include "check/check_line.h"

#include <gmock/gmock.h>

namespace nccl_env::check_line_test {
namespace {

using namespace nccl_env::cli;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckLine, ACommandStaysWholeAndASentenceIsWrapped) {
  const std::string remedy = "kubectl describe crd " + std::string(60, 'x') + " says why.";
  CheckLine line{"Crds", CheckState::Failed, "seen", remedy};
  EXPECT_THAT(render_text({line}), Not(HasSubstr(remedy)));
  line.is_command = true;
  EXPECT_THAT(render_text({line}), HasSubstr("\n  Do: " + remedy + "\n"));
}

}  // namespace
}  // namespace nccl_env::check_line_test
