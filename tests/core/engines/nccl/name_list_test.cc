// SPDX-License-Identifier: Apache-2.0
// parseStringList, matchIf, matchPort, matchIfList (src/misc/utils.cc) and the prefixes that
// ncclIbInitDevices takes off first.
#include <gmock/gmock.h>

#include "core/engines/nccl/nccl_fabric.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/ports.h"

namespace nccl_env::test::name_list_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The device-ports of a small node that the list selects.
std::vector<std::string> selected(std::string_view text, std::string_view version_text = "2.21.5") {
  const NcclVersion at = version(version_text);
  const NcclNameList list = parse_nccl_name_list(text, at, nccl_max_hcas(at));
  std::vector<std::string> result;
  for (const auto& [name, port] : std::vector<std::pair<std::string, int>>{
           {"mlx5_0", 1}, {"mlx5_0", 2}, {"mlx5_1", 1}, {"mlx5_10", 1}, {"^x", 1}}) {
    if (list.selects(name, port)) {
      result.push_back(name + ":" + std::to_string(port));
    }
  }
  return result;
}

const auto kAll = ElementsAre("mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "mlx5_10:1", "^x:1");

struct Case {
  const char* rule;
  std::string text;
  std::vector<std::string> selected;
};

TEST(NcclNameList, GrammarOfEveryVersion) {
  const std::vector<Case> cases{
      {"without = a name is a prefix", "mlx5_1", {"mlx5_1:1", "mlx5_10:1"}},
      {"with = a name is whole", "=mlx5_1", {"mlx5_1:1"}},
      {"^ inverts", "^mlx5", {"^x:1"}},
      {"^ comes before =", "^=mlx5_1", {"mlx5_0:1", "mlx5_0:2", "mlx5_10:1", "^x:1"}},
      {"=^ looks for a device called ^x", "=^x", {"^x:1"}},
      {"the prefix = stands once, for the whole list", "=mlx5_0,=mlx5_1", {"mlx5_0:1", "mlx5_0:2"}},
      {"a second ^ is part of a name", "^^x", {"mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "mlx5_10:1"}},
      {"no trimming", "=mlx5_1, mlx5_0", {"mlx5_1:1"}},
      {"case counts", "=MLX5_1", {}},
      {"quotes are literal", "\"mlx5_1\"", {}},
      {"empty entries are dropped", ",,=x,mlx5_1,", {"mlx5_1:1", "mlx5_10:1"}},
      {"a port selects", "=mlx5_0:2", {"mlx5_0:2"}},
      {"a port without = keeps the prefix match", "mlx5_1:1", {"mlx5_1:1", "mlx5_10:1"}},
      {"port 0 matches nothing", "=mlx5_0:0", {}},
      {"text is port 0", "=mlx5_0:x", {}},
      {"atoi stops at the first other character", "=mlx5_0:1x", {"mlx5_0:1"}},
      {"atoi skips blanks and a sign", "=mlx5_0: +2", {"mlx5_0:2"}},
      {"-1 is any port", "=mlx5_0:-1", {"mlx5_0:1", "mlx5_0:2"}},
      {"out of range is -1", "=mlx5_0:99999999999999999999", {"mlx5_0:1", "mlx5_0:2"}},
      {"rail and plane do not disturb a written port", "=mlx5_0:1:0:1", {"mlx5_0:1"}},
      {"any entry may match", "=mlx5_0:2,mlx5_1", {"mlx5_0:2", "mlx5_1:1"}},
      {"text ends at a NUL", std::string("=mlx5_1\0,mlx5_0", 15), {"mlx5_1:1"}},
  };
  for (const Case& c : cases) {
    for (const char* at : {"2.18.1", "2.21.5", "2.30.4", "2.30.7"}) {
      EXPECT_EQ(selected(c.text, at), c.selected) << c.rule << " in " << at;
    }
  }
}

TEST(NcclNameList, NothingLeftIsEverything) {
  for (const char* at : {"2.18.1", "2.30.4", "2.30.7"}) {
    for (const char* text : {"", "=", ",", ",,", ":1", ":", ":1,:2"}) {
      EXPECT_THAT(selected(text, at), kAll) << text << " in " << at;
    }
    for (const char* text : {"^", "^=", "^,", "^:1"}) {
      EXPECT_THAT(selected(text, at), IsEmpty()) << text << " in " << at;
    }
  }
}

TEST(NcclNameList, EmptyPortsRailsAndPlanesAreReadFrom2307) {
  for (const char* text : {"=mlx5_0:", "=mlx5_0::0:1", "=mlx5_0::"}) {
    EXPECT_THAT(selected(text, "2.30.4"), IsEmpty()) << text;
    EXPECT_THAT(selected(text, "2.30.7"), ElementsAre("mlx5_0:1", "mlx5_0:2")) << text;
  }
  const auto entry = [](std::string_view text, std::string_view at = "2.30.7") {
    const auto first = parse_nccl_name_list(text, version(at), 32).entries.at(0);
    return std::pair(first.rail, first.plane);
  };
  EXPECT_EQ(entry("=mlx5_0:1:3:4"), std::pair(3, 4));
  EXPECT_EQ(entry("=mlx5_0:1::4"), std::pair(-1, 4));
  EXPECT_EQ(entry("=mlx5_0:1:3"), std::pair(3, -1));
  EXPECT_EQ(entry("=mlx5_0:1:65536:32768"), std::pair(0, -32768)) << "sixteen bits";
  EXPECT_EQ(entry("=mlx5_0:1:3:4", "2.30.4").first, -1);
}

TEST(NcclNameList, EntriesBeyondTheLimitAreIgnored) {
  std::string text = "=";
  for (int i = 0; i < 40; ++i) {
    text += "hca" + std::to_string(i) + ",";
  }
  for (const auto& [at, limit] : {std::pair{"2.18", 16}, {"2.18.3", 16}, {"2.18.5", 32}, {"2.30.7", 32}}) {
    const auto list = parse_nccl_name_list(text, version(at), nccl_max_hcas(version(at)));
    EXPECT_EQ(nccl_max_hcas(version(at)), limit) << at;
    EXPECT_EQ(list.dropped, 40 - limit) << at;
    EXPECT_TRUE(list.selects("hca" + std::to_string(limit - 1), 1)) << at;
    EXPECT_FALSE(list.selects("hca" + std::to_string(limit), 1)) << at;
  }
  const auto excluding = parse_nccl_name_list("^" + text, version("2.18.3"), 16);
  EXPECT_TRUE(excluding.selects("hca16", 1));  // not excluded
}

TEST(NcclNameList, LongNames) {
  const std::string longest(63, 'n');
  for (const char* at : {"2.30.4", "2.30.7"}) {
    const auto fits = parse_nccl_name_list("=" + longest, version(at), 32);
    EXPECT_EQ(fits.too_long, 0) << at;
    EXPECT_TRUE(fits.selects(longest, 1)) << at;
  }
  const auto overrun = parse_nccl_name_list("=" + longest + "nn", version("2.30.4"), 32);
  EXPECT_EQ(overrun.too_long, 1);
  EXPECT_FALSE(overrun.selects(longest, 1));
  const auto cut = parse_nccl_name_list("=" + longest + "nn", version("2.30.7"), 32);
  EXPECT_EQ(cut.too_long, 1);
  EXPECT_TRUE(cut.selects(longest, 1));
}

TEST(NcclNameList, HostileTextIsBounded) {
  const std::string name(10'000'000, 'n');
  EXPECT_EQ(parse_nccl_name_list(name, version("2.30.4"), 32).entries.at(0).name.size(), 64U);
  EXPECT_TRUE(parse_nccl_name_list(std::string(10'000'000, ','), version("2.30.4"), 32).entries.empty());
  std::string many;
  for (int i = 0; i < 1'000'000; ++i) {
    many += "a,";
  }
  const auto list = parse_nccl_name_list(many, version("2.30.4"), 32);
  EXPECT_EQ(list.entries.size(), 32U);
  EXPECT_EQ(list.dropped, 65536 - 32);  // what 128 KiB hold
  EXPECT_TRUE(parse_nccl_name_list("a", version("2.30.4"), 0).entries.empty());
  EXPECT_TRUE(parse_nccl_name_list("a", version("2.30.4"), -1).entries.empty());
}

}  // namespace
}  // namespace nccl_env::test::name_list_test
