// SPDX-License-Identifier: Apache-2.0
// nccl.conf at container start: the init container, its volume, and who reads what it writes.
#include "core/decide/decided.h"
#include "nccl_env/core/policy/writer.h"
#include "support/matchers.h"

namespace nccl_env::tests::container_start_test {
namespace {

NcclPolicy shared() {
  NcclPolicy policy = policy_for("rdma/hca*", Exposure::SubInterface);
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  return policy;
}

Admitted start(const Json& before, const NcclPolicy& policy = shared(),
               const PlanOptions& options = with_resolver()) {
  return settled(before, policy, options);
}

Json sized(const std::string& name, const char* resource = "rdma/hca") {
  Json made = container(name);
  made["resources"]["limits"] = {{resource, "1"}, {"cpu", "8"}, {"memory", "64Gi"}};
  made["resources"]["requests"] = made["resources"]["limits"];
  return made;
}

TEST(ContainerStart, WritesTheFileInsideThePod) {
  const Admitted admitted = start(pod({container("c")}, false));
  EXPECT_EQ(admitted.plan.form, Form::ContainerStart);
  EXPECT_THAT(init_names(admitted.pod), ElementsAre("nccl-env-resolve"));
  EXPECT_EQ(admitted.pod["spec"]["volumes"],
            Json::parse(R"([{"name":"nccl-env-conf","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}])"));
  const Json& container = admitted.pod["spec"]["containers"][0];
  EXPECT_EQ(container["volumeMounts"], kConfMounts);
  EXPECT_EQ(container["env"],
            (Json{env_literal("NCCL_SOCKET_IFNAME", "eth0"), env_literal("NCCL_IB_TIMEOUT", "22")}));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "Pod");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_GID_INDEX"), "Pod");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "Policy");
}

TEST(ContainerStart, TheInitContainerHarmsNobody) {
  const Json resolver = resolver_of(start(pod({sized("c")}, false)).pod);
  EXPECT_EQ(resolver["image"], with_resolver().resolver->image);
  EXPECT_EQ(resolver["args"], (Json{"resolve", "--out", "/nccl-env/nccl.conf"}));
  EXPECT_FALSE(resolver.contains("imagePullPolicy"));
  EXPECT_FALSE(resolver.contains("restartPolicy"));
  EXPECT_EQ(resolver["securityContext"], Json::parse(R"({"runAsNonRoot":true,
      "allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,
      "seccompProfile":{"type":"RuntimeDefault"}})"));
  EXPECT_EQ(resolver["volumeMounts"], Json::parse(R"([{"name":"nccl-env-conf","mountPath":"/nccl-env"},
      {"name":"nccl-env-conf","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount",
       "subPath":"no-token","readOnly":true}])"));
  const Json quantities{{"cpu", "8"}, {"memory", "64Gi"}};
  EXPECT_EQ(resolver["resources"], (Json{{"limits", quantities}, {"requests", quantities}}));
}

// Whatever a namespace's LimitRange and quota say of sizes, they have taken the container's own.
TEST(ContainerStart, ItsSizesAreThoseOfTheContainerThatItServes) {
  Json burstable = container("c");
  burstable["resources"]["requests"] = {{"memory", "1Gi"}, {"cpu", 2}, {"ephemeral-storage", "5Gi"}};
  burstable["resources"]["limits"] = {{"memory", "2Gi"}, {"rdma/hca", "1"}};
  Json init = sized("init");
  Json whole = pod({burstable, sized("second")}, false);
  whole["spec"]["initContainers"] = Json::array({init});
  const Json made = resolver_of(start(whole).pod)["resources"];
  EXPECT_EQ(made["requests"], (Json{{"memory", "1Gi"}, {"cpu", "2"}, {"ephemeral-storage", "5Gi"}}));
  EXPECT_EQ(made["limits"], (Json{{"memory", "2Gi"}}));
}

TEST(ContainerStart, ABestEffortPodStaysOneWhateverSizesTheCommandLineNames) {
  PlanOptions options = with_resolver();
  options.resolver->cpu = "250m";
  options.resolver->memory = "1Gi";
  options.resolver->ephemeral_storage = "16Mi";
  const Json best_effort = resolver_of(start(pod({container("c")}, false), shared(), options).pod);
  EXPECT_EQ(best_effort["resources"]["limits"], (Json{{"ephemeral-storage", "16Mi"}}));
  EXPECT_EQ(best_effort["resources"]["requests"], best_effort["resources"]["limits"]);
  EXPECT_EQ(resolver_of(start(pod({container("c")}, false)).pod)["resources"]["limits"], Json::object());
  const Json guaranteed = resolver_of(start(pod({sized("c")}, false), shared(), options).pod);
  EXPECT_EQ(guaranteed["resources"]["limits"],
            (Json{{"cpu", "250m"}, {"memory", "1Gi"}, {"ephemeral-storage", "16Mi"}}));
  EXPECT_EQ(guaranteed["resources"]["requests"], guaranteed["resources"]["limits"]);
}

// The plugin AlwaysPullImages has changed all that were there, and refuses one that comes in a second round.
TEST(ContainerStart, PullsAlwaysWhereAllContainersDo) {
  Json always = sized("c");
  always["imagePullPolicy"] = "Always";
  EXPECT_EQ(resolver_of(start(pod({always}, false)).pod)["imagePullPolicy"], "Always");
  EXPECT_FALSE(resolver_of(start(pod({always, sized("d")}, false)).pod).contains("imagePullPolicy"));
}

TEST(ContainerStart, SetsAUserOnlyWhereThePodsIsRoot) {
  for (const auto& [user, expected] : {std::pair(0, 65532), std::pair(1000, -1)}) {
    Json before = pod({container("c")}, false);
    before["spec"]["securityContext"] = {{"runAsUser", user}, {"fsGroup", 2000}};
    const Json context = resolver_of(start(before).pod)["securityContext"];
    EXPECT_EQ(context.value("runAsUser", -1), expected) << user;
  }
}

TEST(ContainerStart, ThePolicyTravelsWithItsNameAndIsNotExpanded) {
  NcclPolicy policy = shared();
  policy.generation = 7;
  policy.fabric.hcas = {"mlx5_$(X)$"};  // Kubernetes would expand it
  const Json resolver = resolver_of(start(pod({container("c")}, false), policy).pod);
  ASSERT_EQ(resolver["env"].size(), 1u);
  EXPECT_EQ(resolver["env"][0]["name"], "NCCL_ENV_POLICY");
  std::string text = resolver["env"][0]["value"];
  EXPECT_NE(text.find("mlx5_$$(X)$$"), std::string::npos);
  for (std::size_t at = 0; (at = text.find("$$", at)) != std::string::npos; ++at) text.erase(at, 1);
  policy.fabric.hcas = {"mlx5_1"};
  Json carried = Json::parse(text);
  EXPECT_EQ(carried["spec"]["fabric"]["hcas"], (Json{"mlx5_$(X)$"}));
  carried["spec"]["fabric"]["hcas"] = {"mlx5_1"};
  EXPECT_EQ(carried, to_json(policy));
}

// An init container that would look for nothing costs a pull and a start.
TEST(ContainerStart, IsWhereThereIsSomethingToLookFor) {
  const auto with = [](Exposure exposure, bool index = true, bool list = true,
                       std::optional<LinkLayer> layer = {}) {
    NcclPolicy policy = shared();
    policy.resources[0].exposure = exposure;
    policy.fabric.link_layer = layer;
    if (!index) policy.gid_index.kind = GidIndexRule::Kind::Omit;
    if (!list) policy.hca = {HcaRule::Kind::Literal, "=mlx5_1"};
    return policy;
  };
  struct Row {
    const char* name;
    NcclPolicy policy;
    bool host_network;
    Form with, without;
  };
  PlanOptions at_binding = with_resolver();
  at_binding.at_binding = true;
  for (const Row& row : {
           Row{"host", with(Exposure::Host), false, Form::Binding, Form::Binding},
           Row{"names and an index", with(Exposure::SubInterface), false, Form::ContainerStart,
               Form::Binding},
           Row{"names alone", with(Exposure::SubInterface, false), false, Form::Binding, Form::Binding},
           Row{"names of InfiniBand", with(Exposure::SubInterface, true, true, LinkLayer::InfiniBand), false,
               Form::Binding, Form::Binding},
           Row{"own devices", with(Exposure::PodOwned), false, Form::ContainerStart, Form::Constants},
           Row{"their names alone", with(Exposure::PodOwned, false), false, Form::ContainerStart,
               Form::Constants},
           Row{"of InfiniBand", with(Exposure::PodOwned, true, true, LinkLayer::InfiniBand), false,
               Form::ContainerStart, Form::Constants},
           Row{"constants", with(Exposure::SubInterface, false, false), false, Form::Constants,
               Form::Constants},
           Row{"the node's network", with(Exposure::SubInterface), true, Form::Binding, Form::Binding},
       }) {
    SCOPED_TRACE(row.name);
    const Json before = pod({container("c")}, row.host_network);
    const Admitted admitted = start(before, row.policy);
    EXPECT_EQ(admitted.plan.form, row.with);
    EXPECT_EQ(init_names(admitted.pod).size(), row.with == Form::ContainerStart ? 1u : 0u);
    EXPECT_EQ(start(before, row.policy, at_binding).plan.form, row.without);
    EXPECT_EQ(start(before, row.policy, {}).plan.form, row.without);
  }
}

TEST(ContainerStart, APodTurnsItOff) {
  for (const char* list : {"labels", "annotations"}) {
    Json before = pod({container("c")}, false);
    before["metadata"][list]["nccl-env.io/resolve"] = "Binding";
    const Admitted admitted = start(before);
    EXPECT_THAT(init_names(admitted.pod), IsEmpty());
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_GID_INDEX"), "PodGidUnknown");
  }
  Json before = equipped(pod({container("c")}, false));
  before["metadata"]["labels"]["nccl-env.io/resolve"] = "Never";
  const Admitted admitted = start(before);
  EXPECT_EQ(admitted.plan.form, Form::ContainerStart);
  EXPECT_THAT(admitted.plan.warnings,
              ElementsAre("nccl-env: nccl-env.io/resolve can only be \"Binding\": it has no effect"));
}

TEST(ContainerStart, ANamespaceTurnsItOff) {
  Snapshot snapshot;
  snapshot.policies["p"] = {std::make_shared<const NcclPolicy>(shared()), {}};
  snapshot.opted_in = {{"ml", "p"}, {"quiet", "p"}};
  snapshot.at_binding = {"quiet"};
  for (const auto& [name_space, form] :
       {std::pair("ml", Form::ContainerStart), std::pair("quiet", Form::Binding)}) {
    const std::string text = pod({container("c")}, false).dump();
    ReviewParser parser;
    Review review;
    review.name_space = name_space;
    review.pod = *parser.parse_pod(text);
    const Plan plan = plan_review(find_policy(snapshot, name_space), review, with_resolver());
    EXPECT_EQ(plan.form, form) << name_space;
    EXPECT_EQ(plan.resolver.kind == ListChange::Kind::Add, form == Form::ContainerStart);
  }
}

TEST(ContainerStart, StandsBeforeTheFirstThatReadsTheFile) {
  Json own = container("own");
  own["volumeMounts"] = Json::array({mount("/etc/nccl.conf")});
  const Json istio = container("istio", {}, ""), warm_up = container("warm-up"),
             late = container("late", {}, "");
  for (const auto& [inits, at] : {
           std::pair(std::vector<Json>{istio, warm_up, late}, 1),
           std::pair(std::vector<Json>{own, warm_up}, 1),
           std::pair(std::vector<Json>{istio, late}, 2),
           std::pair(std::vector<Json>{}, 0),
       }) {
    Json before = pod({container("main")}, false);
    before["spec"]["initContainers"] = inits;
    std::vector<std::string> wanted = names(inits);
    wanted.insert(wanted.begin() + at, "nccl-env-resolve");
    const Json made = start(before).pod;
    EXPECT_EQ(init_names(made), wanted);
    for (const Json& init : made["spec"]["initContainers"])
      EXPECT_EQ(has_file(init), init["name"] == "warm-up") << init;
  }
}

TEST(ContainerStart, IsNoneOfThePodsContainersAndStaysAsHooksLeaveIt) {
  NcclPolicy policy = shared();
  policy.containers = ContainerScope::All;
  Json before = pod({sized("a"), container("b", {}, "")}, false);
  before["spec"]["initContainers"] = Json::array({container("i", {}, "")});
  const Admitted first = start(before, policy);
  EXPECT_THAT(init_names(first.pod), ElementsAre("nccl-env-resolve", "i"));
  Json again = with_api_defaults(first.pod);
  // Hooks that add to every container add to it, too.
  again["spec"]["initContainers"][0]["env"].push_back(env_literal("POD_NAME", "p"));
  EXPECT_EQ(start(again, policy).patch, "");
}

// It is never moved, even if all that could read stand before it.
TEST(ContainerStart, WhatALaterHookPutsBeforeItHasNoFileToRead) {
  for (const char* resource : {"rdma/hca", ""}) {
    const Admitted first = start(pod({container("main")}, false));
    Json changed = first.pod;
    changed["spec"]["containers"][0] = container("main", {}, resource);
    auto& init = changed["spec"]["initContainers"];
    init.insert(init.begin(), container("prepended"));
    init.push_back(container("appended", {}, resource));
    const Json second = start(changed).pod;
    EXPECT_THAT(init_names(second), ElementsAre("prepended", "nccl-env-resolve", "appended"));
    EXPECT_FALSE(has_file(second["spec"]["initContainers"][0]));
    EXPECT_EQ(has_file(second["spec"]["initContainers"][2]), *resource != 0);
    for (const char* name : {"nccl.conf", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA"})
      EXPECT_EQ(told(second, "prepended", name), "PodGidUnknown") << "by file alone: " << name;
    EXPECT_EQ(told(second, "prepended", "NCCL_IB_TIMEOUT"), "Policy");
    EXPECT_EQ(resolver_of(second), resolver_of(first.pod));
    NcclPolicy owned = shared();
    owned.resources[0].exposure = Exposure::PodOwned;
    EXPECT_EQ(told(start(changed, owned).pod, "prepended", "NCCL_IB_HCA"), "PodOwnsDevices");
  }
}

TEST(ContainerStart, ACopiedOneIsBroughtUpToDateWhereItStands) {
  Json before = pod({container("main")}, false);
  before["spec"]["initContainers"] = Json::array({container("a", {}, "")});
  const Json copied = with_api_defaults(start(before).pod);
  NcclPolicy newer = shared();
  newer.generation = 9;
  for (const auto& [policy, options] :
       {std::pair(shared(), with_resolver("other:1")), std::pair(newer, with_resolver())}) {
    Json changed = copied;
    changed["spec"]["initContainers"].push_back(container("b", {}, ""));
    const Json again = start(changed, policy, options).pod;
    EXPECT_THAT(init_names(again), ElementsAre("a", "nccl-env-resolve", "b"));
    EXPECT_EQ(resolver_of(again), resolver_of(start(before, policy, options).pod));
  }
  Json torn = copied, limited = copied;  // without the mount there would be no file
  torn["spec"]["initContainers"][1]["volumeMounts"].erase(0);
  EXPECT_EQ(resolver_of(start(torn).pod), resolver_of(start(before).pod));
  limited["spec"]["containers"][0]["resources"] = sized("main")["resources"];  // by a later hook
  EXPECT_EQ(resolver_of(start(limited).pod)["resources"]["requests"]["cpu"], "8");
}

TEST(ContainerStart, AContainerOfTheUsersWithItsNameKeepsItAway) {
  const Admitted admitted = start(equipped(pod({container("nccl-env-resolve")}, false)));
  EXPECT_FALSE(admitted.pod["spec"].contains("initContainers"));
  EXPECT_EQ(told(admitted.pod, "nccl-env-resolve", "NCCL_IB_GID_INDEX"), "PodGidUnknown");
  EXPECT_EQ(admitted.plan.warnings.size(), 1u);
}

}  // namespace
}  // namespace nccl_env::tests::container_start_test
