// SPDX-License-Identifier: Apache-2.0
#include "check/checked.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace nccl_env::checked_test {
namespace {

using namespace nccl_env::cli;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Checked, ACommandStaysWholeAndASentenceIsWrapped) {
  const std::string command = "kubectl describe crd " + std::string(60, 'x');
  EXPECT_THAT(render_text({{Code::Crds, Severity::Error, "seen", command + " says why."}}),
              Not(HasSubstr(command + " says")));
  EXPECT_THAT(render_text({{Code::Crds, Severity::Error, "seen", command}}),
              HasSubstr("\n  Do: " + command + "\n"));
}

TEST(Checked, WhatCouldNotBeSeenIsNeverGood) {
  const Checks checks{{Code::Crds, Sight::Good, "there"}, {Code::Hooks, Sight::NotSeen, "HTTP 403"}};
  EXPECT_FALSE(is_good(findings_of(checks)));
  EXPECT_EQ(render_text(checks),
            "ok       Crds   there\nwarning  Hooks  not seen: HTTP 403\n\n2 checks: 1 warning, 1 ok\n");
  const auto json = to_json(checks);
  EXPECT_EQ(json["findings"][0]["code"], "Hooks");
  EXPECT_EQ(json["ok"].dump(), R"([{"code":"Crds","sentence":"there"}])");
}

}  // namespace
}  // namespace nccl_env::checked_test
