// SPDX-License-Identifier: Apache-2.0
// explain pod/NAME of pods with /etc/nccl.conf, by annotation or written inside the pod, and by EnvFile.
#include "core/conf_pods.h"
#include "core/decide/decided.h"
#include "judge/asked.h"

namespace nccl_env::injected_conf_test {
namespace {

using namespace nccl_env::tests;

Json by_file(const NcclPolicy& policy, std::vector<Json> env = {}) {
  return admit(pod({container("c", std::move(env))}), policy).pod;
}

NcclPolicy start_policy() {
  return file_policy(Exposure::SubInterface);
}

Json with_init(Json object, const Json& state) {
  object["status"]["initContainerStatuses"] =
      Json::array({{{"name", "nccl-env-resolve"}, {"image", "registry/agent:1"}, {"state", state}}});
  return object;
}

// Bound, as without a binding hook; `state` is the init container's.
Json started(const NcclPolicy& policy, const Json& state = nullptr, std::vector<Json> env = {}) {
  Json object = admit(pod({container("c", std::move(env))}, false), policy, nullptr, with_resolver()).pod;
  object["spec"]["nodeName"] = "gpu-1";
  return state.is_null() ? object : with_init(std::move(object), state);
}

Resolution found() {
  Resolution resolution;
  resolution.values = {
      {"NCCL_IB_ADDR_FAMILY", "AF_INET"}, {"NCCL_IB_GID_INDEX", "5"}, {"NCCL_IB_HCA", "=mlx5_3"}};
  resolution.omitted = {left_out("NCCL_SOCKET_IFNAME", Reason::OmittedByPolicy, "The policy leaves it.")};
  return resolution;
}

std::vector<std::string> changes_of(const Answered& asked) {
  std::vector<std::string> texts;
  for (const Change& change : asked.answer.changes)
    texts.push_back(change.now.name + " " + change.then.value_or("-") + " " + change.now.value.value_or("-"));
  return texts;
}

TEST(PodFile, TheEnvBeatsItVariableByVariable) {
  const NodeFabric table = rails_node(2);
  const NcclPolicy policy = file_policy(Exposure::Host);
  const Json env = Json::array({env_literal("NCCL_IB_TIMEOUT", "19")});
  const Answered asked = ask(bound(by_file(policy, env), policy, &table), all_readable(policy, table));
  EXPECT_EQ(asked.record.containers[0].find("NCCL_IB_TIMEOUT")->value, "19");
  expect_golden(asked.text());
  EXPECT_THAT(render_env(asked.record), Not(HasSubstr("22")));
  EXPECT_THAT(changes_of(asked), IsEmpty());
  const nlohmann::ordered_json json = to_json(asked.answer, asked.record, asked.around);
  EXPECT_EQ(json["containers"][0]["file"]["state"], "known");
  EXPECT_EQ(json["containers"][0]["file"]["lines"][2]["counts"], false);
}

TEST(PodFile, AMessageInLinesOfJsonTellsAProblemAsOne) {
  Resolution resolution = found();
  resolution.unread = {"mlx5_2 ports/1/state"};
  EXPECT_EQ(ask(started(start_policy(), said(render_message(resolution)))).record.file->state,
            GivenFile::State::Known);
  resolution.problems = {"no space left on device"};
  const std::string message = render_message(resolution);
  const Answered asked = ask(started(start_policy(), said(message)));
  EXPECT_EQ(asked.record.file->state, GivenFile::State::Failed);
  expect_golden(message, asked.answer.sentence);
  EXPECT_THAT(asked.record.file->lines, IsEmpty());
}

TEST(PodFile, AtStartAReasonIsToldWithItsSentence) {
  const Json ended = said({{"NCCL_IB_HCA", "=mlx5_3"}},
                          {left_out("NCCL_IB_GID_INDEX", Reason::GidTableUnknown, "mlx5_3 has no row.")});
  const std::string message = ended["terminated"]["message"];
  expect_told(message, ask(started(start_policy(), ended)), PodState::Given);
  const std::string cut = message.substr(0, message.find("GidTable"));
  const Answered asked = ask(started(start_policy(), said(cut)));
  EXPECT_EQ(asked.record.file->lines.size(), 1u) << "the kubelet cut it";
  expect_told(cut, asked, PodState::Given);
}

TEST(PodFile, TheInitContainersStateTellsWhetherItIsMissed) {
  const auto told = [](const Json& state, PodState of_pod, bool finding) {
    expect_told(state.is_null() ? "no state yet" : state.dump(), ask(started(start_policy(), state)), of_pod,
                finding);
  };
  told(nullptr, PodState::NotStarted, false);
  told({{"waiting", {{"reason", "PodInitializing"}}}}, PodState::NotStarted, false);
  told({{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such image"}}}}, PodState::NotStarted,
       true);
  told({{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}, PodState::NotStarted, true);
  told({{"terminated", {{"exitCode", 0}}}}, PodState::Given, false);
}

// Nothing found and nothing said are two things.
TEST(PodFile, AMessageThatIsMissingOrOfAFileThatIsIsTold) {
  for (const Json& state : {Json{{"terminated", {{"exitCode", 0}}}}, said("")}) {
    const Answered asked = ask(started(start_policy(), state));
    EXPECT_EQ(asked.record.file->state, GivenFile::State::Foreign);
    EXPECT_THAT(asked.answer.sentence, HasSubstr("the message of nccl-env-resolve is missing"));
    EXPECT_THAT(asked.text(), HasSubstr("(not told by nccl-env-resolve)"));
    EXPECT_THAT(render_env(asked.record), Not(HasSubstr("found at container start"))) << "it has ended";
  }
  EXPECT_THAT(ask(started(start_policy(), said("hello\n"))).answer.sentence,
              HasSubstr("is not one that nccl-env writes"));
  EXPECT_THAT(ask(started(start_policy(), said("{\"v\":1}\n{\"set\":\"NCCL_IB"))).answer.sentence,
              HasSubstr("the kubelet cut the message"));
  // It has ended well, with an empty file: what it printed before is not in the file.
  const Json unwritten = said({{"NCCL_IB_HCA", "=mlx5_3"}}, {}, {"/conf/nccl.conf: cannot be written"});
  const Answered empty = ask(started(start_policy(), unwritten));
  expect_told(unwritten["terminated"]["message"], empty, PodState::Given, true);
  EXPECT_THAT(render_env(empty.record), Not(HasSubstr("mlx5_3")));
}

TEST(PodFile, AtStartOnlyConstantsAreCompared) {
  NcclPolicy later = start_policy();
  later.env = {{"NCCL_IB_TIMEOUT", "20"}};
  const Json object = started(start_policy(), said(render_message(found())));
  EXPECT_THAT(changes_of(ask(object, all_readable(later, rails_node(2)))),
              ElementsAre("NCCL_IB_TIMEOUT 22 20"));
  NcclPolicy file = start_policy();
  later.env["NCCL_IB_TC"] = "106";
  Resolution with_constants = found();
  with_constants.values["NCCL_IB_TIMEOUT"] = "22";
  const Json by_file = started(file, said(render_message(with_constants)));
  EXPECT_THAT(changes_of(ask(by_file, all_readable(later, rails_node(2)))),
              ElementsAre("NCCL_IB_TC - 106", "NCCL_IB_TIMEOUT 22 20"));
  EXPECT_THAT(changes_of(ask(started(file), all_readable(later, rails_node(2)))),
              ElementsAre("NCCL_IB_TC - 106", "NCCL_IB_TIMEOUT 22 20"))
      << "what is in the file is not known, and constants stand in env";
}

TEST(PodFile, AMessageThatIsNotOursIsNotBelievedAndNotObeyed) {
  std::string long_one;
  while (long_one.size() <= 4096) long_one += "{\"v\":1}\n";
  for (const std::string& message :
       {std::string("NCCL_IB_HCA=\x1b[31m\n"), std::string("\x07\n"), std::string("NCCL_IB_HCA=a\0b\n", 16),
        std::string("\n"), std::string("NCCL_IB_HCA==mlx5_3\n"), std::string("hello"),
        std::string("{\"v\":1}\nNCCL_IB_HCA==mlx5_3\n"),
        std::string("{\"v\":1}\n{\"set\":\"LD_PRELOAD\",\"to\":\"/x\"}\n"),
        std::string("{\"v\":1}\n{\"omitted\":\"NCCL_IB_HCA\",\"reason\":\"Nonsense\",\"detail\":\"\"}\n"),
        std::string("{\"v\":1}\n{\"problem\":\"a\\u001b[31m\"}\n"),
        std::string("{\"v\":2}\n{\"set\":\"NCCL_IB_HCA\",\"to\":\"=x\"}\n"), long_one}) {
    const Answered asked = ask(started(start_policy(), said(message)));
    EXPECT_EQ(asked.record.file->state, GivenFile::State::Foreign) << message;
    EXPECT_THAT(asked.record.file->lines, IsEmpty());
    EXPECT_EQ(asked.text().find_first_of("\x1b\x07"), std::string::npos);
  }
  for (const Json& odd :
       {Json(7), Json::array({7}), Json{{"terminated", 7}}, Json{{"terminated", Json::object()}},
        Json{{"terminated", {{"exitCode", "0"}, {"reason", {7}}}}},
        Json{{"waiting", {{"reason", "\x1b[2J"}}}}})
    EXPECT_EQ(ask(started(start_policy(), odd)).text().find('\x1b'), std::string::npos);
}

TEST(PodFile, AnAnnotationThatIsNotOursIsNotRead) {
  const NodeFabric table = rails_node(2);
  const NcclPolicy policy = file_policy(Exposure::Host);
  for (const std::string text : {"PATH=/tmp\n", "NCCL_IB_HCA=a", "# comment\n", "NCCL_IB_HCA=\x1b[2J\n"}) {
    Json object = bound(by_file(policy), policy, &table);
    object["metadata"]["annotations"]["hostnetwork.nccl-env.io/nccl.conf"] = text;
    const Answered asked = ask(object);
    EXPECT_EQ(asked.record.file->state, GivenFile::State::Foreign) << text;
    EXPECT_EQ(asked.text().find('\x1b'), std::string::npos);
  }
  Json other = by_file(policy);
  other["spec"]["volumes"][0]["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"] =
      "metadata.annotations['example.com/nccl.conf']";
  EXPECT_FALSE(ask(other).record.file);
}

TEST(PodFile, VerifyTakesWhatThePodFoundItself) {
  const Json object = started(start_policy(), said(render_message(found())));
  ReviewParser parser;
  const std::string text = object.dump();
  const Result<Pod> parsed = parser.parse_pod(text);
  ASSERT_TRUE(parsed);
  const auto names = [](const Result<std::vector<Value>>& values) {
    std::vector<std::string> found;
    for (const Value& value : *values)
      found.push_back(value.name + "=" + *value.value + " " + std::string(source_word(value)));
    return found;
  };
  EXPECT_THAT(names(injected_values(*parsed, "c", object)),
              AllOf(Contains("NCCL_IB_HCA==mlx5_3 Pod"), Contains("NCCL_IB_TIMEOUT=22 Policy")));
}

NcclPolicy env_file() {
  NcclPolicy policy = file_policy(Exposure::Host);
  policy.deliver_env_file = policy.says_delivery = true;
  return policy;
}

// What the init container of a pod on this node says.
Json init_state(const Json& object) {
  return said(render_message(resolved_by(object, {})));
}

Json created() {
  return admit(pod({container("c")}), env_file(), nullptr, with_resolver()).pod;
}

Json started(const NodeFabric* table) {
  const Json object = bound(created(), env_file(), table);
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
  EXPECT_EQ(render_env(asked.record),
            "NCCL_IB_HCA=mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TIMEOUT=22\n"
            "# NCCL_SOCKET_IFNAME is left out (OmittedByPolicy)\n");
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
    Resolution resolution = resolve_given({"NCCL_IB_HCA", "NCCL_IB_GID_INDEX"},
                                          read_conf("NCCL_IB_HCA=mlx5_1,mlx5_2\nNCCL_IB_GID_INDEX=3\n"), "x");
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
}  // namespace nccl_env::injected_conf_test
