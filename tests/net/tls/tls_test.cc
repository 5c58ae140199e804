// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/base/file.h"

#include <sys/stat.h>

#include "nccl_env/net/tls/pki.h"
#include "support/matchers.h"
#include "support/openssl_client.h"
#include "support/temporary_directory.h"

namespace nccl_env::net::tls_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;

const SystemTime kNow = std::chrono::system_clock::now();

struct Identity {
  KeyPair ca = make_ca("test CA", kNow).value();
  KeyPair leaf = issue_server_certificate(ca, {"webhook.svc", "::1", "127.0.0.1"}, kNow).value();
};

TEST(Tls, CertificateIsDescribed) {
  const Identity identity;
  const auto info = read_certificate(identity.leaf.certificate, "x");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->subject, "CN=nccl-env-webhook");
  EXPECT_THAT(info->names, ElementsAre("webhook.svc", "127.0.0.1", "::1"));
  EXPECT_NEAR(static_cast<double>((info->not_after - kNow) / 1s), static_cast<double>(kLeafValidity / 1s), 2);
  EXPECT_EQ(info->fingerprint.size(), 64u);
  EXPECT_EQ(validity_warning(*info, kNow), std::nullopt);
  EXPECT_THAT(validity_warning(*info, kNow + kLeafValidity).value_or(""), HasSubstr("has expired"));
  EXPECT_THAT(validity_warning(*info, kNow - 24h).value_or(""), HasSubstr("not valid yet"));
}

TEST(Tls, AChainIsSignedByOneOfTheAuthorities) {
  const Identity one, other;
  EXPECT_TRUE(is_signed_by(one.leaf.certificate, other.ca.certificate + one.ca.certificate));
  EXPECT_TRUE(is_signed_by(other.leaf.certificate + one.leaf.certificate, one.ca.certificate));
  EXPECT_FALSE(is_signed_by(one.leaf.certificate, other.ca.certificate));
  for (const char* text : {"", "garbage"}) {
    EXPECT_FALSE(is_signed_by(one.leaf.certificate, text));
    EXPECT_FALSE(is_signed_by(text, one.ca.certificate));
  }
}

TEST(Tls, ContextIsRefusedWithASentence) {
  const Identity one, other;
  const std::pair<TlsPem, const char*> cases[] = {
      {{one.leaf.certificate, other.leaf.key, ""}, "doesn't belong to the certificate"},
      {{"", one.leaf.key, ""}, "certificate: no PEM certificate"},
      {{"garbage", one.leaf.key, ""}, "certificate: no PEM certificate"},
      {{one.leaf.certificate.substr(0, 200), one.leaf.key, ""}, "certificate: no PEM certificate"},
      {{one.leaf.certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", one.leaf.key,
        ""},
       "certificate: no PEM certificate"},
      {{one.leaf.certificate, one.leaf.certificate, ""}, "private key: no unencrypted PEM private key"},
      {{one.leaf.certificate, one.leaf.key, "garbage"}, "client CA: no PEM certificate"},
  };
  for (const auto& [pem, sentence] : cases) {
    const auto context = TlsContext::make(pem);
    ASSERT_FALSE(context.ok()) << sentence;
    EXPECT_THAT(context.error().message, HasSubstr(sentence));
  }
  EXPECT_TRUE(TlsContext::make({one.leaf.certificate + one.ca.certificate, one.leaf.key, ""}).ok());
}

TEST(Tls, EncryptedKeyIsAnErrorAndAsksNobody) {
  const Identity identity;
  tests::TemporaryDirectory directory;
  write_text(directory.path() / "plain", identity.leaf.key);
  const auto encrypted =
      run_command("openssl pkcs8 -topk8 -passout pass:secret -in " + (directory.path() / "plain").string());
  ASSERT_THAT(encrypted.output, HasSubstr("ENCRYPTED"));
  EXPECT_FALSE(TlsContext::make({identity.leaf.certificate, encrypted.output, ""}).ok());
}

TEST(Tls, ReloadSwapsOnlyWhatChangedAndIsGood) {
  const Identity one, two;
  tests::TemporaryDirectory directory;
  const TlsFiles files{directory.path() / "tls.crt", directory.path() / "tls.key",
                       directory.path() / "client.crt"};
  write_text(files.certificate, one.leaf.certificate);
  write_text(files.key, one.leaf.key);
  EXPECT_THAT(TlsSource::load(files).error().message, HasSubstr("client.crt: can't open"));
  write_text(files.client_ca, "garbage");
  EXPECT_THAT(TlsSource::load(files).error().message,
              StartsWith(files.client_ca.string() + ": no PEM certificate"));
  write_text(files.client_ca, one.ca.certificate);
  const auto source = TlsSource::load(files);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_THAT((*source)->directories(), ElementsAre(directory.path()));
  const auto first = (*source)->current();
  EXPECT_EQ((*source)->reload().value(), TlsSource::Reload::Unchanged);
  EXPECT_EQ((*source)->current(), first);

  write_text(files.client_ca, "");  // must not open the server to everybody
  EXPECT_FALSE((*source)->reload().ok());
  write_text(files.client_ca, two.ca.certificate);
  EXPECT_EQ((*source)->reload().value(), TlsSource::Reload::Swapped);
  EXPECT_EQ((*source)->client_changes(), 1u);
  std::filesystem::remove(files.key);
  EXPECT_FALSE((*source)->reload().ok());
  write_text(files.key, two.leaf.key);
  EXPECT_FALSE((*source)->reload().ok());
  EXPECT_EQ((*source)->current()->info().fingerprint, first->info().fingerprint);
  write_text(files.certificate, two.leaf.certificate);
  EXPECT_EQ((*source)->reload().value(), TlsSource::Reload::Swapped);
  EXPECT_NE((*source)->current()->info().fingerprint, first->info().fingerprint);
  EXPECT_EQ((*source)->client_changes(), 1u) << "another certificate, the same CA";
}

TEST(Tls, ACertificateThatClientsRefuseTakesNoGoodOnesPlace) {
  const Identity one;
  const TlsPem first{one.leaf.certificate, one.leaf.key, ""};
  const auto source = TlsSource::make(first);
  EXPECT_THAT((*source)->directories(), ElementsAre()) << "texts, without files";
  EXPECT_EQ((*source)->swap(first).value(), TlsSource::Reload::Unchanged);
  EXPECT_FALSE((*source)->swap({Identity().leaf.certificate, one.leaf.key, ""}).ok());
  const KeyPair old = issue_server_certificate(one.ca, {"localhost"}, kNow - std::chrono::years(20)).value();
  EXPECT_THAT((*source)->swap({old.certificate, old.key, ""}).error().message, HasSubstr("has expired"));
  EXPECT_TRUE(TlsContext::make({old.certificate, old.key, ""}).ok()) << "at the start a warning";
  tests::TemporaryDirectory directory;
  const std::string key = (directory.path() / "key").string();
  const std::string certificate =
      run_command(
          "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=x "
          "-addext extendedKeyUsage=clientAuth -keyout " +
          key)
          .output;
  EXPECT_THAT((*source)->swap({certificate, read_file(key, 1 << 16).value(), ""}).error().message,
              HasSubstr("is not that of a server"));
}

TEST(Pki, NamesThatAreNoNamesAreRefused) {
  const KeyPair ca = make_ca("CA", kNow).value();
  for (const char* bad : {"", "a b", "DNS:a,IP:1", "a..b", ".a", "-a", "a\nb", "300.1.1.1/8", "[::1]"}) {
    EXPECT_FALSE(issue_server_certificate(ca, {bad}, kNow).ok()) << bad;
  }
  EXPECT_FALSE(issue_server_certificate(ca, {}, kNow).ok());
  EXPECT_TRUE(issue_server_certificate(ca, {"*.example", "a_b.svc"}, kNow).ok());
}

TEST(Pki, UsableMeansSignedFittingNamedAndNotNearItsEnd) {
  const Identity one, two;
  const std::vector<std::string> names{"127.0.0.1", "webhook.svc", "::1"};
  EXPECT_TRUE(is_usable(one.leaf, one.ca.certificate, names, kNow));
  EXPECT_TRUE(is_usable(one.leaf, one.ca.certificate, {"webhook.svc", "0:0::1", "127.0.0.1"}, kNow));
  EXPECT_FALSE(is_usable(one.leaf, two.ca.certificate, names, kNow));
  EXPECT_FALSE(is_usable({one.leaf.certificate, two.leaf.key}, one.ca.certificate, names, kNow));
  EXPECT_FALSE(is_usable(one.leaf, one.ca.certificate, {"webhook.svc"}, kNow));
  EXPECT_TRUE(is_usable(one.leaf, one.ca.certificate, names, kNow + kLeafValidity - kRenewBefore - 1min));
  EXPECT_FALSE(is_usable(one.leaf, one.ca.certificate, names, kNow + kLeafValidity - kRenewBefore));
  EXPECT_FALSE(is_usable(one.leaf, one.ca.certificate, names, kNow - 1h));
}

TEST(Pki, FilesAreMadeOnceAndAgainWhenTheyNoLongerServe) {
  tests::TemporaryDirectory base;
  const auto directory = base.path() / "a" / "certs";
  const auto first = make_self_signed(directory, {"localhost"}, kNow);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_FALSE(first->reused);
  struct stat status {};
  ASSERT_EQ(::stat(first->key.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  EXPECT_TRUE(make_self_signed(directory, {"localhost"}, kNow)->reused);
  EXPECT_FALSE(make_self_signed(directory, {"localhost", "127.0.0.1"}, kNow)->reused);
  write_text(first->key, "garbage");
  EXPECT_FALSE(make_self_signed(directory, {"localhost", "127.0.0.1"}, kNow)->reused);
  EXPECT_FALSE(make_self_signed(directory, {"localhost", "127.0.0.1"}, kNow + kLeafValidity)->reused);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++files;
  EXPECT_EQ(files, 3);  // no temporary file is left
}

TEST(Pki, OpensslVerifiesTheChain) {
  tests::TemporaryDirectory directory;
  ASSERT_TRUE(make_self_signed(directory.path(), {"localhost", "10.0.0.1"}, kNow).ok());
  const std::string verify = "cd " + directory.path().string() +
                             " && openssl verify -x509_strict -purpose sslserver -CAfile ca.crt ";
  EXPECT_THAT(run_command(verify + "-verify_hostname localhost tls.crt").output, HasSubstr("tls.crt: OK"));
  EXPECT_THAT(run_command(verify + "-verify_ip 10.0.0.1 tls.crt").output, HasSubstr("tls.crt: OK"));
  EXPECT_NE(run_command(verify + "-verify_hostname other tls.crt").exit_code, 0);
}

}  // namespace
}  // namespace nccl_env::net::tls_test
