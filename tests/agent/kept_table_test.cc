// SPDX-License-Identifier: Apache-2.0
#include "kept_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nccl_env::agent::kept_table_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

json table(const std::string& version, const std::string& hca = "mlx5_1", const std::string& uid = "uid-1") {
  json made;
  made["metadata"] = {{"name", "gpu-1"}, {"resourceVersion", version}};
  made["metadata"]["ownerReferences"] = json::array({{{"kind", "Node"}, {"uid", uid}}});
  made["observed"]["ports"] = json::array({{{"hca", hca}}});
  return made;
}

class Kept : public ::testing::Test {
 protected:
  Kept() {
    kept_.follow([this](const std::string& why) { losses_.push_back(why); });
  }
  void write(const json& stored) {
    kept_.begin_write();
    kept_.end_write(stored);
  }
  void list(const std::vector<json>& objects) {
    kept_.begin_list();
    for (const json& object : objects) kept_.list_item(object);
    kept_.complete_list();
  }

  std::vector<std::string> losses_;
  KeptTable kept_;
};

TEST_F(Kept, ItsOwnWritesAreNoLoss) {
  list({});  // before the first write there is nothing to lose
  write(table("100"));
  kept_.upsert(table("100"));
  list({table("100")});
  write(table("102", "mlx5_2"));
  kept_.upsert(table("100"));  // late
  kept_.upsert(table("102", "mlx5_2"));
  EXPECT_THAT(losses_, IsEmpty());
}

TEST_F(Kept, WhatComesBeforeTheAnswerToAWriteDoesNotJudgeIt) {
  write(table("99"));
  kept_.begin_write();
  kept_.upsert(table("100", "mlx5_2"));
  kept_.end_write(table("100", "mlx5_2"));
  kept_.begin_write();
  list({});
  kept_.end_write(table("101"));
  EXPECT_THAT(losses_, IsEmpty());
}

TEST_F(Kept, ADeletedTableAndOneThatAListLacksAreLost) {
  write(table("99"));
  kept_.remove(table("100"));
  EXPECT_THAT(losses_, ElementsAre("it is gone"));
  write(table("101"));
  kept_.remove(table("100"));  // late: there is another one by now
  EXPECT_EQ(losses_.size(), 1u);
  list({});
  EXPECT_THAT(losses_, ElementsAre("it is gone", "it is gone"));
}

TEST_F(Kept, OthersMayAddLabelsButNotValuesOrAnotherOwner) {
  write(table("99"));
  json labelled = table("100");
  labelled["metadata"]["labels"]["team"] = "a";
  kept_.upsert(labelled);
  EXPECT_THAT(losses_, IsEmpty());
  kept_.upsert(table("101", "mlx5_9"));
  kept_.upsert(table("102", "mlx5_1", "uid-2"));
  EXPECT_THAT(losses_, ElementsAre("somebody changed it", "somebody changed it"));
}

// Nobody knows what became of such a write, and it is tried again.
TEST_F(Kept, AfterAWriteThatFailedNothingIsJudgedUntilOneSucceeds) {
  write(table("99"));
  write(nullptr);
  kept_.upsert(table("100", "mlx5_2"));
  kept_.remove(table("101"));
  EXPECT_THAT(losses_, IsEmpty());
  write(table("102"));
  EXPECT_THAT(losses_, IsEmpty());
  kept_.remove(table("103"));
  EXPECT_THAT(losses_, ElementsAre("it is gone"));
}

}  // namespace
}  // namespace nccl_env::agent::kept_table_test
