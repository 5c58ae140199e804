// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/resolver_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>

namespace nccl_env::program::resolver_options_test {
namespace {

TEST(ResolverOptions, Quantities) {
  for (const char* good : {"100m", "1", "0.5", "64Mi", "1G", "1.5Gi", "20k"})
    EXPECT_EQ(quantity_problem(good), "") << good;
  for (const char* bad : {"", "0", "0.0", "0Mi", "-1", "+1", "1.", ".5", "1..2", "1.2.3", "m", "1 Mi", "1mi",
                          "1e3", "10000000000000000", "1\n", "64 Mi"})
    EXPECT_NE(quantity_problem(bad), "") << bad;
}

TEST(ResolverOptions, Images) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string& good :
       {std::string("nccl-env-agent"), std::string("registry.example:5000/x/nccl-env-agent:0.1.0"),
        "registry.example/agent" + digest, "agent:0.1.0" + digest})
    EXPECT_EQ(image_problem(good), "") << good;
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("agent:"), std::string("agent/"),
        std::string("-agent"), std::string("agent@sha256:"),
        std::string("agent@sha256:") + std::string(63, 'a'),
        std::string("agent@sha256:") + std::string(64, 'G'), std::string("agent@md5:") + std::string(64, 'a'),
        digest, "agent" + digest + "@", std::string(2000, 'a'), std::string("agent\n")})
    EXPECT_NE(image_problem(bad), "") << bad;
  EXPECT_TRUE(is_pinned("agent:1" + digest));
  EXPECT_FALSE(is_pinned("agent:1"));
}

// The manifests give one, and arguments of one's own come behind it.
TEST(ResolverOptions, TheLastImageCounts) {
  CLI::App app;
  Resolver resolver;
  add_resolver_options(app, resolver);
  const std::array arguments{"webhook", "--resolver-image=agent:1", "--resolver-image=agent:2"};
  app.parse(static_cast<int>(arguments.size()), arguments.data());
  EXPECT_EQ(resolver.image, "agent:2");
}

TEST(ResolverOptions, WithoutAnImageThereIsNoResolver) {
  Resolver resolver;
  EXPECT_FALSE(plan_options(resolver).resolver);
  resolver.image = "agent:1";
  EXPECT_EQ(plan_options(resolver).resolver->image, "agent:1");
}

}  // namespace
}  // namespace nccl_env::program::resolver_options_test
