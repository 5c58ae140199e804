// SPDX-License-Identifier: Apache-2.0
#include "check/checked.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/golden.h"

namespace nccl_env::checked_test {
namespace {

using namespace nccl_env::cli;

TEST(Checked, ACommandStaysWholeAndASentenceIsWrapped) {
  const std::string command = "kubectl describe crd " + std::string(60, 'x');
  for (const std::string& remedy : {command, command + " says why."})
    tests::expect_golden(remedy, render_text({{Code::Crds, Severity::Error, "seen", remedy}}));
}

TEST(Checked, TheVerdictAndTheWorstComeFirst) {
  const Checks checks{{Code::ApiServer, Sight::Good, "there"},
                      {Code::Crds, Severity::Info, "new"},
                      {Code::Tables, Severity::Warning, "old"},
                      {Code::Hooks, Severity::Error, "none"},
                      {Code::Hooks, Severity::Error, "another"}};
  EXPECT_TRUE(
      render_text(checks).starts_with("5 checks: 2 errors (Hooks), 1 warning (Tables), 1 info, 1 ok\n"));
  const auto json = to_json(checks);
  EXPECT_EQ(json["sentence"], "5 checks: 2 errors (Hooks), 1 warning (Tables), 1 info, 1 ok");
  EXPECT_EQ(json["findings"][0]["code"], "Hooks");
  EXPECT_EQ(json["findings"][3]["code"], "Crds");
}

TEST(Checked, WhatCouldNotBeSeenIsNeverGood) {
  const Checks checks{{Code::Crds, Sight::Good, "there"}, {Code::Hooks, Sight::NotSeen, "HTTP 403"}};
  EXPECT_FALSE(is_good(findings_of(checks)));
  tests::expect_golden(render_text(checks));
  const auto json = to_json(checks);
  EXPECT_EQ(json["findings"][0]["code"], "Hooks");
  EXPECT_EQ(json["ok"].dump(), R"([{"code":"Crds","sentence":"there"}])");
}

}  // namespace
}  // namespace nccl_env::checked_test
