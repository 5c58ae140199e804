// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/config.h"

#include <gmock/gmock.h>

#include "support/golden.h"

namespace nccl_env::kube::kubeconfig_test {
namespace {

std::string kubeconfig(const std::string& cluster, const std::string& user,
                       const std::string& context = "cluster: c, user: u") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts:\n- name: elsewhere\n  context: "
         "{cluster: x, user: x}\n- name: here\n  context: {" +
         context + "}\nclusters:\n- name: c\n  cluster: {" + cluster + "}\nusers:\n- name: u\n  user: {" +
         user + "}\n";
}

const std::string kServer = R"(server: "https://10.0.0.1:6443")";

std::string refusal(const std::string& text) {
  const auto read = read_kubeconfig(text, "/etc/kube");
  return read ? "accepted" : read.error().message;
}

void expect_refused(const std::string& title, const std::string& text) {
  const std::string why = refusal(text);
  EXPECT_NE(why, "accepted") << title;
  tests::expect_golden(title, why);
}

TEST(Kubeconfig, TheCurrentContextWithInlineData) {
  const auto config = read_kubeconfig(
      kubeconfig(kServer + ", certificate-authority-data: Q0E=, certificate-authority: ignored.crt",
                 "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: secret",
                 "cluster: c, user: u, namespace: ml"),
      "/etc/kube");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->host, "10.0.0.1");
  EXPECT_EQ(config->port, 6443);
  EXPECT_EQ(config->path_prefix, "");
  EXPECT_EQ(config->ca.text, "CA");
  EXPECT_TRUE(config->ca.file.empty());
  EXPECT_EQ(config->certificate.text, "CERT");
  EXPECT_EQ(config->key.text, "KEY");
  EXPECT_EQ(config->token.text, "secret");
  EXPECT_EQ(config->name_space, "ml");
}

TEST(Kubeconfig, FilesAreTakenFromItsFolderAndATokensFileBeatsTheToken) {
  const auto config = read_kubeconfig(
      kubeconfig(
          R"(server: "https://api.example/k8s/c-1/", certificate-authority: ca.crt, tls-server-name: kube)",
          "client-certificate: /abs/c.crt, client-key: c.key, token: old, tokenFile: token"),
      "/etc/kube");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->host, "api.example");
  EXPECT_EQ(config->port, 443);
  EXPECT_EQ(config->path_prefix, "/k8s/c-1");
  EXPECT_EQ(config->tls_name, "kube");
  EXPECT_EQ(config->ca.file, "/etc/kube/ca.crt");
  EXPECT_EQ(config->certificate.file, "/abs/c.crt");
  EXPECT_EQ(config->key.file, "/etc/kube/c.key");
  EXPECT_EQ(config->token.file, "/etc/kube/token");
  EXPECT_EQ(config->token.text, "");
  EXPECT_EQ(config->name_space, "default");
}

TEST(Kubeconfig, ServersAreHttpsUrls) {
  const auto host_of = [](const std::string& url) {
    const auto read = read_kubeconfig(kubeconfig("server: \"" + url + "\"", ""), {});
    return read ? read->host + " " + std::to_string(read->port) + " " + read->path_prefix : "refused";
  };
  EXPECT_EQ(host_of("https://[fd00::1]:6443"), "fd00::1 6443 ");
  EXPECT_EQ(host_of("https://[fd00::1]"), "fd00::1 443 ");
  EXPECT_EQ(host_of("https://kube-api.example:443/"), "kube-api.example 443 ");
  for (const char* bad : {"http://10.0.0.1", "10.0.0.1:6443", "https://", "https://:6443", "https://h:0",
                          "https://h:65536", "https://h:", "https://h:6443x", "https://[fd00::1",
                          "https://u@h", "https://h?x=1", "https://h\\r\\nX: y", "https://h/a b"})
    EXPECT_EQ(host_of(bad), "refused") << bad;
}

TEST(Kubeconfig, WhatWouldMakeUsSomeoneElseIsRefusedWithAReason) {
  for (const char* user :
       {"auth-provider: {name: gcp}", "exec: {command: aws}", "username: admin, password: x", "as: root",
        "as-groups: [system:masters]", "client-certificate: c.crt", "client-key-data: '%%%'", "token: [a]",
        "tokenFile: 3"})
    expect_refused(std::string("user: ") + user, kubeconfig(kServer, user));
  for (const char* cluster : {"insecure-skip-tls-verify: true", "proxy-url: 'socks5://x'"})
    expect_refused(std::string("cluster: ") + cluster, kubeconfig(kServer + ", " + cluster, ""));
  EXPECT_EQ(refusal(kubeconfig(kServer + ", insecure-skip-tls-verify: false, proxy-url: ''", "")),
            "accepted");
}

TEST(Kubeconfig, WhatIsMissingIsNamed) {
  for (const char* text : {"{}", "current-context: x", "- a", "a: ["}) expect_refused(text, text);
  expect_refused("another cluster", kubeconfig(kServer, "", "cluster: d, user: u"));
  expect_refused("another user", kubeconfig(kServer, "", "cluster: c, user: v"));
  expect_refused("no server", kubeconfig("", ""));
  EXPECT_EQ(refusal(kubeconfig(kServer, "", "cluster: c")), "accepted");  // anonymous
}

}  // namespace
}  // namespace nccl_env::kube::kubeconfig_test
