// SPDX-License-Identifier: Apache-2.0
// Counters stand where names and addresses stood, and equal ones stay equal.
#include "cluster/disguise.h"

#include <gmock/gmock.h>

namespace nccl_env::disguise_test {
namespace {

using namespace nccl_env::cli;

TEST(Disguise, AnAddressHasOneCounterInEachOfItsForms) {
  Disguise disguise;
  EXPECT_EQ(disguise.addresses("25.11.128.2, 25.11.128.3"), "address-1, address-2");
  EXPECT_EQ(disguise.addresses("::ffff:25.11.128.2 0000:0000:0000:0000:0000:ffff:190b:8002 25.11.128.2/27"),
            "address-1 address-1 address-1/27");
  EXPECT_EQ(disguise.addresses("https://25.11.128.3:6443: x"), "https://address-2:6443: x");
  EXPECT_EQ(disguise.addresses("fe80:0000:0000:0000:b83f:d203:00b4:f5a2 169.254.1.1 fe80::b83f:d203:b4:f5a2"),
            "link-local-1 link-local-2 link-local-1");
  EXPECT_EQ(disguise.addresses("b83f:d203:00b4:f5a2 b83f:d203:00b4:f5a2"), "guid-1 guid-1");
}

TEST(Disguise, WhatNamesNobodyStays) {
  Disguise disguise;
  for (const char* text :
       {"::1 :: 0.0.0.0 127.0.0.1 0000:0000:0000:0000", "gpu-1 mlx5_1 0000:53:00.0 2026-11-20T08:00:00Z", ""})
    EXPECT_EQ(disguise.addresses(text), text);
  for (const char* name : {"", "default", "kube-system", "nccl-env-webhook-1"})
    EXPECT_EQ(disguise.name(name), name);
  const std::string slashes(1 << 20, '/');
  EXPECT_EQ(disguise.text(slashes), slashes);
  std::string parts;
  for (int i = 0; i < 100'000; ++i) parts += "a/a:";
  EXPECT_EQ(disguise.text(parts), parts);
}

TEST(Disguise, TextsHaveTheCountersOfKnownNamesAndOfWordsInQuotes) {
  Disguise disguise;
  EXPECT_EQ(disguise.name("gpu-1"), "name-1");
  EXPECT_EQ(disguise.name("ml"), "name-2");
  EXPECT_EQ(disguise.name("train-0"), "name-3");
  EXPECT_EQ(disguise.name("gpu-1"), "name-1");
  EXPECT_EQ(disguise.text("pod ml/train-0 is on gpu-1, not on gpu-10."),
            "pod name-2/name-3 is on name-1, not on gpu-10.");
  EXPECT_EQ(disguise.text("claim \"private\" of \"pods.nccl-env.io\" at \"10.0.0.1\""),
            "claim \"name-4\" of \"pods.nccl-env.io\" at \"address-1\"");
}

// Nothing else names a node without a table, to which no pod was bound.
TEST(Disguise, TheNodeOfARefusalHasOne) {
  Disguise disguise;
  const std::string begin = "webhook \"binding.nccl-env.io\" denied the request: nccl-env: ";
  EXPECT_EQ(disguise.text(begin + "NoTable: gpu-7: there is no NodeFabric of that name."),
            begin + "NoTable: name-1: there is no NodeFabric of that name.");
  for (const std::string other : {"Nonsense: gpu-8: x", "NoTable", "NoTable: ", "NoTable: no table", ""})
    EXPECT_EQ(disguise.text(begin + other), begin + other);
}

}  // namespace
}  // namespace nccl_env::disguise_test
