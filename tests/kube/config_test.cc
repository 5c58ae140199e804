// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/config.h"

#include <fstream>

#include "support/matchers.h"
#include "support/temporary_directory.h"

namespace nccl_env::kube::config_test {
namespace {

using namespace nccl_env::tests;

class LoadConfig : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  Surroundings around;

  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(directory.path() / name, std::ios::binary) << text;
    return directory.path() / name;
  }
};

TEST_F(LoadConfig, InAClusterFromTheServiceAccount) {
  write("namespace", "nccl-env\n");
  around = {"fd00::1", "6443", "/ignored", directory.path()};
  const auto config = load_config("", around);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->host, "fd00::1");
  EXPECT_EQ(config->port, 6443);
  EXPECT_EQ(config->name_space, "nccl-env");
  EXPECT_EQ(config->token.file, directory.path() / "token");
  EXPECT_EQ(config->ca.file, directory.path() / "ca.crt");
}

TEST_F(LoadConfig, APodWithoutAServiceAccountOrPortIsToldSo) {
  around = {"10.0.0.1", "443", "", directory.path()};
  EXPECT_THAT(load_config("", around).error().message,
              AllOf(HasSubstr("service account"), HasSubstr("namespace")));
  around.service_port = "http";
  EXPECT_THAT(load_config("", around).error().message, HasSubstr("'http' is not a port"));
}

TEST_F(LoadConfig, TheOptionBeatsTheClusterAndTheVariableComesLast) {
  const auto file = write("config",
                          "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
                          "clusters: [{name: c, cluster: {server: \"https://10.0.0.1:6443\", "
                          "certificate-authority: ca.crt}}]\n"
                          "users: [{name: u, user: {token: t}}]\n");
  around = {"10.9.9.9", "443", "", directory.path()};
  const auto chosen = load_config(file, around);
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen->host, "10.0.0.1");
  EXPECT_EQ(chosen->ca.file, directory.path() / "ca.crt");
  around = {"", "", file.string(), {}};
  EXPECT_EQ(load_config("", around)->host, "10.0.0.1");
}

TEST_F(LoadConfig, WithNeitherBothAreNamed) {
  around = {"", "", "", {}};
  EXPECT_THAT(load_config("", around).error().message,
              AllOf(HasSubstr("KUBERNETES_SERVICE_HOST"), HasSubstr("$KUBECONFIG")));
  EXPECT_THAT(load_config("/nowhere/config", around).error().message,
              AllOf(HasSubstr("kubeconfig /nowhere/config"), HasSubstr("No such file")));
  const auto bad = write("bad", "current-context: x");
  EXPECT_THAT(load_config(bad, around).error().message, HasSubstr(bad.string() + ": contexts"));
}

}  // namespace
}  // namespace nccl_env::kube::config_test
