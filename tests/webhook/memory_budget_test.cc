// SPDX-License-Identifier: Apache-2.0
#include "memory_budget.h"

#include <algorithm>

#include "core/recorded.h"
#include "nccl_env/base/yaml.h"
#include "options.h"
#include "support/matchers.h"
#include "support/places.h"

namespace nccl_env::webhook::memory_budget_test {
namespace {

using namespace nccl_env::tests;

TEST(MemoryBudget, GrowsWithEachOption) {
  const std::uint64_t bound = memory_bound({});
  const auto with = [](auto change) {
    MemoryInput input;
    change(input);
    return memory_bound(input);
  };
  EXPECT_EQ(with([](MemoryInput& input) { input.max_connections += 1024; }), bound + (150u << 20));
  EXPECT_GT(with([](MemoryInput& input) { ++input.threads; }), bound);
  EXPECT_GT(with([](MemoryInput& input) { ++input.waiting_threads; }), bound);
  EXPECT_GT(with([](MemoryInput& input) { input.large_bodies += 1 << 20; }), bound);
  EXPECT_GT(with([](MemoryInput& input) { ++input.tables; }), bound);
}

TEST(MemoryBudget, TheFormulaNamesItsTermsAndTheirSum) {
  EXPECT_THAT(memory_formula({}),
              AllOf(StartsWith(std::to_string(memory_mib({})) + " MiB = 18 program + "),
                    HasSubstr("150 connections (1024 x 150 KiB)"), HasSubstr("96 threads (8 x 12 MiB)")));
}

TEST(MemoryBudget, ABoundAboveTheContainersLimitNamesTheOptionToLower) {
  MemoryInput input;
  EXPECT_EQ(memory_problem(input, std::nullopt), std::nullopt);
  EXPECT_EQ(memory_problem(input, memory_bound(input)), std::nullopt);
  EXPECT_THAT(memory_problem(input, 512u << 20).value(),
              AllOf(StartsWith("--max-connections: "), HasSubstr("limit is 512 MiB")));
  input.threads = 256;
  EXPECT_THAT(memory_problem(input, 1u << 30).value(), StartsWith("--threads: "));
}

// The limit of the shipped Deployment holds what the program may need with the options there.
TEST(MemoryBudget, TheShippedLimitIsAboveTheBound) {
  const auto documents =
      parse_documents(tests::read_text(tests::in_source("/manifests/base/webhook.yaml")), "webhook.yaml");
  ASSERT_TRUE(documents) << documents.error().message;
  int seen = 0;
  for (const nlohmann::json& object : *documents) {
    if (object["kind"] != "Deployment") continue;
    const nlohmann::json& container = object["spec"]["template"]["spec"]["containers"][0];
    std::vector<std::string> arguments{"nccl-env-webhook"};
    for (const auto& argument : container["args"]) {
      std::string& text = arguments.emplace_back(argument.get<std::string>());
      for (const auto& entry : container["env"]) {  // as the kubelet expands them
        const std::string name = "$(" + entry["name"].get<std::string>() + ")";
        if (const auto at = text.find(name); at != text.npos)
          text.replace(at, name.size(), entry["value"].get<std::string>());
      }
    }
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    const ParsedOptions parsed = parse_webhook_options(static_cast<int>(pointers.size()), pointers.data());
    ASSERT_TRUE(parsed.options);
    MemoryInput input = memory_input(*parsed.options);
    input.threads = std::max(input.threads, MemoryInput().threads);  // on a node with more CPUs than here
    const std::string limit = container["resources"]["limits"]["memory"];
    ASSERT_THAT(limit, ::testing::EndsWith("Mi"));
    EXPECT_GE(std::stoull(limit), memory_mib(input)) << memory_formula(input);
    ++seen;
  }
  EXPECT_EQ(seen, 1);
}

TEST(MemoryBudget, TheServersPageStatesTheDefault) {
  EXPECT_THAT(tests::read_text(tests::in_source("/docs/reference/webhook.md")),
              HasSubstr(std::to_string(memory_mib({})) + " MiB"));
}

}  // namespace
}  // namespace nccl_env::webhook::memory_budget_test
