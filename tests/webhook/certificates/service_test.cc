// SPDX-License-Identifier: Apache-2.0
// --managed-certificates in the real program, against an API server that is a map behind TLS.
#include <mutex>

#include "certificates/secret.h"
#include "core/recorded.h"
#include "kube/scripted_server.h"
#include "nccl_env/kube/base64.h"
#include "webhook/api_objects.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::service_test {
namespace {

using namespace nccl_env::tests;

const std::string kSecret = "/api/v1/namespaces/infra/secrets/webhook-tls";
const std::string kMutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/nccl-env";

class WebhookCertificates : public WebhookTest {
 protected:
  WebhookCertificates() {
    store("namespaces.yaml", "{kind: Namespace, apiVersion: v1, metadata: {name: ml}}");
    objects_.put(kMutating,
                 {{"metadata", {{"name", "nccl-env"}}},
                  {"webhooks", {{{"name", "pods.nccl-env.io"}, {"clientConfig", {{"url", "x"}}}}}}});
    serve();
    std::ofstream(path("kubeconfig")) << kubeconfig_of(api_->port());
  }
  ~WebhookCertificates() override {
    if (api_) api_->stop();
  }

  void serve() {
    api_ = std::make_unique<ScriptedServer>(
        [this](ScriptedConnection& connection, const ScriptedRequest& request) {
          ++asked_;
          const std::lock_guard lock(mutex_);
          const auto reply = objects_({request.method, request.target, "", request.body, {}});
          connection.reply(reply->status, reply->body);
        });
  }
  void start_managed(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--kubeconfig", path("kubeconfig"), "--managed-certificates",
                                 "infra/webhook-tls"};
    all.insert(all.end(), more.begin(), more.end());
    start(all);
  }
  bool becomes_ready() {
    return eventually([&] { return ops("/readyz").status == 200; });
  }
  template <class Work>
  auto with_objects(Work work) {
    const std::lock_guard lock(mutex_);
    return work(objects_.objects);
  }
  webhook::CertificateSet secret() {
    return with_objects([](const auto& all) { return webhook::read_certificate_secret(all.at(kSecret)); });
  }
  // GET by a client that trusts what the webhook configuration says; the status.
  int trusting_client() {
    const Json webhook = with_objects([](const auto& all) { return all.at(kMutating)["webhooks"][0]; });
    std::ofstream(path("bundle.crt"))
        << kube::decode_base64(webhook["clientConfig"].value("caBundle", "")).value_or("");
    return curl({"--cacert", path("bundle.crt"), "https://localhost:" + std::to_string(port_) + "/admit"})
        .status;
  }

  std::atomic<int> asked_{0};
  std::mutex mutex_;  // guards objects_
  ApiObjects objects_;
  std::unique_ptr<ScriptedServer> api_;
};

TEST_F(WebhookCertificates, AreMadeStoredTrustedAndServed) {
  start_managed({"--tls-name", "localhost", "--tls-name", "10.1.2.3"});
  ASSERT_TRUE(becomes_ready()) << ops("/readyz").body;
  EXPECT_EQ(trusting_client(), 405);
  const webhook::CertificateSet set = secret();
  EXPECT_TRUE(net::has_names(set.leaf, {"localhost", "10.1.2.3"}));
  EXPECT_THAT(read_text(path("log")), AllOf(Not(HasSubstr("PRIVATE KEY")), HasSubstr("NewCa")));
  EXPECT_GT(metric("nccl_env_certificates_last_success_timestamp_seconds"), 0);
  EXPECT_EQ(metric(R"(nccl_env_certificate_steps_total{step="NewCa"})"), 1);
  EXPECT_EQ(metric("nccl_env_ca_bundle_writes_total"), 1);
  EXPECT_EQ(metric("nccl_env_ready"), 1);
  EXPECT_THAT(documented_metrics(), ::testing::IsSupersetOf(metric_names()));
}

TEST_F(WebhookCertificates, AreFollowedWithoutARestart) {
  start_managed({"--certificate-lifetime", "10s"});
  ASSERT_TRUE(becomes_ready());
  const std::string first = secret().leaf.certificate;
  // Another replica's doing, as far as this one can tell.
  with_objects([this](auto& all) {
    Json without = all.at(kSecret);
    without["data"].erase("tls.crt");
    objects_.put(kSecret, without);
  });
  EXPECT_TRUE(eventually([&] { return log("certificate swapped").size() >= 2; }));
  EXPECT_NE(secret().leaf.certificate, first);
  EXPECT_EQ(trusting_client(), 405);
}

// The usual look is 30 s away.
TEST_F(WebhookCertificates, AClientThatDoesNotTrustThemBringsTheBundleBackAtOnce) {
  start_managed();
  ASSERT_TRUE(becomes_ready());
  EXPECT_EQ(trusting_client(), 405);
  const Json trusted = with_objects([](const auto& all) { return all.at(kMutating); });
  const auto bundle = [&] {
    return with_objects([](const auto& all) {
      return all.contains(kMutating) ? all.at(kMutating)["webhooks"][0]["clientConfig"].value("caBundle", "")
                                     : "";
    });
  };
  const std::string before = bundle();
  const auto client_of = [&](const std::string& ca) {
    return curl({"--cacert", ca, "https://localhost:" + std::to_string(port_) + "/admit"}).status;
  };
  std::ofstream(path("other.crt")) << test_ca().certificate;
  for (const char* fault : {"lost", "foreign"}) {
    with_objects([&](auto& all) {
      Json bare = trusted;
      if (fault == std::string("lost")) all.erase(kMutating);  // and made again
      bare["webhooks"][0]["clientConfig"]["caBundle"] =
          fault == std::string("lost") ? "" : kube::encode_base64(test_ca().certificate);
      objects_.put(kMutating, bare);
    });
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually([&] {
      EXPECT_EQ(client_of(path("other.crt")), 0);
      return bundle() == before;
    })) << fault;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15)) << fault;
    EXPECT_EQ(trusting_client(), 405);
  }
}

TEST_F(WebhookCertificates, StrangersThatDistrustThemDoNotMakeItAskAllTheTime) {
  start_managed();
  ASSERT_TRUE(becomes_ready());
  std::ofstream(path("other.crt")) << test_ca().certificate;
  const int before = asked_;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i)
    curl({"--cacert", path("other.crt"), "https://localhost:" + std::to_string(port_) + "/admit"});
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(metric("nccl_env_tls_handshakes_failed_total"), 40);
  EXPECT_LE(asked_ - before, 4 * (2 + seconds / 2));
}

TEST_F(WebhookCertificates, UntilTheSecretWasReadItIsNotReady) {
  api_->stop();
  start_managed();
  const Reply ready = ops("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "no certificate yet\n");
  EXPECT_EQ(metric("nccl_env_ready"), 0);
  EXPECT_EQ(ops("/healthz").status, 200);
  EXPECT_EQ(trusting_client(), 0);
  EXPECT_TRUE(eventually([&] { return metric("nccl_env_certificates_errors_total") >= 1; }));
  EXPECT_THAT(log("certificates: not as they should be"), Not(IsEmpty()));
}

// The first context did not ask for a client's certificate, so that anybody was answered until the first
// round.
TEST_F(WebhookCertificates, UnderAClientCaStrangersAreRefusedBeforeTheSecretWasRead) {
  api_->stop();
  ASSERT_EQ(run_command({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                         "-nodes", "-keyout", path("client.key"), "-out", path("client.crt"), "-subj",
                         "/CN=apiserver", "-days", "1"},
                        "", path("openssl.err"))
                .code,
            0);
  start_managed({"--client-ca", path("client.crt")});
  const auto admit_as = [&](std::vector<std::string> client) {
    client.insert(client.end(), {"-k", "-H", "Content-Type: application/json", "--data-binary", "@-",
                                 "https://127.0.0.1:" + std::to_string(port_) + "/admit"});
    return curl(client, pod_review().dump());
  };
  EXPECT_EQ(admit_as({}).status, 0) << "no certificate, no answer";
  const Reply known = admit_as({"--cert", path("client.crt"), "--key", path("client.key")});
  EXPECT_EQ(known.status, 503);
  EXPECT_THAT(known.body, HasSubstr("no certificate yet"));
}

TEST_F(WebhookCertificates, AClientCaThatCannotBeReadAndABadNameEndTheStart) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"--client-ca", path("nowhere.crt")}, "nowhere.crt"},
      {{"--tls-name", "a b"}, "'a b' is neither a DNS name nor an IP address"}};
  for (const auto& [more, problem] : wrong) {
    std::vector<std::string> all{"--kubeconfig", path("kubeconfig"), "--managed-certificates",
                                 "infra/webhook-tls"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(run_command(command(all), "", path("run.err")).code, 1);
    EXPECT_THAT(read_text(path("run.err")), HasSubstr(problem));
  }
}

TEST_F(WebhookCertificates, AServerThatHangsDelaysNoStop) {
  start_managed({"--certificate-lifetime", "10s"});
  ASSERT_TRUE(becomes_ready());
  const std::lock_guard lock(mutex_);  // nobody is answered until the program has ended
  const int before = asked_;
  ASSERT_TRUE(eventually([&] { return asked_ > before; }));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9)) << "a call's deadline is 10 s";
}

}  // namespace
}  // namespace nccl_env::service_test
