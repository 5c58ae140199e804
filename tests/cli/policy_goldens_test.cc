// SPDX-License-Identifier: Apache-2.0
// Values that a pod of each fabric gets under the policy that we ship for it:
// tests/data/golden/policies/NAME.txt holds the commands and what they print. `make goldens` runs the
// commands again and writes what they print now.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/console.h"

namespace nccl_env::policy_goldens_test {
namespace {

using namespace nccl_env::tests;
using ::testing::HasSubstr;

const std::string kFolder = "tests/data/golden/policies";

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_file(folder)))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<ConsoleExample> golden(const std::string& name) {
  std::vector<std::string> lines;
  std::ifstream file(source_file(kFolder + "/" + name + ".txt"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return console_examples(lines);
}

class PolicyGolden : public ConsoleTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(PolicyGolden, IsWhatThePodGets) {
  const std::vector<ConsoleExample> kept = golden(GetParam());
  ASSERT_FALSE(kept.empty());
  const std::string& last = kept.back().command;
  EXPECT_TRUE(last.starts_with("explain --policy policies/" + GetParam() + ".yaml ")) << last;
  EXPECT_THAT(last, HasSubstr(" --at 20")) << "a table gets stale";
  EXPECT_THAT(last, HasSubstr(" --nccl-version 2.")) << "the newest is another one day";

  const bool writes = std::getenv("NCCL_ENV_WRITE_GOLDENS") != nullptr;
  std::string now;
  for (const ConsoleExample& example : kept) {
    const std::string printed = run(example.command);
    now.append(kPrompt).append(example.command).append("\n").append(printed);
    if (!writes) {
      EXPECT_EQ(printed, example.printed) << "make goldens, and look at what changed";
    }
  }
  if (writes) std::ofstream(source_file(kFolder + "/" + GetParam() + ".txt")) << now;
}

INSTANTIATE_TEST_SUITE_P(Policies, PolicyGolden, ::testing::ValuesIn(names_in(kFolder)),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PolicyGoldens, EveryPolicyHasOne) {
  EXPECT_EQ(names_in("policies"), names_in(kFolder));
}

// A node or a pod that no golden reads proves nothing.
TEST(PolicyGoldens, EveryNodeAndPodIsUsed) {
  std::set<std::string> used;
  for (const std::string& name : names_in(kFolder)) {
    for (const ConsoleExample& example : golden(name)) {
      std::istringstream words(example.command);
      for (std::string word; words >> word;) used.insert(word);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(source_file("tests/data/policies"))) {
    const std::string file = "tests/data/policies/" + entry.path().filename().string();
    EXPECT_TRUE(used.contains(file)) << file;
  }
}

}  // namespace
}  // namespace nccl_env::policy_goldens_test
