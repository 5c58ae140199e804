// SPDX-License-Identifier: Apache-2.0
// Decides when the agent looks and when it publishes. Pure: the caller reports events with their times, and
// asks what is due.
//
//                      events                    times
//   [ KernelEvents ] ----------+   +------ [ PublishSchedule ]   decides; no clock, no socket
//                              v   v
//     look: [ probe ] <---- the loop ----> [ Publisher ] ----> [ TableStore ]: a cluster or a directory
//           one thread         |           its own thread      |
//                              v                               +- [ KeptTable ] <-- watch: is it there?
//                          [ AgentOps ]   health and metrics, a third thread
//
// The loop owns all of them and takes each outcome: threads hand over values, and share nothing else.
// `resolve` and `show` look once and end.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace nccl_env::agent {

struct PublishIntervals {
  using Duration = std::chrono::milliseconds;

  // A change is to be published within 2 s. Events come in bursts (a MAC change makes seven): a look follows
  // when they pause, at the latest half a second after the first, and not within half a second of the last
  // look.
  Duration pause{100};
  Duration longest_burst{500};
  Duration between_looks{500};
  // The kernel reports an address before it writes the address's GID row, which it leaves to a work queue; a
  // late row makes no event. So the look that follows events, and each that finds a change, is
  // followed by others 1, 2 and 4 s apart.
  Duration first_again{1'000};
  Duration longest_again{4'000};
  // Finds changes that make no event: those of InfiniBand ports whose devices can't be held open.
  Duration look_anyway{60'000};
  // An hour, up to a fifth more or less: 15 000 nodes then make 4 writes a second, and not all at once.
  Duration refresh{3'600'000};
  // While a new Node's labels may be missing, the table is written 1, 2, 4, … minutes after the last write.
  Duration first_refresh{60'000};
  Duration first_retry{1'000};
  // A server that comes back meets 15 000 agents within two minutes.
  Duration longest_retry{120'000};
  // A lost table is written again after a random part of `lost_spread`: 15 000 are lost together when their
  // CRD is deleted. And not within a minute of the write for the last loss: others may want to write the
  // same object.
  Duration lost_spread{30'000};
  Duration between_losses{60'000};
};

class PublishSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Random = std::function<double()>;  // in [0, 1)

  PublishSchedule(const PublishIntervals& intervals, Random random);

  // The first table needs facts from the store, which is asked now; until it succeeds, nothing else is due.
  void on_begin_started() { starting_ = true; }
  void on_begin_ended(Time now, bool succeeded);

  void on_event(Time now);
  // A look was taken; `changed`: it differs from the one before. The first one counts as changed.
  void on_look(Time now, bool changed);
  // The store no longer holds the table that was published last.
  void on_loss(Time now);
  // The newest look is being published. No other is due until on_publish_end().
  void on_publish_begin();
  // `settled`: before the refresh, a table is written only if it changed.
  void on_publish_end(Time now, bool succeeded, bool settled = true);

  [[nodiscard]] bool begin_due(Time now) const { return !begun_ && !starting_ && now >= retry_at_; }
  [[nodiscard]] bool look_due(Time now) const { return begun_ && now >= next_look(); }
  [[nodiscard]] bool publish_due(Time now) const;
  // The time when something becomes due if nothing happens before; Time::max() if nothing will be due.
  [[nodiscard]] Time next() const;
  // After a failure: when the store is asked again.
  [[nodiscard]] Time retry_at() const { return retry_at_; }

 private:
  [[nodiscard]] Time next_look() const;
  [[nodiscard]] std::optional<Time> next_publish() const;
  [[nodiscard]] PublishIntervals::Duration spread(PublishIntervals::Duration interval) const;

  void back_off(Time now);

  const PublishIntervals intervals_;
  const Random random_;
  bool starting_ = false;
  bool begun_ = false;
  std::optional<Time> first_event_;  // since the last look
  Time last_event_{};
  std::optional<Time> last_look_;
  PublishIntervals::Duration again_{0};  // from the last look to one more; 0: none follows
  bool pending_ = false;                 // a look is to be published
  bool publishing_ = false;
  std::optional<Time> refresh_at_;          // absent until the first success
  PublishIntervals::Duration settling_{0};  // from the last write to one more; 0: all is settled
  std::optional<Time> lost_at_;             // when a lost table is to be published again
  Time next_loss_{};                        // a later loss is written at this time or after it
  Time retry_at_{};
  PublishIntervals::Duration retry_{0};  // 0: the last try succeeded
};

}  // namespace nccl_env::agent
