// SPDX-License-Identifier: Apache-2.0
#include "certificates/plan.h"

#include "nccl_env/net/tls/tls.h"
#include "support/matchers.h"
#include "support/openssl_client.h"
#include "support/sanitized.h"
#include "support/temporary_directory.h"

namespace nccl_env::webhook::plan_test {
namespace {

using namespace nccl_env::tests;
using namespace std::chrono_literals;
using Step = CertificateStep;
using Steps = std::vector<Step>;

constexpr std::chrono::hours kDay(24);

// A clock that is set, and what a Secret would hold.
class CertificatePlanTest : public ::testing::Test {
 protected:
  net::SystemTime now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  CertificateRules rules{{"webhook.ns.svc", "127.0.0.1"}};
  CertificateSet set;

  Steps plan(bool seen_trusted = false) {
    auto planned = plan_certificates(set, rules, now, seen_trusted);
    EXPECT_TRUE(planned.ok()) << planned.error().message;
    const bool same_trust = planned->set.trusted() == set.trusted();
    const auto again = plan_certificates(planned->set, rules, now, same_trust && seen_trusted);
    EXPECT_THAT(again->steps, IsEmpty()) << "planned twice, it has nothing left to do";
    EXPECT_EQ(again->set, planned->set);
    EXPECT_EQ(planned->steps.empty(), planned->set == set);
    set = planned->set;
    return planned->steps;
  }

  // Answers as the API server does: is `leaf` accepted where `trusted` is?
  static bool accepted(const net::KeyPair& leaf, const std::string& trusted, net::SystemTime at) {
    for (const std::string& authority : net::each_certificate(trusted)) {
      if (net::is_valid(leaf, authority, at)) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t trusted_count() const { return net::each_certificate(set.trusted()).size(); }
  static net::SystemTime end_of(const std::string& certificate) {
    return net::read_certificate(certificate, "x")->not_after;
  }
};

TEST_F(CertificatePlanTest, FromNothingACaAndALeaf) {
  EXPECT_THAT(plan(), ElementsAre(Step::NewCa, Step::NewLeaf));
  EXPECT_TRUE(accepted(set.leaf, set.trusted(), now));
  EXPECT_TRUE(net::has_names(set.leaf, rules.names));
  EXPECT_TRUE(net::can_sign(set.ca, now));
  EXPECT_EQ(set.trusted(), set.ca.certificate);
  EXPECT_EQ(end_of(set.leaf.certificate), now + 90 * kDay);
  EXPECT_EQ(end_of(set.ca.certificate), now + 3652 * kDay);
}

TEST_F(CertificatePlanTest, OpensslAcceptsTheLeafForAServer) {
  plan();
  tests::TemporaryDirectory directory;
  net::write_text(directory.path() / "ca.crt", set.trusted());
  net::write_text(directory.path() / "tls.crt", set.leaf.certificate);
  EXPECT_THAT(net::run_command("cd " + directory.path().string() +
                               " && openssl verify -x509_strict -purpose sslserver -CAfile ca.crt "
                               "-verify_hostname webhook.ns.svc tls.crt")
                  .output,
              HasSubstr("tls.crt: OK"));
}

TEST_F(CertificatePlanTest, TheLeafIsRenewedAfterTwoThirds) {
  plan();
  const CertificateSet first = set;
  now += 60 * kDay - 1s;
  EXPECT_THAT(plan(), IsEmpty());
  now += 1s;
  EXPECT_THAT(plan(), ElementsAre(Step::NewLeaf));
  EXPECT_EQ(set.ca, first.ca);
  EXPECT_EQ(set.trusted(), first.trusted());
  EXPECT_EQ(end_of(set.leaf.certificate), now + 90 * kDay);
}

TEST_F(CertificatePlanTest, AClockPastTheLeafsEndRenewsItAndPastTheCasEndBeginsAnew) {
  plan();
  const CertificateSet first = set;
  now += 90 * kDay + 1s;
  EXPECT_FALSE(accepted(first.leaf, first.trusted(), now));
  EXPECT_THAT(plan(), ElementsAre(Step::NewLeaf));
  EXPECT_TRUE(accepted(set.leaf, first.trusted(), now)) << "nothing new has to be trusted";
  now += 3653 * kDay;
  EXPECT_THAT(plan(), ElementsAre(Step::NewCa, Step::NewLeaf));
  EXPECT_EQ(trusted_count(), 1u);
}

TEST_F(CertificatePlanTest, OtherNamesMakeANewLeaf) {
  plan();
  rules.names = {"127.0.0.1", "webhook.ns.svc"};
  EXPECT_THAT(plan(), IsEmpty()) << "the order of names means nothing";
  rules.names.push_back("localhost");
  EXPECT_THAT(plan(), ElementsAre(Step::NewLeaf));
}

TEST_F(CertificatePlanTest, TheLeafWaitsUntilClientsTrustTheNewCa) {
  plan();
  const CertificateSet first = set;
  set.ca.key.clear();
  EXPECT_THAT(plan(true), ElementsAre(Step::NewCa)) << "what they were seen to trust has no new CA in it";
  EXPECT_EQ(set.leaf, first.leaf);
  EXPECT_EQ(set.trusted(), first.ca.certificate + set.ca.certificate);
  now += 70 * kDay;  // the leaf is due, and nobody can renew it
  EXPECT_THAT(plan(), IsEmpty());
  const CertificateSet second = set;
  EXPECT_THAT(plan(true), ElementsAre(Step::NewLeaf));
  EXPECT_TRUE(net::is_valid(set.leaf, second.ca.certificate, now));
  EXPECT_EQ(set.trusted(), second.trusted()) << "some replicas still serve the leaf before";
  EXPECT_THAT(plan(true), IsEmpty());
  now += 60 * kDay;
  EXPECT_THAT(plan(true), ElementsAre(Step::NewLeaf, Step::Withdraw));
  EXPECT_EQ(set.trusted(), second.ca.certificate);
}

TEST_F(CertificatePlanTest, ALeafThatHasEndedWaitsForNobody) {
  plan();
  set.ca.key.clear();
  plan();
  now += 90 * kDay + 1s;
  EXPECT_THAT(plan(), ElementsAre(Step::NewLeaf));
  EXPECT_TRUE(accepted(set.leaf, set.trusted(), now));
}

// It could not sign another leaf for its whole life.
TEST_F(CertificatePlanTest, ACaIsReplacedBeforeItEnds) {
  rules.leaf_lifetime = 365 * kDay;
  plan();
  for (int month = 0; month < 130; ++month) {
    now += 30 * kDay;
    const std::string trusted = set.trusted();
    plan(true);
    EXPECT_TRUE(accepted(set.leaf, trusted, now)) << month;
    EXPECT_LE(trusted_count(), 2u);
  }
  EXPECT_GT(end_of(set.ca.certificate), now + 3000 * kDay);
}

TEST_F(CertificatePlanTest, WhatIsNotUsableIsMadeAnew) {
  plan();
  const CertificateSet good = set;
  CertificateSet other;
  std::swap(set, other);
  plan();
  std::swap(set, other);
  const auto broken = [&](auto change, const Steps& steps) {
    set = good;
    change(set);
    EXPECT_EQ(plan(), steps);
    EXPECT_TRUE(accepted(set.leaf, set.trusted(), now));
  };
  const Steps anew{Step::NewCa, Step::NewLeaf};
  broken([](auto& s) { s.leaf.certificate = "garbage"; }, {Step::NewLeaf});
  broken([](auto& s) { s.leaf.key.clear(); }, {Step::NewLeaf});
  broken([&](auto& s) { s.leaf = other.leaf; }, {Step::NewLeaf});
  broken([&](auto& s) { s.leaf.key = other.leaf.key; }, {Step::NewLeaf});
  broken([](auto& s) { s.former_cas = "garbage"; }, {Step::Withdraw});
  broken([](auto& s) { s.ca = s.leaf; }, anew);
  broken([](auto& s) { s.ca.certificate = "garbage"; }, anew);
  broken([&](auto& s) { s.ca.key = other.ca.key; }, {Step::NewCa});
  broken([&](auto& s) { s.former_cas = s.ca.certificate, s.ca = {}; }, {Step::NewCa});
  const net::KeyPair x{"x", "x"};
  broken([&](auto& s) { s = {x, x, "x"}; }, {Step::Withdraw, Step::NewCa, Step::NewLeaf});
}

TEST_F(CertificatePlanTest, BadNamesAreAnError) {
  rules.names = {"a b"};
  const auto planned = plan_certificates(set, rules, now, false);
  ASSERT_FALSE(planned.ok());
  EXPECT_THAT(planned.error().message, HasSubstr("'a b'"));
}

// A CA that is replaced again and again, looked at twice a day, with two replicas that poll: at each moment
// every leaf that either of them serves is accepted by a client that trusts what it was given half a day ago.
// Under sanitizers it takes seven times as long: one replacement has to do there.
TEST_F(CertificatePlanTest, NoMomentWithoutTrust) {
  rules.leaf_lifetime = 9 * kDay;
  plan();
  std::string client_trusts = set.trusted();
  int leaves = 0, authorities = 0;
  constexpr int kReplacements = NCCL_ENV_SANITIZED ? 1 : 5;
  for (int half_days = 0; half_days < kReplacements * 50; ++half_days) {
    now += 12h;
    const net::KeyPair served_by_b = set.leaf;  // b reads what a wrote half a day ago
    if (half_days % 50 == 25) set.ca.key.clear();
    const Steps steps = plan(client_trusts == set.trusted());
    leaves += static_cast<int>(std::count(steps.begin(), steps.end(), Step::NewLeaf));
    authorities += static_cast<int>(std::count(steps.begin(), steps.end(), Step::NewCa));
    ASSERT_TRUE(accepted(set.leaf, client_trusts, now)) << half_days;
    ASSERT_TRUE(accepted(served_by_b, client_trusts, now)) << half_days;
    client_trusts = set.trusted();
    ASSERT_TRUE(accepted(served_by_b, client_trusts, now)) << half_days;
  }
  EXPECT_GT(leaves, kReplacements * 3);
  EXPECT_EQ(authorities, kReplacements);
  EXPECT_EQ(trusted_count(), 1u);
}

}  // namespace
}  // namespace nccl_env::webhook::plan_test
