// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/snapshot.h"

#include <gmock/gmock.h>

namespace nccl_env::snapshot_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

SharedTable table(const std::string& name) {
  NodeFabric made;
  made.name = name;
  return pack(made);
}

TEST(TableMap, IsSortedByNodeInWhateverOrderTheyCome) {
  TableMap tables;
  for (const char* name : {"b", "d", "a", "c", "aa"}) EXPECT_TRUE(tables.insert(table(name)));
  EXPECT_THAT(tables, ElementsAre(Key("a"), Key("aa"), Key("b"), Key("c"), Key("d")));
  EXPECT_EQ(tables.find("c")->second->name(), "c");
  for (const char* name : {"e", ""}) EXPECT_FALSE(tables.contains(name));
  const TableMap copy = tables;  // keeps what the original loses
  for (const char* name : {"a", "x", "c"}) tables.erase(name);
  EXPECT_THAT(tables, ElementsAre(Key("aa"), Key("b"), Key("d")));
  EXPECT_EQ(copy.size(), 5u);
  EXPECT_EQ(copy.find("b")->second, tables.find("b")->second);
}

TEST(TableMap, InsertKeepsTheFirstAndPutTakesTheLast) {
  TableMap tables;
  const auto first = table("a"), second = table("a");
  EXPECT_TRUE(tables.insert(first));
  EXPECT_FALSE(tables.insert(second));
  EXPECT_EQ(tables.find("a")->second, first);
  tables.put(second);
  EXPECT_EQ(tables.find("a")->second, second);
  EXPECT_EQ(tables.size(), 1u);
}

TEST(TableMap, AKeyIsTheNameOfTheTableThatIsHeld) {
  TableMap tables;
  tables.put(table("a long name that no small string holds in place"));
  tables.put(table("a long name that no small string holds in place"));  // the first one is gone now
  EXPECT_TRUE(tables.contains("a long name that no small string holds in place"));
  EXPECT_EQ(tables.begin()->first.data(), tables.begin()->second->name().data());
}

}  // namespace
}  // namespace nccl_env::snapshot_test
