// SPDX-License-Identifier: Apache-2.0
// Replicas of the webhook's certificate authority, an API server in a map, and a clock that is set.
#include "certificates/managed.h"

#include <sstream>

#include "certificates/secret.h"
#include "nccl_env/kube/base64.h"
#include "support/matchers.h"
#include "webhook/api_objects.h"

namespace nccl_env::webhook::managed_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr std::chrono::hours kDay(24);
const std::string kSecret = "/api/v1/namespaces/nccl-env/secrets/webhook-tls";
const std::string kGroup = "/apis/admissionregistration.k8s.io/v1/";
const std::string kMutating = kGroup + "mutatingwebhookconfigurations/nccl-env";
const std::string kValidating = kGroup + "validatingwebhookconfigurations/nccl-env";

struct Replica {
  std::shared_ptr<net::TlsSource> tls;
  int swaps = 0;
  std::unique_ptr<ManagedCertificates> certificates;

  [[nodiscard]] std::string fingerprint() const { return tls->current()->info().fingerprint; }
};

class ManagedCertificatesTest : public ::testing::Test {
 protected:
  ApiObjects api;
  net::SystemTime now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  CertificateRules rules{{"webhook.nccl-env.svc"}};
  std::filesystem::path client_ca;
  std::ostringstream log;

  ManagedCertificatesTest() {
    api.put(kMutating, configuration({"pods.nccl-env.io", "binding.nccl-env.io"}));
    api.put(kValidating, configuration({"policies.nccl-env.io"}));
  }

  static Json configuration(const std::vector<std::string>& names) {
    Json made{{"metadata", {{"name", "nccl-env"}}}, {"webhooks", Json::array()}};
    for (const std::string& name : names) {
      made["webhooks"].push_back(
          {{"name", name},
           {"sideEffects", "None"},
           {"clientConfig", {{"service", {{"name", "webhook"}, {"path", "/admit"}}}}}});
    }
    return made;
  }

  std::unique_ptr<Replica> replica() {
    auto made = std::make_unique<Replica>();
    const auto nobody = net::make_ca("nobody", now);
    const auto leaf = net::issue_server_certificate(*nobody, {"nobody"}, now);
    made->tls = net::TlsSource::make({leaf->certificate, leaf->key, {}}).value();
    made->certificates = std::make_unique<ManagedCertificates>(
        [this](const kube::Call& call) { return api(call); },
        ManagedCertificatesOptions{"nccl-env", "webhook-tls", "nccl-env", rules, client_ca,
                                   [this] { return now; }, [swaps = &made->swaps] { ++*swaps; }},
        made->tls, Logger::to_stream(log, LogLevel::Info));
    return made;
  }
  static void run(Replica& replica) {
    const Status done = replica.certificates->round();
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  void lose_key() {
    Json without = api.objects.at(kSecret);
    without["data"].erase("ca.key");
    api.put(kSecret, without);
  }
  CertificateSet secret() { return read_certificate_secret(api.objects.at(kSecret)); }
  std::string bundle(const std::string& path, std::size_t webhook = 0) {
    const Json& config = api.objects.at(path)["webhooks"][webhook]["clientConfig"];
    return kube::decode_base64(config.value("caBundle", "")).value_or("garbage");
  }
  // Would an API server accept what this replica serves?
  bool trusted(const Replica& replica) {
    const CertificateSet set = secret();
    for (const std::string& path : {kMutating, kValidating}) {
      bool one = false;
      for (const std::string& ca : net::each_certificate(bundle(path))) {
        for (const net::KeyPair& leaf : served_) {
          const auto info = net::read_certificate(leaf.certificate, "x");
          one = one || (info->fingerprint == replica.fingerprint() && net::is_valid(leaf, ca, now));
        }
      }
      if (!one) return false;
    }
    return true;
  }
  // Leaves that were in the Secret once; trusted() looks them up by fingerprint.
  void note() {
    if (served_.empty() || served_.back() != secret().leaf) served_.push_back(secret().leaf);
  }
  std::vector<net::KeyPair> served_;
};

TEST_F(ManagedCertificatesTest, MakesTheSecretServesItAndTellsTheConfigurations) {
  const auto one = replica();
  EXPECT_FALSE(one->certificates->stats().serving);
  run(*one);
  const CertificateSet set = secret();
  EXPECT_EQ(api.objects.at(kSecret)["type"], "Opaque");
  EXPECT_EQ(api.objects.at(kSecret)["metadata"]["namespace"], "nccl-env");
  EXPECT_EQ(one->fingerprint(), net::read_certificate(set.leaf.certificate, "x")->fingerprint);
  EXPECT_EQ(one->swaps, 1);
  for (const std::size_t webhook : {0u, 1u}) EXPECT_EQ(bundle(kMutating, webhook), set.trusted());
  EXPECT_EQ(bundle(kValidating), set.trusted());
  const ManagedCertificatesStats stats = one->certificates->stats();
  EXPECT_TRUE(stats.serving);
  EXPECT_EQ(stats.last_success, now);
  EXPECT_EQ(stats.bundle_writes, 2u);
  EXPECT_EQ(stats.errors, 0u);
  api.calls.clear();
  run(*one);
  EXPECT_THAT(api.calls, IsEmpty()) << "nothing was due";
  EXPECT_THAT(log.str(), Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(ManagedCertificatesTest, TouchesTheCaBundleOnly) {
  const auto one = replica();
  run(*one);
  for (const kube::Call& call : api.calls) {
    if (call.method != "PATCH") continue;
    EXPECT_EQ(call.content_type, "application/apply-patch+yaml");
    EXPECT_THAT(call.target, AllOf(HasSubstr("fieldManager=nccl-env-webhook-ca"), HasSubstr("force=true")));
    Json body = Json::parse(call.body);
    EXPECT_THAT(body["metadata"], SizeIs(2)) << "name and resourceVersion";
    for (const Json& webhook : body["webhooks"]) {
      EXPECT_THAT(webhook, SizeIs(2));
      EXPECT_THAT(webhook["clientConfig"], SizeIs(1));
    }
  }
  EXPECT_EQ(api.objects.at(kMutating)["webhooks"][1]["clientConfig"]["service"]["path"], "/admit");
}

TEST_F(ManagedCertificatesTest, RepairsAnEditedCaBundle) {
  const auto one = replica();
  run(*one);
  Json edited = api.objects.at(kMutating);
  edited["webhooks"][1]["clientConfig"]["caBundle"] = "eA==";
  api.put(kMutating, edited);
  edited = api.objects.at(kValidating);
  edited["webhooks"][0]["clientConfig"].erase("caBundle");
  api.put(kValidating, edited);
  run(*one);
  EXPECT_EQ(bundle(kMutating, 1), secret().trusted());
  EXPECT_EQ(bundle(kValidating), secret().trusted());
  EXPECT_EQ(one->swaps, 1);
}

TEST_F(ManagedCertificatesTest, ReplicasAgreeThroughTheSecret) {
  const auto one = replica(), two = replica();
  bool raced = false;
  api.before = [&](const kube::Call& call) {  // both found no Secret; the other one is quicker
    if (call.method != "POST" || raced) return;
    raced = true;
    run(*two);
  };
  run(*one);
  EXPECT_TRUE(raced);
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  EXPECT_EQ(one->certificates->stats().steps[0], 0u) << "what it made was thrown away";

  now += 61 * kDay;
  raced = false;
  api.before = [&](const kube::Call& call) {
    if (call.method != "PUT" || raced) return;
    raced = true;
    run(*two);
  };
  run(*one);
  EXPECT_TRUE(raced);
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  EXPECT_EQ(one->swaps, 2);
}

// Two replicas while the CA is replaced; one looks a while after the other. At no time does one of them serve
// what the configurations don't trust.
class NewCa : public ManagedCertificatesTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void ask_for_a_new_ca() {
    Json object = api.objects.at(kSecret);
    const std::string way = GetParam();
    if (way == "DeletedSecret") {
      api.objects.erase(kSecret);
    } else if (way == "EmptiedSecret") {
      object.erase("data");
      api.put(kSecret, object);
    } else {
      object["data"].erase(way == "NoKey" ? "ca.key" : "ca.crt");
      api.put(kSecret, object);
    }
  }
};

TEST_P(NewCa, IsTrustedBeforeItServes) {
  const auto one = replica(), two = replica();
  run(*one);
  note();
  run(*two);
  const CertificateSet first = secret();
  ask_for_a_new_ca();
  for (int i = 0; i < 20; ++i) {
    for (Replica* replica : {one.get(), two.get()}) {
      run(*replica);
      note();
      now += one->certificates->interval() / 2;
      EXPECT_TRUE(trusted(*one)) << i;
      EXPECT_TRUE(trusted(*two)) << i;
    }
  }
  EXPECT_NE(secret().ca.certificate, first.ca.certificate);
  EXPECT_TRUE(net::is_valid(secret().leaf, secret().ca.certificate, now));
  EXPECT_THAT(served_, SizeIs(2));
  EXPECT_EQ(bundle(kMutating), first.ca.certificate + secret().ca.certificate);
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  now += rules.leaf_lifetime * 2 / 3;
  run(*one);
  EXPECT_EQ(bundle(kMutating), secret().ca.certificate);
}
INSTANTIATE_TEST_SUITE_P(AskedForBy, NewCa,
                         ::testing::Values("NoKey", "NoCertificate", "EmptiedSecret", "DeletedSecret"),
                         [](const auto& way) { return std::string(way.param); });

TEST_F(ManagedCertificatesTest, ANewCaWaitsWhileAConfigurationCannotBeWritten) {
  const auto one = replica();
  run(*one);
  const CertificateSet first = secret();
  lose_key();
  api.instead = [](const kube::Call& call) -> std::optional<Result<kube::Reply>> {
    if (call.method != "PATCH" || !call.target.starts_with(kValidating)) return std::nullopt;
    return kube::Reply{403, R"({"kind":"Status","message":"no patch for you"})"};
  };
  for (int i = 0; i < 10; ++i) {
    const Status done = one->certificates->round();
    ASSERT_FALSE(done.ok());
    EXPECT_THAT(done.error().message,
                AllOf(HasSubstr("ValidatingWebhookConfiguration nccl-env"), HasSubstr("no patch for you")));
    now += 1min;
  }
  EXPECT_NE(secret().ca.certificate, first.ca.certificate);
  EXPECT_EQ(secret().leaf, first.leaf);
  EXPECT_EQ(one->certificates->stats().errors, 10u);
  api.instead = nullptr;
  run(*one);
  EXPECT_EQ(secret().leaf, first.leaf) << "trusted only now";
  now += one->certificates->interval();
  run(*one);
  EXPECT_NE(secret().leaf, first.leaf);
}

// Seen to be trusted a moment ago, edited since.
TEST_F(ManagedCertificatesTest, ANewCaWaitsAgainIfTheCaBundleWasEdited) {
  const auto one = replica();
  run(*one);
  const CertificateSet first = secret();
  lose_key();
  run(*one);
  now += one->certificates->interval();
  Json edited = api.objects.at(kMutating);
  edited["webhooks"][0]["clientConfig"]["caBundle"] = "eA==";
  api.put(kMutating, edited);
  run(*one);
  EXPECT_EQ(secret().leaf, first.leaf);
  now += one->certificates->interval();
  run(*one);
  EXPECT_NE(secret().leaf, first.leaf);
}

TEST_F(ManagedCertificatesTest, AnEmptySecretIsFilledAndWhatElseItHoldsIsKept) {
  api.put(kSecret,
          {{"metadata", {{"name", "webhook-tls"}, {"labels", {{"a", "b"}}}}},
           {"type", "Opaque"},
           {"data", {{"other", "eA=="}, {"ca.crt", "!"}, {"tls.crt", 7}, {"former-ca.crt", "eA=="}}}});
  const auto one = replica();
  api.objects.erase(kMutating);
  api.objects.erase(kValidating);
  run(*one);
  EXPECT_TRUE(one->certificates->stats().serving) << "missing configurations are fine";
  EXPECT_THAT(api.objects, SizeIs(1)) << "none is made";
  const Json& object = api.objects.at(kSecret);
  EXPECT_EQ(object["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(object["data"]["other"], "eA==");
  EXPECT_FALSE(object["data"].contains("former-ca.crt"));
  EXPECT_TRUE(net::can_sign(secret().ca, now));
}

TEST_F(ManagedCertificatesTest, WhileTheApiServerIsAwayItServesOn) {
  const auto one = replica();
  run(*one);
  const std::string serving = one->fingerprint();
  api.instead = [](const kube::Call&) { return std::optional(Result<kube::Reply>(Error{"refused"})); };
  note();
  const CertificateSet first = secret();
  now += 91 * kDay;
  EXPECT_FALSE(trusted(*one)) << "a clock past the certificate's end";
  const Status away = one->certificates->round();
  ASSERT_FALSE(away.ok());
  EXPECT_THAT(away.error().message, HasSubstr("Secret nccl-env/webhook-tls: refused"));
  EXPECT_EQ(one->fingerprint(), serving);
  EXPECT_TRUE(one->certificates->stats().serving);
  api.instead = nullptr;
  run(*one);
  note();
  EXPECT_NE(one->fingerprint(), serving);
  EXPECT_TRUE(trusted(*one));
  EXPECT_EQ(secret().ca, first.ca);
  EXPECT_THAT(log.str(), HasSubstr("NewLeaf"));
}

TEST_F(ManagedCertificatesTest, ASecretThatMayNotBeMadeIsAnErrorThatNamesIt) {
  api.instead = [](const kube::Call& call) -> std::optional<Result<kube::Reply>> {
    if (call.method != "POST") return std::nullopt;
    return kube::Reply{403, R"({"kind":"Status","message":"secrets is forbidden"})"};
  };
  const auto one = replica();
  const Status refused = one->certificates->round();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("nccl-env/webhook-tls"), HasSubstr("HTTP 403"),
                                             HasSubstr("secrets is forbidden")));
  EXPECT_FALSE(one->certificates->stats().serving);
  EXPECT_THAT(log.str(), AllOf(HasSubstr("secrets is forbidden"), HasSubstr("Do: kubectl apply -k cluster")));
  const std::string told = log.str();
  EXPECT_FALSE(one->certificates->round().ok());
  EXPECT_EQ(log.str(), told) << "the same is said once";
  api.instead = nullptr;
  run(*one);
  api.objects.erase(kSecret);
  api.instead = [](const kube::Call&) { return kube::Reply{503, ""}; };
  EXPECT_FALSE(one->certificates->round().ok());
  EXPECT_THAT(log.str().substr(told.size()), HasSubstr("503"));
}

TEST_F(ManagedCertificatesTest, ASecretThatOthersChangeEachTimeIsGivenUpForThisRound) {
  const auto one = replica();
  run(*one);
  now += 61 * kDay;
  api.before = [&](const kube::Call& call) {
    if (call.method == "PUT") api.put(kSecret, api.objects.at(kSecret));
  };
  const Status done = one->certificates->round();
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("changed by others"));
  EXPECT_THAT(api.calls, SizeIs(3 + 5));
}

TEST_F(ManagedCertificatesTest, AnswersThatAreNoObjectsAreErrors) {
  const auto one = replica();
  for (const char* body : {"", "[]", "{", "null", "7"}) {
    api.instead = [&](const kube::Call&) {
      return std::optional(Result<kube::Reply>(kube::Reply{200, body}));
    };
    EXPECT_FALSE(one->certificates->round().ok()) << body;
  }
  api.instead = [](const kube::Call&) { return std::optional(Result<kube::Reply>(kube::Reply{200, "{}"})); };
  run(*one);  // whatever it is, it isn't ours; the PUT was "accepted"
}

TEST_F(ManagedCertificatesTest, LooksAsOftenAsTheLifetimesAskFor) {
  EXPECT_EQ(replica()->certificates->interval(), 30s);
  rules.leaf_lifetime = 60s;
  EXPECT_EQ(replica()->certificates->interval(), 6s);
  rules.leaf_lifetime = 2s;
  EXPECT_EQ(replica()->certificates->interval(), 1s);
}

TEST(CaBundleApply, NothingForWhatIsNoConfiguration) {
  for (const char* text : {"null", "{}", "[]", R"({"webhooks": 7})", R"({"webhooks": []})",
                           R"({"webhooks": [7, {}, {"name": 7}]})"}) {
    EXPECT_EQ(ca_bundle_apply(Json::parse(text), "x"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nccl_env::webhook::managed_test
