// SPDX-License-Identifier: Apache-2.0
#include "exec/plugin.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "exec/kubeconfig.h"

namespace nccl_env::kube::plugin_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Json = nlohmann::json;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kV1Beta1 = "client.authentication.k8s.io/v1beta1";

Result<ClientConfig> read(const Json& exec, const Json& user = Json::object(),
                          Json cluster = Json::object()) {
  cluster["server"] = "https://ABC.eks.example/prefix/";
  Json of_user = user;
  of_user["exec"] = exec;
  const Json root{{"current-context", "a"},
                  {"contexts", {{{"name", "a"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
                  {"clusters", {{{"name", "c"}, {"cluster", cluster}}}},
                  {"users", {{{"name", "u"}, {"user", of_user}}}}};
  return read_kubeconfig(root.dump(), "/etc/kube");
}

std::string refusal(const Json& exec, const Json& user = Json::object()) {
  const auto config = read(exec, user);
  return config ? "accepted" : config.error().message;
}

Json exec_with(const char* field, Json value) {
  Json exec{{"command", "aws"}, {"apiVersion", kV1Beta1}};
  exec[field] = std::move(value);
  return exec;
}

TEST(ExecPlugin, AsTheCloudsWriteIt) {
  const auto config =
      read({{"apiVersion", kV1Beta1},
            {"command", "aws"},
            {"args", {"eks", "get-token"}},
            {"env", {{{"name", "AWS_PROFILE"}, {"value", "ml"}}, {{"name", "EMPTY"}, {"value", ""}}}},
            {"installHint", "Install it:\n  see \x1b[1mhttps://aws.example\n"},
            {"provideClusterInfo", false}});
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->command, "aws");
  EXPECT_THAT(config->exec->args, ElementsAre("eks", "get-token"));
  EXPECT_THAT(config->exec->env, ElementsAre(Pair("AWS_PROFILE", "ml"), Pair("EMPTY", "")));
  EXPECT_EQ(config->exec->api_version, kV1Beta1);
  EXPECT_EQ(config->exec->interactive, ExecPlugin::Interactive::IfAvailable);
  EXPECT_EQ(config->exec->install_hint, "Install it:   see  [1mhttps://aws.example");
  EXPECT_TRUE(config->token.empty());
}

TEST(ExecPlugin, NullsAreAbsent) {
  EXPECT_EQ(refusal({{"command", "x"}, {"apiVersion", kV1Beta1}, {"args", nullptr}, {"env", nullptr}}),
            "accepted");
  EXPECT_EQ(refusal(nullptr), "accepted");
}

TEST(ExecPlugin, ACommandWithASlashIsOfTheKubeconfigsFolder) {
  const auto command = [](const char* text) { return read(exec_with("command", text))->exec->command; };
  EXPECT_EQ(command("login"), "login");
  EXPECT_EQ(command("bin/login"), "/etc/kube/bin/login");
  EXPECT_EQ(command("./login"), "/etc/kube/./login");
  EXPECT_EQ(command("/usr/bin/login"), "/usr/bin/login");
}

TEST(ExecPlugin, VersionAndModeAreThoseOfKubectl) {
  using Mode = ExecPlugin::Interactive;
  const auto v1 = [](const char* mode) {
    return read({{"command", "x"}, {"apiVersion", kV1}, {"interactiveMode", mode}})->exec->interactive;
  };
  EXPECT_EQ(v1("Never"), Mode::Never);
  EXPECT_EQ(v1("IfAvailable"), Mode::IfAvailable);
  EXPECT_EQ(v1("Always"), Mode::Always);
  EXPECT_THAT(refusal({{"command", "x"}, {"apiVersion", kV1}}),
              HasSubstr("user 'u': exec: interactiveMode: must be Never, IfAvailable or Always"));
  for (const char* version : {"client.authentication.k8s.io/v1alpha1", "v1", ""})
    EXPECT_THAT(refusal(exec_with("apiVersion", version)), HasSubstr("exec: apiVersion: must be")) << version;
}

TEST(ExecPlugin, WhatIsNoCommandLineIsRefused) {
  const std::pair<Json, const char*> refused[] = {
      {Json("aws eks"), "exec: must be an object"},
      {exec_with("command", ""), "command: must name a program"},
      {exec_with("command", std::string("a\0b", 3)), "command: must name a program"},
      {exec_with("command", {"aws"}), "command: must be a string"},
      {exec_with("args", "eks"), "args: must be a list of strings"},
      {exec_with("args", {1}), "args: must be a list of strings"},
      {exec_with("args", {std::string("a\0b", 3)}), "args: must be a list of strings"},
      {exec_with("env", {{"A", "b"}}), "env: must be a list of names and values"},
      {exec_with("env", Json::array({{{"name", "A=B"}, {"value", ""}}})), "env: a variable's name"},
      {exec_with("env", Json::array({{{"value", "x"}}})), "env: a variable's name"},
      {exec_with("env", Json::array({{{"name", "A"}, {"value", 1}}})), "env: value: must be a string"},
      {exec_with("interactiveMode", "Sometimes"), "interactiveMode: must be"},
      {exec_with("installHint", 1), "installHint: must be a string"},
      {exec_with("provideClusterInfo", "yes"), "provideClusterInfo: must be true or false"}};
  for (const auto& [exec, reason] : refused) EXPECT_THAT(refusal(exec), HasSubstr(reason)) << exec;
}

TEST(ExecPlugin, TwoWaysToBeSomeoneAreRefused) {
  const Json exec = exec_with("command", "aws");
  EXPECT_THAT(refusal(exec, {{"token", "t"}}), HasSubstr("exec and token: keep one of them"));
  EXPECT_THAT(refusal(exec, {{"client-certificate", "c"}, {"client-key", "k"}}),
              HasSubstr("exec and client-certificate: keep one"));
  EXPECT_THAT(refusal(exec, {{"auth-provider", {{"name", "gcp"}}}}),
              HasSubstr("auth-provider: kubectl has none since 1.26"));
}

TEST(ExecPlugin, IsToldOfTheClusterOnlyIfItAsks) {
  const Json extensions{{{"name", "other"}, {"extension", 1}},
                        {{"name", "client.authentication.k8s.io/exec"}, {"extension", {{"audience", "me"}}}}};
  const Json cluster{{"tls-server-name", "kube"}, {"extensions", extensions}};
  auto config = read(exec_with("provideClusterInfo", true), Json::object(), cluster);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(Json::parse(exec_info(*config, "CA", true)),
            Json({{"apiVersion", kV1Beta1},
                  {"kind", "ExecCredential"},
                  {"spec",
                   {{"interactive", true},
                    {"cluster",
                     {{"server", "https://ABC.eks.example/prefix/"},
                      {"tls-server-name", "kube"},
                      {"certificate-authority-data", "Q0E="},
                      {"config", {{"audience", "me"}}}}}}}}));
  config = read(exec_with("provideClusterInfo", false), Json::object(), cluster);
  EXPECT_EQ(Json::parse(exec_info(*config, "CA", false)),
            Json({{"apiVersion", kV1Beta1}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}}));
}

}  // namespace
}  // namespace nccl_env::kube::plugin_test
