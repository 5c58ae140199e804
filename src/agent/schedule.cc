// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <algorithm>

namespace nccl_env::agent {

PublishSchedule::PublishSchedule(const PublishIntervals& intervals, Random random)
    : intervals_(intervals), random_(std::move(random)) {}

// Returns the interval made shorter or longer by up to a fifth, at random.
PublishIntervals::Duration PublishSchedule::spread(PublishIntervals::Duration interval) const {
  return std::chrono::duration_cast<PublishIntervals::Duration>(interval * (0.8 + 0.4 * random_()));
}

void PublishSchedule::back_off(Time now) {
  retry_ = retry_.count() == 0 ? intervals_.first_retry : std::min(retry_ * 2, intervals_.longest_retry);
  retry_at_ = now + spread(retry_);
}

void PublishSchedule::on_begin_ended(Time now, bool succeeded) {
  starting_ = false;
  begun_ = succeeded;
  if (!succeeded) return back_off(now);
  retry_ = PublishIntervals::Duration(0);
  retry_at_ = now;
}

void PublishSchedule::on_event(Time now) {
  if (!first_event_) first_event_ = now;
  last_event_ = now;
}

void PublishSchedule::on_look(Time now, bool changed) {
  const bool refresh = refresh_at_ && now >= *refresh_at_;
  const bool first = !last_look_;
  pending_ = pending_ || changed || refresh || first;
  last_look_ = now;
  again_ = first_event_ || (changed && !first) ? intervals_.first_again : again_ * 2;
  if (again_ > intervals_.longest_again) again_ = PublishIntervals::Duration(0);
  first_event_.reset();
}

void PublishSchedule::on_loss(Time now) {
  if (lost_at_) return;
  const auto pause =
      std::chrono::duration_cast<PublishIntervals::Duration>(intervals_.lost_spread * random_());
  lost_at_ = std::max(now, next_loss_) + pause;
}

void PublishSchedule::on_publish_begin() {
  publishing_ = true;
  pending_ = false;
  if (lost_at_) next_loss_ = *lost_at_ + intervals_.between_losses;
  lost_at_.reset();
}

void PublishSchedule::on_publish_end(Time now, bool succeeded, bool settled) {
  publishing_ = false;
  if (succeeded) {
    retry_ = PublishIntervals::Duration(0);
    retry_at_ = now;
    const auto next = settling_.count() == 0 ? intervals_.first_refresh : settling_ * 2;
    settling_ = settled ? PublishIntervals::Duration(0) : std::min(next, intervals_.refresh);
    refresh_at_ = now + spread(settled ? intervals_.refresh : settling_);
    return;
  }
  pending_ = true;
  back_off(now);
}

std::optional<PublishSchedule::Time> PublishSchedule::next_publish() const {
  if (publishing_) return std::nullopt;
  if (pending_) return retry_at_;
  return lost_at_ ? std::optional(std::max(*lost_at_, retry_at_)) : std::nullopt;
}

bool PublishSchedule::publish_due(Time now) const {
  const auto due = next_publish();
  return due && now >= *due;
}

PublishSchedule::Time PublishSchedule::next_look() const {
  if (!last_look_) return Time::min();
  Time due = *last_look_ + intervals_.look_anyway;
  if (first_event_) {
    const Time settled = std::min(last_event_ + intervals_.pause, *first_event_ + intervals_.longest_burst);
    due = std::min(due, std::max(settled, *last_look_ + intervals_.between_looks));
  } else if (again_.count() > 0) {
    due = std::min(due, *last_look_ + again_);
  }
  // A refresh needs one new look; while the store does not take it, there are no more looks for it.
  if (refresh_at_ && *last_look_ < *refresh_at_) due = std::min(due, *refresh_at_);
  return due;
}

PublishSchedule::Time PublishSchedule::next() const {
  if (!begun_) return starting_ ? Time::max() : retry_at_;
  return std::min(next_look(), next_publish().value_or(Time::max()));
}

}  // namespace nccl_env::agent
