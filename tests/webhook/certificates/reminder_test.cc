// SPDX-License-Identifier: Apache-2.0
#include "certificates/reminder.h"

#include <gmock/gmock.h>

namespace nccl_env::webhook::reminder_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Time = CertificateReminder::Time;
constexpr std::chrono::hours kDay{24};
constexpr Time kEnd = std::chrono::sys_days(std::chrono::year(2027) / 3 / 1);

net::CertificateInfo certificate(std::chrono::hours lifetime, const std::string& fingerprint = "a") {
  return {"CN=webhook", {"localhost"}, kEnd - lifetime, kEnd, fingerprint};
}

class Reminder : public ::testing::Test {
 protected:
  std::string said(Time now) { return said(yearly_, now); }
  std::string said(const net::CertificateInfo& info, Time now) {
    const auto reminder = reminder_.due(info, now);
    return reminder ? std::string(reminder->message) + ": " + reminder->problem : "";
  }

  const net::CertificateInfo yearly_ = certificate(365 * kDay);
  CertificateReminder reminder_;
};

TEST_F(Reminder, SaysNothingUntilThirtyDaysAreLeft) {
  EXPECT_THAT(said(kEnd - 30 * kDay - 1s), IsEmpty());
  EXPECT_EQ(said(kEnd - 30 * kDay),
            "certificate ends soon: certificate CN=webhook ends in 30 days, at 2027-03-01T00:00:00Z");
}

TEST_F(Reminder, RepeatsItselfOnceADay) {
  EXPECT_THAT(said(kEnd - 20 * kDay), HasSubstr("20 days"));
  EXPECT_THAT(said(kEnd - 20 * kDay + 1s), IsEmpty());
  EXPECT_THAT(said(kEnd - 19 * kDay - 1s), IsEmpty());
  EXPECT_THAT(said(kEnd - 19 * kDay), HasSubstr("19 days"));
}

TEST_F(Reminder, DoesNotWaitForADayAtAWeekADayAndTheEnd) {
  EXPECT_THAT(said(kEnd - 7 * kDay - 1s), HasSubstr("7 days"));
  EXPECT_THAT(said(kEnd - 7 * kDay), HasSubstr("7 days"));
  EXPECT_THAT(said(kEnd - 7 * kDay + 1s), IsEmpty());
  EXPECT_THAT(said(kEnd - kDay - 1s), HasSubstr("24 hours"));
  EXPECT_THAT(said(kEnd - kDay), HasSubstr("24 hours"));
  EXPECT_THAT(said(kEnd - 1s), IsEmpty());
  EXPECT_EQ(said(kEnd), "certificate not valid: certificate CN=webhook has expired");
  EXPECT_THAT(said(kEnd + kDay - 1s), IsEmpty());
  EXPECT_THAT(said(kEnd + kDay), HasSubstr("has expired"));
}

TEST_F(Reminder, ShortLivedCertificatesHaveTheLastQuarter) {
  const auto quarterly = certificate(88 * kDay);
  EXPECT_THAT(said(quarterly, kEnd - 22 * kDay - 1s), IsEmpty());
  EXPECT_THAT(said(quarterly, kEnd - 22 * kDay), HasSubstr("22 days"));
}

TEST_F(Reminder, ANewCertificateBeginsAnew) {
  EXPECT_THAT(said(kEnd - kDay), HasSubstr("24 hours"));
  EXPECT_THAT(said(certificate(365 * kDay, "b"), kEnd - kDay), HasSubstr("24 hours"));
  auto renewed = certificate(365 * kDay, "c");
  renewed.not_after += 365 * kDay;
  EXPECT_THAT(said(renewed, kEnd), IsEmpty());
}

TEST_F(Reminder, SeesTheClockSetBack) {
  EXPECT_THAT(said(kEnd - 365 * kDay - 1s), HasSubstr("not valid yet"));
  EXPECT_THAT(said(kEnd - 365 * kDay - 2s), HasSubstr("not valid yet")) << "the first was said later";
  EXPECT_THAT(said(kEnd - 365 * kDay), IsEmpty());
}

TEST(ReminderPause, EndsWhereTheCertificateDoes) {
  const auto yearly = certificate(365 * kDay);
  EXPECT_EQ(CertificateReminder::quiet_for(yearly, kEnd - kDay), 1min);
  EXPECT_EQ(CertificateReminder::quiet_for(yearly, kEnd - 1500us), 2ms);
  EXPECT_EQ(CertificateReminder::quiet_for(yearly, kEnd), 1min);
}

}  // namespace
}  // namespace nccl_env::webhook::reminder_test
