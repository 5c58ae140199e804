// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/verbs_events.h"

#include <gmock/gmock.h>

#include "node/scripted_verbs.h"

namespace nccl_env::node::verbs_events_test {
namespace {

using tests::ScriptedVerbs;

TEST(VerbsEvents, OnlyDriversThatCanTakeAContextAwayAreHeldOpen) {
  for (const char* driver : {"mlx5_core", "mlx4_core", "ice", "hns3"})
    EXPECT_TRUE(may_hold_open(driver)) << driver;
  for (const char* driver : {"", "rxe", "siw", "bnxt_en", "efa", "qede", "erdma", "ionic"})
    EXPECT_FALSE(may_hold_open(driver)) << driver;
}

TEST(VerbsEvents, FollowOpensWhatIsNewAndClosesWhatIsGone) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].descriptor = 10;
  verbs.devices["mlx5_1"].descriptor = 11;
  {
    VerbsEvents events(verbs);
    events.follow({"mlx5_0", "mlx5_1"});
    events.follow({"mlx5_0", "mlx5_1"});
    EXPECT_EQ(verbs.devices["mlx5_0"].opened, 1);
    EXPECT_THAT(events.descriptors(), ::testing::ElementsAre(10, 11));
    events.follow({"mlx5_1"});
    EXPECT_EQ(verbs.devices["mlx5_0"].closed, 1);
    EXPECT_EQ(verbs.devices["mlx5_1"].closed, 0);
  }
  EXPECT_EQ(verbs.devices["mlx5_1"].closed, 1);
}

TEST(VerbsEvents, ADeviceJustOpenedHasToBeLookedAtAgain) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].descriptor = 10;
  verbs.devices["mlx5_1"].open_error = "Permission denied";
  VerbsEvents events(verbs);
  EXPECT_TRUE(events.follow({"mlx5_0", "mlx5_1"}));
  EXPECT_FALSE(events.follow({"mlx5_0", "mlx5_1"}));
  EXPECT_FALSE(events.follow({}));
  EXPECT_TRUE(events.follow({"mlx5_0"}));
}

TEST(VerbsEvents, AllEventsAreTakenAndAFatalOneClosesTheDevice) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].events = {{"port active", false}, {"GID change", false}};
  VerbsEvents events(verbs);
  events.follow({"mlx5_0"});
  EXPECT_EQ(events.take(), 2);
  EXPECT_EQ(events.take(), 0);
  EXPECT_EQ(events.descriptors().size(), 1u);
  verbs.devices["mlx5_0"].events = {{"device fatal", true}, {"GID change", false}};
  EXPECT_EQ(events.take(), 1);
  EXPECT_EQ(verbs.devices["mlx5_0"].closed, 1);
  EXPECT_TRUE(events.descriptors().empty());
}

TEST(VerbsEvents, ADeviceThatCannotBeOpenedIsTriedAgain) {
  ScriptedVerbs verbs;
  verbs.devices["mlx5_0"].open_error = "Permission denied";
  verbs.devices["mlx5_1"].descriptor = -1;
  VerbsEvents events(verbs);
  events.follow({"mlx5_0", "mlx5_1"});
  EXPECT_TRUE(events.descriptors().empty());
  EXPECT_EQ(verbs.devices["mlx5_1"].closed, 1);
  verbs.devices["mlx5_0"].open_error.clear();
  events.follow({"mlx5_0"});
  EXPECT_EQ(events.descriptors().size(), 1u);
}

}  // namespace
}  // namespace nccl_env::node::verbs_events_test
