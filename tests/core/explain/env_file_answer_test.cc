// SPDX-License-Identifier: Apache-2.0
// explain pod/NAME of pods whose values come by EnvFile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/asked.h"
#include "core/conf_pods.h"
#include "nccl_env/core/decide/start.h"

namespace nccl_env::env_file_answer_test {
namespace {

using namespace nccl_env::tests;
using ::testing::IsEmpty;

NcclPolicy env_file() {
  NcclPolicy policy = file_policy(Exposure::Host);
  policy.deliver_env_file = policy.says_delivery = true;
  return policy;
}

// What the init container of a pod on this node says, by its own fieldRefs.
Json init_state(const Json& object) {
  const Json annotations = object["metadata"].value("annotations", Json::object());
  ConstantMap texts;
  std::string node;
  for (const Json& entry : object["spec"]["initContainers"][0]["env"]) {
    const std::string path = entry["valueFrom"]["fieldRef"]["fieldPath"];
    const std::string text = annotations.value(path.substr(22, path.size() - 24), "");
    if (entry["name"] == init_variable::kNode) node = text;
    if (entry["name"].get<std::string>().starts_with("NCCL_IB")) texts.emplace(entry["name"], text);
  }
  return said(render_message(resolve_given(texts, node)));
}

Json with_init(Json object, const Json& state) {
  object["status"]["initContainerStatuses"] =
      Json::array({{{"name", "nccl-env-resolve"}, {"image", "registry/agent:1"}, {"state", state}}});
  return object;
}

Json created(const NcclPolicy& policy = env_file()) {
  return admit(pod({container("c")}), policy, nullptr, with_resolver()).pod;
}

Json started(const NodeFabric* table, const NcclPolicy& policy = env_file()) {
  const Json object = bound(created(policy), policy, table);
  return with_init(object, init_state(object));
}

std::string value_of(const Answered& asked, const char* name) {
  const Value* value = asked.record.containers.back().find(name);
  return value && value->value ? *value->value + " " + std::string(source_word(*value)) : "";
}

TEST(PodEnvFile, ItsValuesAreThoseThatTheInitContainerWrote) {
  const NodeFabric table = rails_node(2);
  const Answered asked = ask(started(&table), all_readable(env_file(), table));
  expect_told("all readable", asked, PodState::Given);
  EXPECT_EQ(value_of(asked, "NCCL_IB_HCA"), "mlx5_1,mlx5_2 EnvFile");
  EXPECT_EQ(value_of(asked, "NCCL_IB_GID_INDEX"), "3 EnvFile");
  EXPECT_THAT(asked.answer.changes, IsEmpty());
  EXPECT_EQ(render_env(asked.record), "NCCL_IB_HCA=mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TIMEOUT=22\n");
}

TEST(PodEnvFile, ItWaitsForTheNodeAndThenForTheInitContainer) {
  expect_told("no node yet", ask(created()), PodState::WaitingForNode);
  const NodeFabric table = rails_node(2);
  const Json object = bound(created(), env_file(), &table);
  expect_told("the init container runs", ask(with_init(object, {{"running", Json::object()}})),
              PodState::NotStarted);
  expect_told("its image is not there",
              ask(with_init(object, {{"waiting", {{"reason", "ImagePullBackOff"}}}})), PodState::NotStarted,
              true);
}

TEST(PodEnvFile, WhatTheNodeLacksIsNotSetAndHasItsReason) {
  const Answered asked = ask(started(nullptr));
  expect_told("no table", asked, PodState::Given, true);
  EXPECT_EQ(asked.answer.findings.front().code, Code::NoList);
}

TEST(PodEnvFile, WithoutAWebhookAtTheBindingItIsMissed) {
  Json object = created();
  object["spec"]["nodeName"] = "gpu-1";
  expect_told("no Binding", ask(with_init(object, init_state(object))), PodState::MissedAtBinding, true);
}

TEST(PodEnvFile, OnAKubeletThatDoesNotReadItEveryVariableIsEmpty) {
  NodeFabric table = rails_node(2);
  table.kubelet_version = "v1.34.9";
  const Answered asked = ask(started(&table), all_readable(env_file(), table));
  expect_told("v1.34.9", asked, PodState::MissedAtBinding, true);
  EXPECT_EQ(asked.answer.reason, Reason::KubeletTooOld);
  EXPECT_EQ(value_of(asked, "NCCL_IB_HCA"), "");
  for (const char* version : {"v1.35.0", "v1.36.3-eks-1", "v2.0.0", "odd"}) {
    table.kubelet_version = version;
    const Answered read = ask(started(&table), all_readable(env_file(), table));
    EXPECT_EQ(read.answer.state, PodState::Given) << version;
  }
}

// The init container tells the limit that the runtime set for the whole pod.
TEST(PodEnvFile, TheMemlockLimitThatWasSeenDecides) {
  const NodeFabric table = rails_node(2);
  Json object = equipped(bound(created(), env_file(), &table));
  for (Json& container : object["spec"]["containers"]) container.erase("securityContext");
  const auto with = [&](std::optional<std::int64_t> limit) {
    Resolution resolution =
        resolve_given({{"NCCL_IB_HCA", "mlx5_1,mlx5_2"}, {"NCCL_IB_GID_INDEX", "3"}}, "x");
    resolution.memory_lock = limit;
    return ask_as_it_is(with_init(object, said(render_message(resolution))), all_readable(env_file(), table));
  };
  EXPECT_TRUE(is_good(with(std::nullopt).answer.findings));
  EXPECT_EQ(with(std::nullopt).answer.findings.at(0).code, Code::MemoryLock) << "not known";
  EXPECT_THAT(with(-1).answer.findings, IsEmpty()) << "the runtime has lifted it";
  EXPECT_TRUE(is_good(with(std::int64_t{1} << 40).answer.findings));
  EXPECT_FALSE(is_good(with(64 << 10).answer.findings));
  expect_told("64 KiB", with(64 << 10), PodState::Given, true);
}

TEST(PodEnvFile, WhatTookItsPlaceIsSaid) {
  Json kata = pod({container("c")});
  kata["spec"]["runtimeClassName"] = "kata";
  const Json made = admit(kata, env_file(), nullptr, with_resolver()).pod;
  const NodeFabric table = rails_node(2);
  expect_told("kata", ask(bound(made, env_file(), &table), all_readable(env_file(), table)), PodState::Given);
}

}  // namespace
}  // namespace nccl_env::env_file_answer_test
