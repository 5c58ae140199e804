// SPDX-License-Identifier: Apache-2.0
#include "certificates/reminder.h"

#include <algorithm>

#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::webhook {
namespace {

using std::chrono::hours;

constexpr hours kDay{24};
constexpr std::chrono::minutes kMaxQuiet{1};

std::string time_left(std::chrono::system_clock::duration left) {
  const auto whole_hours = std::chrono::floor<hours>(left).count();
  return whole_hours >= 48 ? std::to_string(whole_hours / 24) + " days"
                           : std::to_string(whole_hours) + " hours";
}

}  // namespace

CertificateReminder::State CertificateReminder::state_at(const net::CertificateInfo& info, Time now) {
  const auto left = info.not_after - now;
  const auto quarter = (info.not_after - info.not_before) / 4;  // renewals happen with a third left
  if (left <= left.zero()) return State::Ended;
  if (now < info.not_before) return State::NotYet;
  if (left > std::min<std::chrono::system_clock::duration>(30 * kDay, quarter)) return State::Good;
  if (left > 7 * kDay) return State::Soon;
  return left > kDay ? State::Week : State::Day;
}

std::optional<CertificateReminder::Reminder> CertificateReminder::due(const net::CertificateInfo& info,
                                                                      Time now) {
  const State state = state_at(info, now);
  const bool known = state == said_ && info.fingerprint == fingerprint_;
  if (known && (state == State::Good || (now >= said_at_ && now - said_at_ < kDay))) return std::nullopt;
  said_ = state;
  fingerprint_ = info.fingerprint;
  said_at_ = now;
  if (state == State::Good) return std::nullopt;
  if (const auto problem = net::validity_warning(info, now))
    return Reminder{"certificate not valid", *problem};
  return Reminder{"certificate ends soon",
                  "certificate " + info.subject + " ends in " + time_left(info.not_after - now) + ", at " +
                      format_timestamp(std::chrono::floor<std::chrono::seconds>(info.not_after))};
}

std::chrono::milliseconds CertificateReminder::quiet_for(const net::CertificateInfo& info, Time now) {
  if (now >= info.not_after) return kMaxQuiet;
  return std::min<std::chrono::milliseconds>(
      kMaxQuiet, std::chrono::ceil<std::chrono::milliseconds>(info.not_after - now));
}

}  // namespace nccl_env::webhook
