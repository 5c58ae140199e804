// SPDX-License-Identifier: Apache-2.0
// Policies, tables and certificates that change under a running webhook.
#include "core/recorded.h"
#include "nccl_env/net/tls/pki.h"
#include "nccl_env/net/tls/tls.h"
#include "support/openssl_client.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_reload_test {
namespace {

using namespace nccl_env::tests;

class StoreReload : public WebhookTest {
 protected:
  void SetUp() override {
    store("policy.yaml", policy_yaml());
    store("node-a.yaml", table_yaml());
    store("namespace.yaml", namespace_yaml());
    start();
  }
  [[nodiscard]] bool becomes(const std::string& variable, const std::string& value) const {
    return eventually([&] {
      const auto env = environment_of(pod_review());
      const auto found = env.find(variable);
      return (found == env.end() ? "" : found->second) == value;
    });
  }
};

TEST_F(StoreReload, ThePolicyAndTheTableThatStandInTheDirectoryCount) {
  EXPECT_TRUE(becomes("NCCL_IB_TIMEOUT", "22"));
  store("policy.yaml", policy_yaml("", "18"));
  EXPECT_TRUE(becomes("NCCL_IB_TIMEOUT", "18"));
  store("node-a.yaml", table_yaml("node-a", "mlx5_4"));
  EXPECT_TRUE(becomes("NCCL_IB_HCA", "=mlx5_4"));
  remove("node-a.yaml");
  EXPECT_TRUE(becomes("NCCL_IB_HCA", ""));
}

TEST_F(StoreReload, ABadFileKeepsItsLastGoodObjects) {
  store("policy.yaml", "spec: [");
  EXPECT_TRUE(eventually([&] { return metric("nccl_env_store_files_refused") == 1; }));
  EXPECT_EQ(environment_of(pod_review())["NCCL_IB_TIMEOUT"], "22");
  store("policy.yaml", policy_yaml("", "19"));
  EXPECT_TRUE(becomes("NCCL_IB_TIMEOUT", "19"));
  EXPECT_TRUE(eventually([&] { return metric("nccl_env_store_files_refused") == 0; }));
}

// Mounted as the kubelet mounts a Secret: tls.crt -> ..data/tls.crt, ..data -> the newest directory.
class CertificateReload : public WebhookTest {
 protected:
  void SetUp() override {
    make("first");
    point("first");
    std::filesystem::create_symlink("..data/tls.crt", path("tls/tls.crt"));
    std::filesystem::create_symlink("..data/tls.key", path("tls/tls.key"));
    start({"--tls-cert", path("tls/tls.crt"), "--tls-key", path("tls/tls.key")});
  }

  // Makes a certificate there; its fingerprint.
  std::string make(const std::string& directory) {
    const net::KeyPair leaf =
        net::issue_server_certificate(ca_, {"127.0.0.1"}, std::chrono::system_clock::now()).value();
    std::filesystem::create_directories(path("tls/" + directory));
    std::ofstream(path("tls/" + directory + "/tls.crt")) << leaf.certificate;
    std::ofstream(path("tls/" + directory + "/tls.key")) << leaf.key;
    return net::read_certificate(leaf.certificate, "x")->fingerprint;
  }
  void point(const std::string& target) {
    std::filesystem::create_directory_symlink(target, path("tls/..new"));
    std::filesystem::rename(path("tls/..new"), path("tls/..data"));
  }
  [[nodiscard]] net::TestClient connect() const {
    return net::TestClient(static_cast<std::uint16_t>(port_), true);
  }

  const net::KeyPair ca_ = net::make_ca("test CA", std::chrono::system_clock::now()).value();
};

TEST_F(CertificateReload, GarbageAndAKeyOfAnotherCertificateKeepTheOldAndConnectionsOutliveTheirs) {
  net::TestClient live = connect();
  const std::string first = live.peer_fingerprint();
  const auto answers = [&] { return live.ask(net::post("/admit", "")).status; };
  ASSERT_EQ(answers(), 400);
  std::filesystem::create_directories(path("tls/garbage"));
  std::ofstream(path("tls/garbage/tls.crt")) << "garbage";
  std::ofstream(path("tls/garbage/tls.key")) << "garbage";
  point("garbage");
  const std::string refused = R"(nccl_env_certificate_reloads_total{outcome="refused"})";
  EXPECT_TRUE(eventually([&] { return metric(refused) >= 1; }));
  EXPECT_EQ(connect().peer_fingerprint(), first);

  make("mixed");
  std::filesystem::copy_file(path("tls/first/tls.key"), path("tls/mixed/tls.key"),
                             std::filesystem::copy_options::overwrite_existing);
  const double before = metric(refused);
  point("mixed");
  EXPECT_TRUE(eventually([&] { return metric(refused) > before; }));
  EXPECT_EQ(connect().peer_fingerprint(), first);
  EXPECT_FALSE(log("certificate refused, the old one stays", 1).empty());

  const std::string second = make("second");
  point("second");
  EXPECT_TRUE(eventually([&] { return connect().peer_fingerprint() == second; }));
  EXPECT_EQ(metric(R"(nccl_env_certificate_reloads_total{outcome="swapped"})"), 1);
  EXPECT_EQ(answers(), 400);
}

// A certificate that ends a few seconds after it is in use.
class CertificateEnd : public WebhookTest {
 protected:
  using Clock = std::chrono::system_clock;

  static std::vector<std::string> files(const std::string& directory) {
    return {"--tls-cert", directory + "/tls.crt", "--tls-key", directory + "/tls.key"};
  }
  void write(Clock::time_point end) {
    const net::KeyPair leaf =
        net::issue_server_certificate(ca_, {"127.0.0.1"}, end - net::kLeafValidity).value();
    for (const char* directory : {"tls", "pki"}) std::filesystem::create_directories(path(directory));
    std::ofstream(path("tls/tls.crt")) << leaf.certificate;
    std::ofstream(path("tls/tls.key")) << leaf.key;
    std::ofstream(path("pki/ca.crt")) << ca_.certificate;
  }
  // The finding of a client that checks certificates: "0 (ok)", "10 (certificate has expired)".
  [[nodiscard]] std::string verified() const {
    const std::string text = run_command({"openssl", "s_client", "-CAfile", path("pki/ca.crt"), "-connect",
                                          "127.0.0.1:" + std::to_string(port_)},
                                         "", path("s.err"))
                                 .output;
    const std::string key = "Verify return code: ";
    const std::size_t begin = text.find(key);
    if (begin == std::string::npos) return text;
    return text.substr(begin + key.size(), text.find('\n', begin) - begin - key.size());
  }

  const net::KeyPair ca_ = net::make_ca("test CA", Clock::now()).value();
};

TEST_F(CertificateEnd, IsSaidWhileTheServerGoesOnAndANewOneMendsIt) {
  store("policy.yaml", policy_yaml());
  store("namespace.yaml", namespace_yaml());
  const auto end = std::chrono::floor<std::chrono::seconds>(Clock::now()) + std::chrono::seconds(4);
  write(end);
  start(files(path("tls")));
  const bool early = Clock::now() < end;  // a slow machine starts it after its certificate's end
  if (early) {
    EXPECT_THAT(log("certificate ends soon", 1), SizeIs(1));
  }
  EXPECT_TRUE(eventually([&] { return log("certificate not valid").size() == 1; }));
  EXPECT_GE(Clock::now(), end);
  EXPECT_THAT(log("certificate not valid")[0]["problem"].get<std::string>(), HasSubstr("has expired"));
  EXPECT_LT(metric("nccl_env_certificate_not_after_timestamp_seconds"),
            std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
  EXPECT_EQ(verified(), "10 (certificate has expired)");
  EXPECT_EQ(post("/admit", pod_review().dump()).status, 0);
  EXPECT_EQ(post("/admit", pod_review().dump(), {"-k"}).status, 200) << "who doesn't check is still answered";

  write(Clock::now() + net::kLeafValidity);
  EXPECT_TRUE(eventually([&] { return verified() == "0 (ok)"; })) << verified();
  EXPECT_TRUE(admit(pod_review()).contains("patch"));
  EXPECT_THAT(log("certificate not valid"), SizeIs(1));
}

}  // namespace
}  // namespace nccl_env::webhook_reload_test
