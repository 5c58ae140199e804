// SPDX-License-Identifier: Apache-2.0
#include "certificates/plan.h"

#include <gmock/gmock.h>

#include "nccl_env/net/tls/tls.h"
#include "support/openssl_client.h"
#include "support/sanitized.h"
#include "support/temporary_directory.h"

namespace nccl_env::webhook::plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
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
  std::optional<net::SystemTime> trusted_since;

  Steps plan() {
    auto planned = plan_certificates(set, rules, now, trusted_since);
    EXPECT_TRUE(planned.ok()) << planned.error().message;
    const bool same_trust = planned->set.trusted == set.trusted;
    const auto again = plan_certificates(planned->set, rules, now, same_trust ? trusted_since : std::nullopt);
    EXPECT_THAT(again->steps, IsEmpty()) << "planned twice, it has nothing left to do";
    EXPECT_EQ(again->set, planned->set);
    EXPECT_EQ(planned->steps.empty(), planned->set == set);
    if (!same_trust) trusted_since.reset();
    set = planned->set;
    return planned->steps;
  }
  void clients_trust() { trusted_since = now; }

  // Answers as the API server does: is `leaf` accepted where `trusted` is?
  static bool accepted(const net::KeyPair& leaf, const std::string& trusted, net::SystemTime at) {
    for (const std::string& authority : net::each_certificate(trusted)) {
      if (net::is_valid(leaf, authority, at)) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t trusted_count() const { return net::each_certificate(set.trusted).size(); }
  static net::SystemTime end_of(const std::string& certificate) {
    return net::read_certificate(certificate, "x")->not_after;
  }
};

TEST_F(CertificatePlanTest, FromNothingACaAndALeaf) {
  EXPECT_THAT(plan(), ElementsAre(Step::NewCa, Step::NewLeaf));
  EXPECT_TRUE(accepted(set.leaf, set.trusted, now));
  EXPECT_TRUE(net::has_names(set.leaf, rules.names));
  EXPECT_TRUE(net::can_sign(set.ca, now));
  EXPECT_EQ(set.trusted, set.ca.certificate);
  EXPECT_EQ(set.next_ca, net::KeyPair{});
  EXPECT_EQ(end_of(set.leaf.certificate), now + 90 * kDay);
  EXPECT_EQ(ca_end(set), now + 365 * kDay);
}

TEST_F(CertificatePlanTest, OpensslAcceptsTheLeafForAServer) {
  plan();
  tests::TemporaryDirectory directory;
  net::write_text(directory.path() / "ca.crt", set.trusted);
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
  EXPECT_EQ(set.trusted, first.trusted);
  EXPECT_EQ(end_of(set.leaf.certificate), now + 90 * kDay);
}

TEST_F(CertificatePlanTest, AClockPastTheLeafsEndRenewsIt) {
  plan();
  const CertificateSet first = set;
  now += 90 * kDay + 1s;
  EXPECT_FALSE(accepted(first.leaf, first.trusted, now));
  EXPECT_THAT(plan(), ElementsAre(Step::NewLeaf));
  EXPECT_TRUE(accepted(set.leaf, first.trusted, now)) << "nothing new has to be trusted";
}

TEST_F(CertificatePlanTest, AClockPastTheCasEndBeginsAnew) {
  plan();
  now += 366 * kDay;
  EXPECT_THAT(plan(), ElementsAre(Step::NewCa, Step::NewLeaf, Step::Withdraw));
  EXPECT_TRUE(accepted(set.leaf, set.trusted, now));
  EXPECT_EQ(trusted_count(), 1u);
}

TEST_F(CertificatePlanTest, OtherNamesMakeANewLeaf) {
  plan();
  rules.names = {"127.0.0.1", "webhook.ns.svc"};
  EXPECT_THAT(plan(), IsEmpty()) << "the order of names means nothing";
  rules.names.push_back("localhost");
  EXPECT_THAT(plan(), ElementsAre(Step::NewLeaf));
}

TEST_F(CertificatePlanTest, ARollOverWaitsUntilClientsTrustTheNextCa) {
  plan();
  const CertificateSet first = set;
  now += 365 * kDay * 2 / 3;
  EXPECT_THAT(plan(), ElementsAre(Step::NextCa, Step::NewLeaf));
  EXPECT_EQ(set.ca, first.ca);
  EXPECT_EQ(set.trusted, first.ca.certificate + set.next_ca.certificate);
  EXPECT_TRUE(accepted(set.leaf, first.trusted, now)) << "clients that know the first CA alone";
  now += 30 * kDay;
  EXPECT_THAT(plan(), IsEmpty()) << "nobody has seen clients trust it";
  clients_trust();
  now += rules.settle - 1s;
  EXPECT_THAT(plan(), IsEmpty());
  now += 1s;
  const CertificateSet second = set;
  EXPECT_THAT(plan(), ElementsAre(Step::Promote, Step::NewLeaf));
  EXPECT_EQ(set.ca, second.next_ca);
  EXPECT_EQ(set.trusted, second.trusted) << "its order, too";
  EXPECT_TRUE(net::is_valid(set.leaf, second.next_ca.certificate, now));
  EXPECT_TRUE(accepted(second.leaf, set.trusted, now)) << "of a replica that has yet to swap";
}

TEST_F(CertificatePlanTest, AFormerCaIsTrustedUntilEachOfItsLeavesHasEnded) {
  rules.leaf_lifetime = 400 * kDay;  // longer than the CA: cut to its end
  plan();
  const CertificateSet first = set;
  EXPECT_EQ(end_of(first.leaf.certificate), ca_end(first));
  now += 300 * kDay;
  plan();
  clients_trust();
  now += rules.settle;
  plan();
  EXPECT_NE(set.ca, first.ca);
  EXPECT_EQ(trusted_count(), 2u);
  now = *ca_end(first) - 1s;
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_TRUE(accepted(first.leaf, set.trusted, now));
  now += 1s;
  EXPECT_THAT(plan(), ElementsAre(Step::Withdraw));
  EXPECT_EQ(set.trusted, set.ca.certificate);
}

// The CA's end is what a new leaf could not pass either: renewing would go on forever, ever faster.
TEST_F(CertificatePlanTest, ALeafThatEndsWithItsCaIsNotRenewedForNothing) {
  plan();
  now += 340 * kDay;
  plan();
  ASSERT_EQ(end_of(set.leaf.certificate), ca_end(set));
  for (int i = 0; i < 24; ++i) {
    now += kDay;
    EXPECT_THAT(plan(), IsEmpty()) << i;
  }
  now += 2 * kDay;
  EXPECT_THAT(plan(), ElementsAre(Step::Promote, Step::NewLeaf, Step::Withdraw))
      << "nobody trusts the next CA for sure, but the last leaf has ended";
}

TEST_F(CertificatePlanTest, ACaWithoutItsKeyIsRolledOver) {
  plan();
  const CertificateSet first = set;
  set.ca.key.clear();
  EXPECT_THAT(plan(), ElementsAre(Step::NextCa)) << "the leaf still serves";
  EXPECT_EQ(set.leaf, first.leaf);
  clients_trust();
  now += rules.settle;
  EXPECT_THAT(plan(), ElementsAre(Step::Promote, Step::NewLeaf));
  EXPECT_EQ(trusted_count(), 2u);
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
    EXPECT_TRUE(accepted(set.leaf, set.trusted, now));
  };
  broken([](auto& s) { s.leaf.certificate = "garbage"; }, {Step::NewLeaf});
  broken([](auto& s) { s.leaf.key.clear(); }, {Step::NewLeaf});
  broken([&](auto& s) { s.leaf = other.leaf; }, {Step::NewLeaf});
  broken([&](auto& s) { s.leaf.key = other.leaf.key; }, {Step::NewLeaf});
  broken([](auto& s) { s.trusted = "garbage"; }, {Step::Withdraw});
  broken([](auto& s) { s.trusted.clear(); }, {Step::Withdraw});
  broken([](auto& s) { s.next_ca.certificate = "garbage"; }, {Step::Withdraw});
  broken([&](auto& s) { s.next_ca = {other.ca.certificate, good.ca.key}; }, {Step::Withdraw});
  broken([](auto& s) { s.ca = s.leaf; }, {Step::NextCa});
  broken([](auto& s) { s.ca.certificate = "garbage"; }, {Step::NextCa});
  broken([](auto& s) { s.ca.certificate = s.trusted = "garbage"; }, {Step::NewCa, Step::NewLeaf});
  broken([&](auto& s) { s.ca.key = other.ca.key; }, {Step::NextCa});
  const net::KeyPair x{"x", "x"};
  broken([&](auto& s) { s = {x, x, x, "x"}; }, {Step::Withdraw, Step::NewCa, Step::NewLeaf});
}

TEST_F(CertificatePlanTest, ManyNewCasLeaveTheNewestTrusted) {
  for (int i = 0; i < 12; ++i) {
    set.ca.key.clear();
    plan();
    clients_trust();
    now += rules.settle;
    plan();
    EXPECT_TRUE(accepted(set.leaf, set.trusted, now)) << i;
  }
  EXPECT_THAT(net::each_certificate(set.trusted), SizeIs(8));
}

TEST_F(CertificatePlanTest, BadNamesAreAnError) {
  rules.names = {"a b"};
  const auto planned = plan_certificates(set, rules, now, {});
  ASSERT_FALSE(planned.ok());
  EXPECT_THAT(planned.error().message, HasSubstr("'a b'"));
}

// Roll-overs, looked at twice a day, with two replicas that poll: at each moment every leaf that either of
// them serves is accepted by a client that trusts what it was given half a day ago. Under sanitizers it
// takes seven times as long: one roll-over has to do there.
TEST_F(CertificatePlanTest, NoMomentWithoutTrust) {
  rules.leaf_lifetime = 9 * kDay;
  rules.ca_lifetime = 36 * kDay;
  rules.settle = 12h;
  plan();
  net::KeyPair served_by_a = set.leaf, served_by_b = set.leaf;
  std::string client_trusts = set.trusted;
  int leaves = 0, authorities = 0;
  constexpr int kRollOvers = NCCL_ENV_SANITIZED ? 1 : 5;
  for (int hour = 0; hour < kRollOvers * 25 * 24; hour += 12) {
    now += 12h;
    served_by_b = set.leaf;  // b reads what a wrote half a day ago
    const Steps steps = plan();
    leaves += static_cast<int>(std::count(steps.begin(), steps.end(), Step::NewLeaf));
    authorities += static_cast<int>(std::count(steps.begin(), steps.end(), Step::Promote));
    served_by_a = set.leaf;
    ASSERT_TRUE(accepted(served_by_a, client_trusts, now)) << hour;
    ASSERT_TRUE(accepted(served_by_b, client_trusts, now)) << hour;
    client_trusts = set.trusted;
    ASSERT_TRUE(accepted(served_by_b, client_trusts, now)) << hour;
    if (!trusted_since) clients_trust();
  }
  EXPECT_GT(leaves, kRollOvers * 3);
  EXPECT_EQ(authorities, kRollOvers);
}

}  // namespace
}  // namespace nccl_env::webhook::plan_test
