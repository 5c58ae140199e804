// SPDX-License-Identifier: Apache-2.0
// EnvFile: variables in env that are not set where a node has no value, and what takes their place where that
// cannot be.
#include "core/decide/decided.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "support/matchers.h"

namespace nccl_env::tests::env_file_test {
namespace {

NcclPolicy env_file(Exposure exposure = Exposure::Host) {
  NcclPolicy policy = policy_for("rdma/hca*", exposure);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  policy.deliver_env_file = policy.says_delivery = true;
  return policy;
}

Json key_reference(const std::string& name) {
  return {{"name", name},
          {"valueFrom",
           {{"fileKeyRef",
             {{"volumeName", "nccl-env-conf"}, {"path", "env"}, {"key", name}, {"optional", true}}}}}};
}

Admitted plan(const Json& before, const NcclPolicy& policy = env_file(),
              const PlanOptions& options = with_resolver()) {
  return settled(before, policy, options);
}

std::vector<Json> references(const Json& container) {
  std::vector<Json> found;
  for (const Json& entry : container.value("env", Json::array())) {
    if (entry.contains("valueFrom")) found.push_back(entry);
  }
  return found;
}

std::string fallback_of(const Json& pod) {
  return Json::parse(pod["metadata"]["annotations"]["nccl-env.io/status"].get<std::string>())
      .value("fallback", "");
}

// Another webhook opts the pod out between two calls of ours.
TEST(EnvFile, ASecondCallThatSkipsThePodTakesAwayWhatTheFirstAdded) {
  Json users = pod({container("c", {env_literal("MINE", "1")})});
  Json between = plan(users).pod;
  EXPECT_NE(resolver_of(between), nullptr);
  between["metadata"]["annotations"]["nccl-env.io/inject"] = "false";
  const Json after = plan(between).pod;
  EXPECT_EQ(after["spec"]["containers"][0]["env"], users["spec"]["containers"][0]["env"]);
  EXPECT_EQ(after["spec"].dump().find("nccl-env"), std::string::npos) << after["spec"];
  Json hand_written = between;  // without a status nothing says that we wrote it
  hand_written["metadata"]["annotations"].erase("nccl-env.io/status");
  EXPECT_EQ(plan(hand_written).pod["spec"], between["spec"]);
}

TEST(EnvFile, NodeValuesAreReferencesToTheFileAndConstantsStayLiterals) {
  for (const Exposure exposure : {Exposure::Host, Exposure::PodOwned}) {
    const Admitted admitted = plan(pod({container("c")}, exposure == Exposure::Host), env_file(exposure));
    const Json& main = admitted.pod["spec"]["containers"][0];
    EXPECT_THAT(references(main),
                ElementsAre(key_reference("NCCL_IB_HCA"), key_reference("NCCL_IB_GID_INDEX"),
                            key_reference("NCCL_IB_ADDR_FAMILY")));
    EXPECT_EQ(main["env"].back(), env_literal("NCCL_IB_TIMEOUT", "22"));
    EXPECT_FALSE(main.contains("volumeMounts")) << "an image's nccl.conf stays visible";
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "EnvFile");
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "Policy");
    EXPECT_EQ(fallback_of(admitted.pod), "");
    EXPECT_EQ(admitted.pod["spec"]["volumes"],
              Json::parse(R"([{"name":"nccl-env-conf","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}])"));
    if (exposure == Exposure::Host) continue;
    EXPECT_EQ(admitted.plan.form, Form::ContainerStart) << "a pod that knows more looks by itself";
    const Json made = resolver_of(admitted.pod);
    EXPECT_EQ(made["args"], (Json{"resolve", "--out", "/nccl-env/nccl.conf", "--env-out", "/nccl-env/env"}));
    EXPECT_THAT(names(made["env"]), ElementsAre("NCCL_ENV_POLICY", "NCCL_ENV_NODE"));
  }
}

TEST(EnvFile, ForHostTheInitContainerTakesTheBindingsValuesAndNoPolicy) {
  const Json admitted = plan(pod({container("c")})).pod;
  EXPECT_TRUE(of_parsed(admitted, reads_env_file));
  const Json made = resolver_of(admitted);
  EXPECT_EQ(made["args"], (Json{"resolve", "--out", "/nccl-env/nccl.conf", "--env-out", "/nccl-env/env",
                                "--given", "NCCL_IB_HCA,NCCL_IB_GID_INDEX,NCCL_IB_ADDR_FAMILY"}));
  std::map<std::string, std::string> paths;
  for (const Json& entry : made["env"]) paths[entry["name"]] = entry["valueFrom"]["fieldRef"]["fieldPath"];
  EXPECT_EQ(paths, (std::map<std::string, std::string>{
                       {"NCCL_ENV_NODE", "metadata.annotations['nccl-env.io/node']"},
                       {"NCCL_ENV_CONF", "metadata.annotations['hostnetwork.nccl-env.io/nccl.conf']"}}));
}

TEST(EnvFile, TheInitContainerComesFirstAndWhatAHookPutsInFrontHasNoReference) {
  Json before = pod({container("c")});
  before["spec"]["initContainers"] = {container("fetch", {}, ""), container("check")};
  Json made = plan(before).pod;
  EXPECT_THAT(init_names(made), ElementsAre("nccl-env-resolve", "fetch", "check"));
  EXPECT_THAT(references(made["spec"]["initContainers"][2]), ::testing::SizeIs(3));
  auto& inits = made["spec"]["initContainers"];
  for (const bool serves_ranks : {true, false}) {
    Json early = made;
    auto& first = early["spec"]["initContainers"];
    first.insert(first.begin(), container("early"));
    if (serves_ranks) first[0]["command"] = {"/usr/sbin/sshd"};
    early = plan(early).pod;
    EXPECT_EQ(told(early, "early", "NCCL_IB_TIMEOUT"), "Policy") << serves_ranks;
  }
  inits.insert(inits.begin(), container("early"));
  made = plan(made).pod;
  EXPECT_THAT(init_names(made), ElementsAre("early", "nccl-env-resolve", "fetch", "check"));
  EXPECT_THAT(references(made["spec"]["initContainers"][0]), IsEmpty());
  EXPECT_EQ(told(made, "early", "NCCL_IB_HCA"), "TooEarly");
}

TEST(EnvFile, ConstantsAloneNeedNoInitContainer) {
  NcclPolicy policy = env_file(Exposure::PodOwned);
  policy.hca.kind = HcaRule::Kind::Omit;
  policy.gid_index.kind = GidIndexRule::Kind::Omit;
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  const Admitted admitted = plan(pod({container("c")}, false), policy);
  EXPECT_EQ(resolver_of(admitted.pod), nullptr);
  EXPECT_EQ(admitted.pod["spec"]["containers"][0]["env"],
            (Json{env_literal("NCCL_SOCKET_IFNAME", "eth0"), env_literal("NCCL_IB_TIMEOUT", "22")}));
}

TEST(EnvFile, WhatEnvFromMayHoldComesByTheFileAndARankOfSshdHasBoth) {
  Json main = container("c");
  main["envFrom"] = {{{"configMapRef", {{"name", "x"}}}}};
  const Json open = plan(pod({main})).pod;
  EXPECT_EQ(told(open, "c", "NCCL_IB_HCA"), "File");
  const Json with_sshd = plan(running_sshd(pod({container("c")}))).pod;
  for (const auto& [made, count] : {std::pair(open, 0), std::pair(with_sshd, 3)}) {
    EXPECT_TRUE(has_file(made["spec"]["containers"][0]));
    EXPECT_THAT(references(made["spec"]["containers"][0]), ::testing::SizeIs(count));
  }
}

TEST(EnvFile, ARuntimeThatMayKeepItsVolumesInsideGetsTheFile) {
  for (const auto& [runtime, fallback, way] : {
           std::tuple("kata", "RuntimeUnknown", "File"),
           std::tuple("kata-qemu", "RuntimeUnknown", "File"),
           std::tuple("gvisor", "RuntimeUnknown", "File"),
           std::tuple("nvidia", "", "EnvFile"),
       }) {
    Json before = pod({container("c")});
    before["spec"]["runtimeClassName"] = runtime;
    const Json made = plan(before).pod;
    EXPECT_EQ(fallback_of(made), fallback) << runtime;
    EXPECT_EQ(told(made, "c", "NCCL_IB_HCA"), way) << runtime;
    EXPECT_EQ(has_file(made["spec"]["containers"][0]), resolver_of(made) == nullptr) << runtime;
  }
}

TEST(EnvFile, ACommandThatHandsItsEnvToOtherNodesGetsTheFile) {
  for (const auto& [command, fallback] : {
           std::pair<std::vector<std::string>, const char*>({"ray", "start", "--head"}, "EnvCopied"),
           {{"bash", "-c", "exec /usr/local/bin/ray start --address=$HEAD --block"}, "EnvCopied"},
           {{"mpiexec.hydra", "-n", "16", "train"}, "EnvCopied"},
           {{"python", "-m", "deepspeed.launcher.runner", "train.py"}, "EnvCopied"},
           {{"horovodrun", "-np", "4", "train"}, "EnvCopied"},
           {{"sh", "-c", "NCCL_DEBUG=INFO deepspeed train.py"}, "EnvCopied"},
           {{"sh", "-c", "pip\tinstall\tdeepspeed; torchrun train.py"}, ""},
           {{"torchrun", "train.py", "--ray", "start"}, ""},
           {{"python", "deepspeed_train.py"}, ""},
           {{"bash", "-c", "pip install deepspeed && torchrun train.py"}, ""},
           {{"bash", "-c", "cd /src/deepspeed; torchrun train.py"}, ""},
           {{"bash", "-c", "pip install x\ncd /src && deepspeed train.py"}, "EnvCopied"},
       }) {
    Json main = container("c");
    main["command"] = command;
    const Json made = plan(pod({main})).pod;
    EXPECT_EQ(fallback_of(made), fallback) << main;
    EXPECT_EQ(told(made, "c", "NCCL_IB_HCA"), *fallback ? "File" : "EnvFile") << main;
  }
}

TEST(EnvFile, WithoutAnInitContainerTheFileTakesItsPlace) {
  const Admitted none = admit(pod({container("c")}), env_file());
  EXPECT_EQ(told(none.pod, "c", "NCCL_IB_HCA"), "File");
  Json labelled = pod({container("c")});
  labelled["metadata"]["labels"] = {{"nccl-env.io/resolve", "Binding"}};
  EXPECT_EQ(told(plan(labelled).pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_EQ(told(plan(pod({container("nccl-env-resolve")})).pod, "nccl-env-resolve", "NCCL_IB_HCA"), "File");
}

// Hooks with older types leave an entry with a source without members, or with no source at all.
Json without_file_keys(Json pod, bool whole) {
  for (const char* list : {"initContainers", "containers"}) {
    for (Json& container : pod["spec"][list]) {
      for (Json& entry : container["env"]) {
        if (!entry.contains(Json::json_pointer("/valueFrom/fileKeyRef"))) continue;
        entry.erase("valueFrom");
        if (!whole) entry["valueFrom"] = Json::object();
      }
    }
  }
  return pod;
}

TEST(EnvFile, EntriesThatAnotherHookEmptiedArePlannedAnewByFile) {
  for (const bool whole : {false, true}) {
    Json before = pod({container("c"), container("d", {env_literal("EMPTY", "")})});
    const Json dropped = without_file_keys(plan(before).pod, whole);
    const Admitted second = plan(dropped);
    EXPECT_EQ(fallback_of(second.pod), "ReferenceDropped");
    EXPECT_EQ(second.plan.fallback, Reason::ReferenceDropped);
    EXPECT_EQ(second.pod["spec"].value("initContainers", Json::array()), Json::array());
    EXPECT_EQ(second.pod["spec"]["containers"][0]["env"],
              Json::array({env_literal("NCCL_IB_TIMEOUT", "22")}));
    EXPECT_EQ(second.pod["spec"]["containers"][1]["env"][0], env_literal("EMPTY", "")) << "the user's own";
    EXPECT_TRUE(has_file(second.pod["spec"]["containers"][0]));
    EXPECT_EQ(told(second.pod, "c", "NCCL_IB_HCA"), "File");
  }
}

TEST(EnvFile, AUsersEntryOfThatFormIsNotOurs) {
  const Json users{{"name", "NCCL_IB_HCA"}, {"valueFrom", Json::object()}};
  const Admitted admitted = plan(pod({container("c", {users})}));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "UserSet");
  EXPECT_EQ(admitted.pod["spec"]["containers"][0]["env"][0], users);
}

// Groups of other engines, whichever carrier.

TEST(OtherReaders, WhatVllmOrMooncakeWritesIsLeftToIt) {
  const char* const kVllm = "VLLM_NIC_SELECTION_VARS";
  const char* const kList = "UCX_NET_DEVICES:1,NCCL_IB_HCA:1";
  for (const bool by_env : {false, true}) {
    NcclPolicy policy = env_file();
    policy.deliver_env_file = by_env;
    const char* const way = by_env ? "EnvFile" : "File";
    for (const auto& [name, value, variable, what] : {
             std::tuple(kVllm, kList, "NCCL_IB_HCA", "UserSetGroup"),
             std::tuple(kVllm, kList, "NCCL_IB_GID_INDEX", "UserSetGroup"),
             std::tuple(kVllm, kList, "NCCL_IB_TIMEOUT", "Policy"),
             std::tuple(kVllm, "UCX_NET_DEVICES:1,NCCL_IB_HCA_2", "NCCL_IB_HCA", way),
             std::tuple("MC_GID_INDEX", "3", "NCCL_IB_GID_INDEX", "UserSetGroup"),
             std::tuple("MC_GID_INDEX", "3", "NCCL_IB_HCA", way),
         }) {
      const Json made = plan(pod({container("c", {env_literal(name, value)})}), policy).pod;
      EXPECT_EQ(told(made, "c", variable), what) << name << "=" << value;
    }
  }
}

TEST(OtherReaders, NoIndexIsPinnedBesidePortRecovery) {
  const Json recovery = env_literal("NCCL_IB_RESILIENCY_PORT_RECOVERY", "1");
  EXPECT_EQ(told(plan(pod({container("c", {recovery})})).pod, "c", "NCCL_IB_GID_INDEX"), "UserSetGroup");
  NcclPolicy policy = env_file();
  policy.env.emplace("NCCL_IB_RESILIENCY_PORT_RECOVERY", "1");
  EXPECT_EQ(told(plan(pod({container("c")}), policy).pod, "c", "NCCL_IB_GID_INDEX"), "OmittedByPolicy");
  policy.env["NCCL_IB_RESILIENCY_PORT_RECOVERY"] = "0";
  EXPECT_EQ(told(plan(pod({container("c")}), policy).pod, "c", "NCCL_IB_GID_INDEX"), "EnvFile");
}

// What the init container writes.

TEST(InitGivenValues, AreThoseOfTheTextAndNothingIsEmpty) {
  const std::vector<std::string> names{"NCCL_IB_HCA", "NCCL_IB_GID_INDEX"};
  const ConfText text = read_conf("NCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_IB_TC=106\n#NCCL_IB_HCA\n");
  const Resolution given = resolve_given(names, text, R"({"v":1,"node":"n1"})");
  EXPECT_EQ(render_env_file(given.env), "NCCL_IB_HCA='mlx5_0,mlx5_1'\n")
      << "the note's form, and no other name";
  EXPECT_THAT(given.omitted, IsEmpty()) << "the node annotation says why";
  EXPECT_TRUE(given.complete);
  const Resolution none = resolve_given({"NCCL_IB_GID_INDEX"}, {}, "");  // no webhook answered
  EXPECT_EQ(render_env_file(none.env), "");
  ASSERT_EQ(none.omitted.size(), 1u);
  EXPECT_EQ(none.omitted[0].name, "NCCL_IB_GID_INDEX");
  EXPECT_EQ(none.omitted[0].reason, Reason::NotBound);
}

// The kubelet's grammar: one bad line keeps the container from starting.
TEST(EnvFileText, HasNoLineThatTheKubeletRefuses) {
  EXPECT_EQ(
      render_env_file({{"A", "x y"}, {"B", "it's"}, {"C", ""}, {"D", "a\nb"}, {"E F", "1"}, {"G", "=m:1"}}),
      "A='x y'\nG='=m:1'\n");
}

}  // namespace
}  // namespace nccl_env::tests::env_file_test
