// SPDX-License-Identifier: Apache-2.0
// nccl.conf at a path of our own, which NCCL_CONF_FILE names, so that an image's /etc/nccl.conf counts, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/decide/decided.h"

namespace nccl_env::tests::named_conf_test {
namespace {

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

Json status_of(const Json& pod) {
  return Json::parse(pod["metadata"]["annotations"]["nccl-env.io/status"].get<std::string>());
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
  EXPECT_FALSE(status_of(admitted.pod).contains("note"));
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
    EXPECT_EQ(status_of(admitted.pod)["note"], "ImageConfHidden");
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
}  // namespace nccl_env::tests::named_conf_test
