// SPDX-License-Identifier: Apache-2.0
// nccl.conf at a path of our own, which NCCL_CONF_FILE names, so that an image's /etc/nccl.conf counts, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/conf_pods.h"

namespace nccl_env::tests::named_conf_test {
namespace {

using ::testing::IsEmpty;

const Json kNamedMounts = Json::array({conf_mount("/nccl-env/nccl.conf"), conf_mount("/etc/rccl.conf")});
const Json kNames = env_literal("NCCL_CONF_FILE", "/nccl-env/nccl.conf");

NcclPolicy since(NcclVersion version, Exposure exposure = Exposure::Host) {
  NcclPolicy policy = file_policy(exposure);
  policy.min_nccl = version;
  return policy;
}

const NcclPolicy kNaming = since({2, 23, 4});

bool names_conf(const Json& pod, std::size_t container = 0) {
  const Json& main = pod["spec"]["containers"][container];
  const Json env = main.value("env", Json::array());
  const bool named = std::find(env.begin(), env.end(), kNames) != env.end();
  EXPECT_EQ(main.value("volumeMounts", Json::array()).dump().find("/nccl-env/nccl.conf") != std::string::npos,
            named);
  return named;
}

Json status_of(const Json& pod) {
  return Json::parse(pod["metadata"]["annotations"]["nccl-env.io/status"].get<std::string>());
}

TEST(NamedConf, LeavesTheImagesOwnFileInItsPlace) {
  const Admitted admitted = admit(pod({container("c")}), kNaming);
  const Json& main = admitted.pod["spec"]["containers"][0];
  EXPECT_EQ(main["volumeMounts"], kNamedMounts);
  EXPECT_EQ(main["env"], (Json{env_literal("NCCL_IB_TIMEOUT", "22"), kNames}));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_CONF_FILE"), "Policy");
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
  EXPECT_FALSE(status_of(admitted.pod).contains("note"));
}

TEST(NamedConf, ASecondReviewChangesNothing) {
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
    const NcclPolicy policy = since({2, 23, 4}, exposure);
    const Admitted first = admit(pod({container("c")}, false), policy, nullptr, with_resolver());
    EXPECT_EQ(admit(first.pod, policy, nullptr, with_resolver()).patch, "") << to_string(exposure);
    EXPECT_EQ(admit(with_api_defaults(first.pod), policy, nullptr, with_resolver()).patch, "");
  }
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

TEST(NamedConf, RanksWithoutTheContainersEnvFindTheFileAtItsOwnPlace) {
  for (const char* command : {"/usr/sbin/sshd", "exec slurmd -D", "/usr/sbin/slurmd"}) {
    Json before = pod({container("c")});
    before["spec"]["containers"][0]["command"] = {"sh", "-c", command};
    const Admitted admitted = admit(before, kNaming);
    EXPECT_TRUE(has_file(admitted.pod["spec"]["containers"][0])) << command;
    EXPECT_FALSE(names_conf(admitted.pod)) << command;
  }
}

TEST(NamedConf, AUsersNameForAFileStays) {
  for (const char* value : {"/opt/nccl.conf", ""}) {
    const Admitted admitted = admit(pod({container("c", {env_literal("NCCL_CONF_FILE", value)})}), kNaming);
    const Admitted unnamed =
        admit(pod({container("c", {env_literal("NCCL_CONF_FILE", value)})}), since({2, 22, 3}));
    EXPECT_EQ(admitted.pod["spec"], unnamed.pod["spec"]) << "as without minVersion";
  }
}

TEST(NamedConf, AFileOfTheUsersInAHomeIsNotHidden) {
  Json main = container("c");
  main["volumeMounts"] = Json::array({mount("/root/.nccl.conf")});
  const Admitted admitted = admit(pod({main}), kNaming);
  EXPECT_FALSE(names_conf(admitted.pod));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
}

TEST(NamedConf, ASourceThatMayHoldTheNameKeepsItsValue) {
  Json main = container("c");
  main["envFrom"] = {{{"configMapRef", {{"name", "x"}}}}};
  EXPECT_FALSE(names_conf(admit(pod({main}), kNaming).pod));
  main["envFrom"] = {{{"prefix", "UCX_"}, {"configMapRef", {{"name", "x"}}}}};
  EXPECT_TRUE(names_conf(admit(pod({main}), kNaming).pod));
}

TEST(NamedConf, AMountOfTheUsersAtOurPathLeavesTheFileWhereItWas) {
  Json main = container("c");
  main["volumeMounts"] = Json::array({mount("/nccl-env")});
  const Admitted admitted = admit(pod({main}), kNaming);
  EXPECT_FALSE(names_conf(admitted.pod));
  EXPECT_EQ(told(admitted.pod, "c", "NCCL_IB_HCA"), "File");
}

TEST(NamedConf, APolicysOwnNameForAFileCounts) {
  NcclPolicy policy = kNaming;
  policy.env.emplace("NCCL_CONF_FILE", "/opt/nccl.conf");
  const Admitted admitted = admit(pod({container("c")}), policy);
  EXPECT_FALSE(names_conf(admitted.pod));
  EXPECT_EQ(environment(admitted.pod, 0).at("NCCL_CONF_FILE"), "/opt/nccl.conf");
}

TEST(NamedConf, AMinimumThatIsTakenBackTakesTheNameAlong) {
  const Admitted first = admit(pod({container("c")}), kNaming);
  const Admitted second = admit(first.pod, since({2, 22, 3}));
  EXPECT_FALSE(names_conf(second.pod));
  EXPECT_TRUE(has_file(second.pod["spec"]["containers"][0]));
}

TEST(NamedConf, AContainerWithoutTheFileHasNoName) {
  NcclPolicy constants = since({2, 23, 4}, Exposure::PodOwned);
  const Admitted admitted = admit(pod({container("c")}, false), constants);
  EXPECT_FALSE(names_conf(admitted.pod));
  EXPECT_THAT(admitted.pod["spec"]["containers"][0].value("volumeMounts", Json::array()), IsEmpty());
}

TEST(NamedConf, TheInitContainersFileIsReadThere) {
  const Admitted admitted =
      admit(pod({container("c")}, false), since({2, 23, 4}, Exposure::PodOwned), nullptr, with_resolver());
  EXPECT_EQ(admitted.plan.form, Form::ContainerStart);
  EXPECT_TRUE(names_conf(admitted.pod));
}

}  // namespace
}  // namespace nccl_env::tests::named_conf_test
