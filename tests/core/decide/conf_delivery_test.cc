// SPDX-License-Identifier: Apache-2.0
// nccl.conf by Binding: an annotation's text, mounted through a downward API volume.
#include "core/decide/decided.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/pod/limits.h"
#include "support/matchers.h"

namespace nccl_env::tests::conf_delivery_test {
namespace {

// The text that the kubelet puts where the container reads.
std::string file_of(const Json& pod) {
  for (const Json& volume : pod["spec"]["volumes"]) {
    if (volume["name"] == "nccl-env-conf") return field_of(pod, volume["downwardAPI"]["items"][0]);
  }
  return "no volume";
}

// By a text of the node, or by the pod's own init container.
Admitted by_file(const std::vector<Json>& containers, bool by_pod) {
  return by_pod
             ? settled(equipped(pod(containers, false)), file_policy(Exposure::SubInterface), with_resolver())
             : settled(equipped(pod(containers)), file_policy(Exposure::Host));
}

TEST(FileDelivery, HostNetworkPodsReadTheTextOfTheirNode) {
  const NcclPolicy policy = file_policy(Exposure::SubInterface);
  const Admitted admitted = admit(pod({container("c")}), policy);
  const NodeFabric table = rails(2);
  EXPECT_EQ(file_of(bind_to_node(admitted.pod, binding_of(policy, &table))),
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1,mlx5_2\nNCCL_IB_TIMEOUT=22\n#NCCL_IB_HCA\n");
  EXPECT_EQ(admitted.plan.form, Form::Binding);
  const Json& container = admitted.pod["spec"]["containers"][0];
  EXPECT_EQ(container["volumeMounts"], kConfMounts);
  EXPECT_EQ(container["env"], Json::array({env_literal("NCCL_IB_TIMEOUT", "22")})) << "a constant alone";
  EXPECT_EQ(admitted.pod["spec"]["volumes"], Json::parse(R"([{"name":"nccl-env-conf","downwardAPI":{"items":[
      {"path":"nccl.conf","mode":420,"fieldRef":{"apiVersion":"v1",
       "fieldPath":"metadata.annotations['hostnetwork.nccl-env.io/nccl.conf']"}}]}}])"));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "Policy");
}

TEST(FileDelivery, EnvFromGetsTheFileInsteadOfNothing) {
  Json open = container("c", {env_literal("NCCL_DEBUG", "INFO")});
  open["envFrom"] = {{{"configMapRef", {{"name", "nccl"}}}}};
  for (const bool by_pod : {false, true}) {
    const Admitted admitted = by_file({open}, by_pod);
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), by_pod ? "Pod" : "File");
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), by_pod ? "Pod" : "File");
    EXPECT_EQ(admitted.pod["spec"]["containers"][0]["env"], Json::array({env_literal("NCCL_DEBUG", "INFO")}));
    EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0]));
    EXPECT_THAT(admitted.plan.warnings, IsEmpty());
  }
}

struct Choice {
  std::vector<Json> own;
  bool file;
  std::map<std::string, std::string> told;
};

// Our index never stands beside the user's list. NCCL reads nothing of the group beside an index, so the rest
// of the file does no harm then.
TEST(FileDelivery, WhatTheUserSetsStaysTheUsersAndKeepsItsGroupAway) {
  const auto set = [](const char* name, const std::vector<const char*>& values) {
    std::vector<Json> entries;
    for (const char* value : values) entries.push_back(env_literal(name, value));
    return entries;
  };
  const Json from_secret = {{"name", "NCCL_IB_TIMEOUT"},
                            {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "k"}}}}}};
  const std::map<std::string, std::string> alone{{"NCCL_IB_TIMEOUT", "UserSet"}, {"NCCL_IB_HCA", "File"}};
  const auto group = [](const char* name) {
    return std::map<std::string, std::string>{
        {"nccl.conf", "UserSetGroup"}, {"NCCL_IB_TIMEOUT", "Policy"}, {name, "UserSet"}};
  };
  const Choice choices[] = {
      {set("NCCL_IB_TIMEOUT", {""}), true, alone},
      {set("NCCL_IB_TIMEOUT", {"22"}), true, alone},
      {set("NCCL_IB_TIMEOUT", {"20", "21"}), true, alone},
      {std::vector<Json>(1, from_secret), true, alone},
      {set("NCCL_IB_HCA", {"mlx5_1"}), false, group("NCCL_IB_HCA")},
      {set("NCCL_IB_HCA", {"mlx5_1"}), false, {{"NCCL_IB_GID_INDEX", "UserSetGroup"}}},
      {set("NCCL_IB_ADDR_FAMILY", {"AF_INET6"}), false, group("NCCL_IB_ADDR_FAMILY")},
      {set("NCCL_IB_ROCE_VERSION_NUM", {"2"}),
       true,
       {{"NCCL_IB_HCA", "File"}, {"NCCL_IB_GID_INDEX", "File"}}},
      {set("NCCL_IB_GID_INDEX", {"-1"}), true, {{"NCCL_IB_GID_INDEX", "UserSet"}, {"NCCL_IB_HCA", "File"}}},
      {set("NCCL_IB_GID_INDEX", {"5"}),
       true,
       {{"NCCL_IB_GID_INDEX", "UserSet"}, {"NCCL_IB_HCA", "File"}, {"NCCL_IB_ADDR_FAMILY", "UserSetGroup"}}},
      {set("NCCL_NET", {"Socket"}), false, {{"nccl.conf", "DisabledByUser"}}},
      {set("NCCL_IB_DISABLE", {"1"}), false, {{"nccl.conf", "DisabledByUser"}}},
  };
  for (const Choice& choice : choices) {
    for (const bool by_pod : {false, true}) {
      SCOPED_TRACE(Json(choice.own).dump() + (by_pod ? " by pod" : " by node"));
      const Json made = by_file({container("c", choice.own)}, by_pod).pod;
      for (const auto& [name, what] : choice.told)
        EXPECT_EQ(told(made, "c", name), by_pod && what == "File" ? "Pod" : what) << name;
      const std::vector<Json>& own = choice.own;
      const Json& env = made["spec"]["containers"][0]["env"];
      EXPECT_TRUE(std::equal(own.begin(), own.end(), env.begin())) << env;
      const auto set_by_all = names(env);
      EXPECT_EQ(std::count(set_by_all.begin(), set_by_all.end(), "NCCL_IB_GID_INDEX"),
                own.front()["name"] == "NCCL_IB_GID_INDEX");
      EXPECT_EQ(has_file(made["spec"]["containers"][0]), choice.file);
      EXPECT_EQ(made["spec"]["volumes"].size(), choice.file ? 2u : 1u);
      EXPECT_EQ(made["spec"].contains("initContainers"), choice.file && by_pod);
    }
  }
}

// They say which addresses the fabric has, whatever its HCAs are called: as on a GB300 node under
// policies/coreweave.yaml, a user's prefix names the same HCAs.
TEST(FileDelivery, TheUsersListLeavesAddressesOfThePolicy) {
  const Json own = env_literal("NCCL_IB_HCA", "ibp");
  const std::map<std::string, std::string> addresses{{"NCCL_IB_ADDR_FAMILY", "AF_INET6"},
                                                     {"NCCL_IB_ADDR_RANGE", "fd02::/16"}};
  NcclPolicy plain = file_policy(Exposure::SubInterface);
  plain.gid_index.kind = GidIndexRule::Kind::Omit;
  NcclPolicy by_env = plain, by_variant = plain;
  by_env.env.insert(addresses.begin(), addresses.end());
  by_variant.variants.emplace_back().when.link_layer = LinkLayer::Ethernet;
  by_variant.variants[0].env.insert(addresses.begin(), addresses.end());
  for (const bool host_network : {true, false}) {
    for (const auto& [policy, way] : {std::pair(by_env, "Policy"), std::pair(by_variant, "File")}) {
      const Json made = settled(pod({container("c", {own})}, host_network), policy).pod;
      for (const auto& [name, value] : addresses) EXPECT_EQ(told(made, "c", name), way) << name;
      EXPECT_TRUE(has_file(made["spec"]["containers"][0]));
    }
  }
  for (const char* name : {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM"}) {
    const Admitted admitted = admit(pod({container("c", {own, env_literal(name, "x")})}), by_env);
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_ADDR_RANGE"), "UserSetGroup") << name;
  }
  // The node's family is that of other HCAs' rows.
  const Json made = admit(pod({container("c", {own})}), file_policy(Exposure::Host)).pod;
  EXPECT_EQ(told(made, "c", "NCCL_IB_ADDR_FAMILY"), "UserSetGroup");
}

// An index of the policy is no better beside the user's list; a file without the group contradicts nobody.
TEST(FileDelivery, ConstantsOfTheGroupKeepTheFileAwayToo) {
  NcclPolicy policy = file_policy(Exposure::PodOwned);  // constants only
  const Json before = pod(
      {container("c", {env_literal("NCCL_IB_HCA", "mlx5_1"), env_literal("NCCL_IB_GID_INDEX", "5")})}, false);
  EXPECT_FALSE(has_file(admit(before, policy).pod["spec"]["containers"][0])) << "constants stand in env";
  EXPECT_TRUE(has_file(admit(running_sshd(before), policy).pod["spec"]["containers"][0]));
  policy.gid_index = {GidIndexRule::Kind::Literal, 3};
  const Json list = pod({container("c", {env_literal("NCCL_IB_HCA", "mlx5_1")})}, false);
  const Json made = admit(running_sshd(list), policy).pod;
  EXPECT_EQ(told(made, "c", "nccl.conf"), "UserSetGroup");
  EXPECT_EQ(told(made, "c", "NCCL_IB_TIMEOUT"), "Policy");
}

Json mounting(const std::vector<std::string>& paths, const char* sub_path = nullptr) {
  Json made = container("c");
  for (const std::string& path : paths) {
    made["volumeMounts"].push_back(mount(path));
    if (sub_path) made["volumeMounts"].back()["subPath"] = sub_path;
  }
  return made;
}

// Env beats a file that may be the user's, which is left alone as what envFrom brings is.
TEST(UsersConf, AMountAtOrAboveThePlaceKeepsAllValuesAway) {
  const Json sources[] = {{{"emptyDir", Json::object()}},
                          {{"configMap", {{"name", "nccl"}}}},
                          {{"projected", {{"sources", {{{"configMap", {{"name", "nccl"}}}}}}}}},
                          {{"hostPath", {{"path", "/etc"}}}}};
  std::size_t next = 0;
  for (const char* path :
       {"/", "//", "/etc", "/etc/", "/./etc//", "/usr/../etc", "etc", "/etc/nccl.conf",
        "/etc/x/../nccl.conf/", "/../etc/nccl.conf", "/etc/rccl.conf", "./etc/rccl.conf", "."}) {
    for (const char* sub_path : {"nccl.conf", static_cast<const char*>(nullptr)}) {
      Json before = equipped(pod({mounting({"/data", path}, sub_path)}, next % 2 == 0));
      Json volume = sources[next++ % std::size(sources)];
      volume["name"] = "mine";
      before["spec"]["volumes"].push_back(volume);
      const Admitted admitted = settled(before, file_policy(Exposure::Host));
      for (const char* name : {"nccl.conf", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT"})
        EXPECT_EQ(told(admitted.pod, "c", name), "ConfPresent") << path << " " << name;
      EXPECT_EQ(admitted.pod["spec"], before["spec"]) << path;
      ASSERT_EQ(admitted.plan.warnings.size(), 1u) << path;
      EXPECT_NE(admitted.plan.warnings[0].find("its own file (" + std::string(path) + ")"),
                std::string::npos);
    }
  }
}

// A mount below the place is no file, and leaves no place for ours.
TEST(UsersConf, OtherMountsAreNoFileOfTheUsers) {
  for (const char* path : {"/etc2", "/etc/nccl.conf.d", "/etc/ssl", "/et", "/nccl.conf", "/etc/../x", "/root",
                           "/opt/nccl.conf", "/x.nccl.conf"}) {
    const Admitted admitted = admit(pod({mounting({path})}), file_policy(Exposure::Host));
    EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0])) << path;
  }
  for (const char* path : {"/etc/nccl.conf/x", "/etc/rccl.conf/x/y"}) {
    const Admitted admitted = admit(pod({mounting({path})}), file_policy(Exposure::Host));
    EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "ConfOccupied") << path;
    EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "ConfOccupied") << path;
  }
}

TEST(UsersConf, NamedByEnvOrInAHomeItIsReadBeforeOurFile) {
  const Json from_map{{"name", "NCCL_CONF_FILE"},
                      {"valueFrom", {{"configMapKeyRef", {{"name", "m"}, {"key", "k"}}}}}};
  NcclPolicy by_env = file_policy(Exposure::Host);
  by_env.deliver_env_file = by_env.says_delivery = true;
  for (const Json& container :
       {container("c", {env_literal("NCCL_CONF_FILE", "/conf/mine")}), container("c", {from_map}),
        container("c", {env_literal("HOME", "/h"), env_literal("NCCL_CONF_FILE", "$(HOME)/x")}),
        mounting({"/root/.nccl.conf"}), mounting({"/users/u/.rccl.conf/"}, "f")}) {
    const Admitted with_file = admit(equipped(pod({container})), file_policy(Exposure::Host));
    EXPECT_TRUE(has_file(with_file.pod["spec"]["containers"][0])) << container;
    EXPECT_EQ(told(with_file.pod, "c", "NCCL_IB_HCA"), "File") << container;
    EXPECT_EQ(told(with_file.pod, "c", "NCCL_IB_TIMEOUT"), "File") << container;
    EXPECT_THAT(with_file.plan.warnings, IsEmpty());
    const Admitted without = admit(equipped(pod({container})), by_env, nullptr, with_resolver());
    EXPECT_EQ(told(without.pod, "c", "NCCL_IB_HCA"), "ConfPresent") << container;
    EXPECT_THAT(without.plan.containers[0].set, IsEmpty());
    EXPECT_EQ(without.plan.warnings.size(), 1u);
  }
  // As NCCL reads it, an empty name is none. One that the policy sets is not the user's.
  const Json empty = container("c", {env_literal("NCCL_CONF_FILE", "")});
  EXPECT_EQ(told(admit(pod({empty}), by_env, nullptr, with_resolver()).pod, "c", "NCCL_IB_HCA"), "EnvFile");
  by_env.env["NCCL_CONF_FILE"] = "/shared/nccl.conf";
  EXPECT_EQ(told(settled(pod({container("c")}), by_env, with_resolver()).pod, "c", "NCCL_CONF_FILE"),
            "Policy");
}

// On our mount, which nobody may write, the command would fail, and its lines be lost.
TEST(UsersConf, ACommandThatWritesItKeepsOursAway) {
  const auto given = [](const char* script) {
    Json made = container("c");
    made["command"] = {"bash", "-c", script};
    return admit(equipped(pod({made})), file_policy(Exposure::Host));
  };
  for (const char* script :
       {"echo NCCL_DEBUG=INFO >> /etc/nccl.conf; exec torchrun x", "set -e\necho A=1 >/etc/nccl.conf\na",
        "cat > '/etc/rccl.conf' <<E\nA=1\nE\na", "if a; then echo A=1 1>>/etc/nccl.conf; fi",
        "printf A | sudo tee -a /etc/nccl.conf", "cp /cfg/nccl.conf /etc/nccl.conf && a",
        "sed -i s/A/B/ /etc/nccl.conf", "rm -f /etc/nccl.conf", "cp /cfg/nccl.conf /etc/",
        "install -m 644 nccl.conf /etc", "a >| /etc/nccl.conf", "tee /etc/nccl.conf /tmp/x < a",
        "bash -c 'echo A >> /etc/nccl.conf'"}) {
    const Admitted admitted = given(script);
    EXPECT_FALSE(has_file(admitted.pod["spec"]["containers"][0])) << script;
    for (const char* name : {"NCCL_IB_HCA", "NCCL_IB_TIMEOUT"})
      EXPECT_EQ(told(admitted.pod, "c", name), "ConfPresent") << script;
    EXPECT_THAT(admitted.plan.warnings,
                ::testing::ElementsAre(::testing::HasSubstr("cl.conf) could hold NCCL variables")))
        << script;
  }
  for (const char* script :
       {"cat /etc/nccl.conf; a > log 2>&1", "cp /etc/nccl.conf /tmp/x; a < /etc/nccl.conf",
        "[ -f /etc/nccl.conf ] && sed -n p /etc/nccl.conf", "echo /etc/nccl.conf",
        "# echo A >> /etc/nccl.conf", "a > /etc/nccl.conf.d", "cp nccl.conf /cfg/",
        "cp /etc/nccl.conf /etc/hosts /tmp"})
    EXPECT_TRUE(has_file(given(script).pod["spec"]["containers"][0])) << script;
  const Admitted home = given("echo NCCL_IB_HCA=mlx5_0 > ~/.nccl.conf; a");
  EXPECT_EQ(told(home.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_EQ(told(home.pod, "c", "NCCL_IB_GID_INDEX"), "UserSetGroup");
}

// What the user sets in env is still told as such.
TEST(UsersConf, IsOneContainersAlone) {
  Json before = pod({container("a"), mounting({"/etc/nccl.conf"})}, false);
  before["spec"]["containers"][1]["env"] = {env_literal("NCCL_IB_TIMEOUT", "20"),
                                            env_literal("NCCL_IB_GID_INDEX", "5")};
  before["spec"]["initContainers"] = {container("i"), container("j")};
  before["spec"]["initContainers"][0]["volumeMounts"] = Json::array({mount("/etc")});
  const Admitted admitted = settled(before, file_policy(Exposure::SubInterface));
  EXPECT_EQ(told(admitted.pod, "i", "NCCL_IB_TIMEOUT"), "ConfPresent");
  EXPECT_EQ(told(admitted.pod, "j", "NCCL_IB_TIMEOUT"), "Policy");
  EXPECT_EQ(told(admitted.pod, "a", "nccl.conf"), "") << "its mount says so";
  EXPECT_EQ(told(admitted.pod, "c", "nccl.conf"), "ConfPresent");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "ConfPresent");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_TIMEOUT"), "UserSet");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_GID_INDEX"), "UserSet");
}

// A path may have 4 KiB, and stands in the detail of each variable.
TEST(UsersConf, OfALongPathTheBeginningIsTold) {
  const Admitted admitted =
      admit(pod({mounting({std::string(4000, '/') + "etc"})}), file_policy(Exposure::Host));
  for (const Value& omission : admitted.plan.containers[0].omitted) {
    EXPECT_EQ(omission.reason, Reason::ConfPresent);
    EXPECT_LT(omission.detail.size(), 250u);
  }
}

TEST(FileDelivery, AFileThatOnlyNcclReadIsMountedForRcclToo) {
  const NcclPolicy policy = file_policy(Exposure::Host);
  const Json now = admit(pod({container("c")}), policy).pod;
  Json earlier = now, twice = now;
  earlier["spec"]["containers"][0]["volumeMounts"].erase(1);
  EXPECT_EQ(admit(earlier, policy).pod, now);
  twice["spec"]["containers"][0]["volumeMounts"].push_back(kConfMounts[1]);
  EXPECT_EQ(admit(twice, policy).pod, now);
}

// The texts of long constants need room that the env alone does not, most of all after an edit.
TEST(FileDelivery, ThePodAtTheEdgeOfTheBudget) {
  NcclPolicy policy = file_policy(Exposure::Host);
  for (int i = 0; i < 20; ++i) policy.env["UCX_LONG_" + std::to_string(i)] = std::string(1000, 'x');
  const NodeFabric table = rails(8);
  NodeContext edited;
  edited.policy_edited = true;
  const BindingPlan plan = plan_binding(std::make_shared<const NcclPolicy>(policy), "node-a", &table, edited);
  const auto admitted_with = [&](std::size_t size) {
    Json before = pod({container("c")});
    before["metadata"]["annotations"]["big"] = std::string(size, 'x');
    return admit(before, policy);
  };
  const std::size_t room = kMaxAnnotationBytes - 3 - 1200;  // "big" and the status
  std::size_t largest = 0, refused = room;
  ASSERT_TRUE(admitted_with(largest).plan.inject);
  ASSERT_FALSE(admitted_with(refused).plan.inject);
  while (refused - largest > 1) {
    const std::size_t middle = largest + (refused - largest) / 2;
    (admitted_with(middle).plan.inject ? largest : refused) = middle;
  }
  std::size_t total = 0;
  const Json bound = bind_to_node(admitted_with(largest).pod, plan);
  for (const auto& [key, value] : bound["metadata"]["annotations"].items())
    total += key.size() + value.get<std::string>().size();
  EXPECT_LE(total, kMaxAnnotationBytes);
  EXPECT_EQ(admitted_with(refused).plan.reason, Reason::BudgetExceeded);
}

TEST(FileDelivery, ABindingCountsTheTextsToo) {
  NcclPolicy policy = file_policy(Exposure::Host);
  for (int i = 0; i < 20; ++i) policy.env["UCX_LONG_" + std::to_string(i)] = std::string(1000, 'x');
  const std::string big((256u << 10) - 50000, 'x');
  Binding binding;
  binding.annotations = {{"big", big}};
  EXPECT_FALSE(within_budget(binding, binding_of(policy, nullptr)));
  policy.env.clear();
  EXPECT_TRUE(within_budget(binding, binding_of(policy, nullptr)));
}

TEST(FileDelivery, APodCreatedOnANodeHasTheTextAtOnce) {
  Json before = pod({container("c")});
  before["spec"]["nodeName"] = "node-a";
  const NcclPolicy policy = file_policy(Exposure::Host);
  const NodeFabric table = rails(1);
  const BindingPlan plan = binding_of(policy, &table);
  const Admitted admitted = admit(before, policy, &plan);
  EXPECT_EQ(file_of(admitted.pod),
            "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_1\nNCCL_IB_TIMEOUT=22\n#NCCL_IB_HCA\n");
  EXPECT_EQ(admit(admitted.pod, policy, &plan).patch, "");
}

// At a path of our own, which NCCL_CONF_FILE names, so that an image's /etc/nccl.conf counts, too.
const Json kNamedMounts = Json::array({conf_mount("/nccl-env/nccl.conf"), conf_mount("/etc/rccl.conf")});
const Json kNames = env_literal("NCCL_CONF_FILE", "/nccl-env/nccl.conf");

NcclPolicy since(NcclVersion version, Exposure exposure = Exposure::Host) {
  NcclPolicy policy = file_policy(exposure);
  policy.min_nccl = version;
  return policy;
}

const NcclPolicy kNaming = since({2, 23, 4});

bool names_conf(const Json& pod) {
  const Json& main = pod["spec"]["containers"][0];
  const Json env = main.value("env", Json::array());
  const bool named = std::find(env.begin(), env.end(), kNames) != env.end();
  EXPECT_EQ(main.value("volumeMounts", Json::array()).dump().find("/nccl-env/nccl.conf") != std::string::npos,
            named);
  return named;
}

Json with(const char* field, const Json& value) {
  Json made = container("c");
  made[field] = value;
  return made;
}

TEST(NamedConf, LeavesTheImagesOwnFileInItsPlace) {
  const Admitted admitted = admit(pod({container("c")}), kNaming);
  const Json& main = admitted.pod["spec"]["containers"][0];
  EXPECT_EQ(main["volumeMounts"], kNamedMounts);
  EXPECT_EQ(main["env"], (Json{env_literal("NCCL_IB_TIMEOUT", "22"), kNames}));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_CONF_FILE"), "Policy");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_TRUE(has_file(admit(admitted.pod, since({2, 22, 3})).pod["spec"]["containers"][0])) << "taken back";
}

TEST(NamedConf, TheInitContainersFileIsReadThere) {
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
    const NcclPolicy policy = since({2, 23, 4}, exposure);
    EXPECT_TRUE(names_conf(settled(pod({container("c")}, false), policy, with_resolver()).pod));
  }
  const Json without = settled(pod({container("c")}, false), since({2, 23, 4}, Exposure::PodOwned)).pod;
  EXPECT_FALSE(names_conf(without)) << "constants have no file";
  EXPECT_FALSE(without["spec"]["containers"][0].contains("volumeMounts"));
}

// NCCL reads the name from 2.23.4 on; there was no earlier 2.23.
TEST(NamedConf, OldLibrariesFindTheFileAtTheirOwnPlace) {
  NcclPolicy unsaid = kNaming;
  unsaid.min_nccl.reset();
  for (const NcclPolicy& policy : {since({2, 22, 3}), unsaid}) {
    const Admitted admitted = admit(pod({container("c")}), policy);
    EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0]));
    EXPECT_FALSE(names_conf(admitted.pod));
  }
  EXPECT_TRUE(names_conf(admit(pod({container("c")}), since({2, 23, 0})).pod));
}

// Ranks that have not their container's env, sources that may hold the name, and mounts at our path or of a
// file in a home, which would be hidden.
TEST(NamedConf, WhereTheNameCannotStandTheFileIsAtItsOwnPlace) {
  const Json any = {{"configMapRef", {{"name", "x"}}}};
  Json of_ucx = any;
  of_ucx["prefix"] = "UCX_";
  for (const auto& [main, named] : {
           std::pair(with("command", {"sh", "-c", "/usr/sbin/sshd"}), false),
           std::pair(with("command", {"sh", "-c", "exec slurmd -D"}), false),
           std::pair(with("command", {"sh", "-c", "/usr/sbin/slurmd"}), false),
           std::pair(with("volumeMounts", Json::array({mount("/root/.nccl.conf")})), false),
           std::pair(with("volumeMounts", Json::array({mount("/nccl-env")})), false),
           std::pair(with("envFrom", Json::array({any})), false),
           std::pair(with("envFrom", Json::array({of_ucx})), true),
       }) {
    const Json made = settled(pod({main}), kNaming).pod;
    EXPECT_EQ(names_conf(made), named) << main;
    EXPECT_EQ(has_file(made["spec"]["containers"][0]), !named) << main;
    EXPECT_EQ(told(made, "c", "NCCL_IB_HCA"), "File") << main;
  }
}

TEST(NamedConf, AUsersOrPolicysNameForAFileStays) {
  for (const char* value : {"/opt/nccl.conf", ""}) {
    const Json before = pod({container("c", {env_literal("NCCL_CONF_FILE", value)})});
    EXPECT_EQ(admit(before, kNaming).pod["spec"], admit(before, since({2, 22, 3})).pod["spec"])
        << "as without minVersion";
  }
  NcclPolicy policy = kNaming;
  policy.env.emplace("NCCL_CONF_FILE", "/opt/nccl.conf");
  const Admitted admitted = admit(pod({container("c")}), policy);
  EXPECT_FALSE(names_conf(admitted.pod));
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_CONF_FILE"), "/opt/nccl.conf");
}

}  // namespace
}  // namespace nccl_env::tests::conf_delivery_test
