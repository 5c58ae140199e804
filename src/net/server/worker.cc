// SPDX-License-Identifier: Apache-2.0
#include "server/worker.h"

#include <algorithm>
#include <cstring>

namespace nccl_env::net {
namespace {

constexpr std::size_t kKeptBuffers = 16;  // requests in progress per thread are few: handlers don't wait

constexpr std::chrono::seconds kBeat{1};

// The time between sweeps over all deadlines. There is no timer for each, so setting a deadline is a single
// store. A deadline is noticed late by this interval at most.
std::chrono::milliseconds sweep_interval(const ServerOptions& options) {
  const auto shortest = std::min({options.handshake_timeout, options.header_timeout, options.body_timeout,
                                  options.write_timeout, options.linger_timeout, options.idle_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
}

}  // namespace

ServerShared::ServerShared(ServerOptions its_options, ServerHandlers its_handlers)
    : options(std::move(its_options)),
      handlers(std::move(its_handlers)),
      open(options.max_connections),
      body_room(static_cast<std::int64_t>(options.max_large_bodies)) {}

bool BodyRoom::cover(std::size_t bytes) {
  if (bytes <= kSmallBody + static_cast<std::size_t>(taken_)) return true;
  const auto more = static_cast<std::int64_t>(bytes - kSmallBody) - taken_;
  if (!take(more)) take(-more);
  return taken_ >= static_cast<std::int64_t>(bytes - kSmallBody);
}

bool BodyRoom::take(std::int64_t more) {
  taken_ += more;
  const std::int64_t left = left_.fetch_sub(more, std::memory_order_relaxed) - more;
  return left >= of_peer_.fetch_add(more, std::memory_order_relaxed) + more;
}

void RequestBuffers::consume(std::size_t bytes) {
  begin += bytes;
  if (begin == end) begin = end = 0;
}

void RequestBuffers::compact() {
  if (begin == 0) return;
  std::memmove(input.get(), input.get() + begin, end - begin);
  end -= begin;
  begin = 0;
}

void RequestBuffers::trim() {
  if (body.capacity() > kSmallBody + kBodyPadding) std::string().swap(body);
  if (reply.capacity() > kSmallBody) std::string().swap(reply);
}

Worker::Worker(ServerShared& shared_state, int thread_index)
    : shared(shared_state),
      index(thread_index),
      sweep_interval_(sweep_interval(shared_state.options)),
      sweep_timer_(io),
      beat_timer_(io) {}

void Worker::add(LiveSession& session) {
  sessions_.emplace(session.id(), &session);
  if (!sweeping_) sweep_later();
}

void Worker::remove(const LiveSession& session) {
  sessions_.erase(session.id());
}

void Worker::end(const OpenConnections::Victim& victim) {
  const auto found = sessions_.find(victim.id);
  if (found != sessions_.end()) found->second->give_up();
}

void Worker::begin_beating() {
  beat();
}

void Worker::beat() {
  last_beat_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (stopping_) return;
  beat_timer_.expires_after(kBeat);
  beat_timer_.async_wait([this](boost::system::error_code) { beat(); });
}

Clock::duration Worker::held_up() const {
  return Clock::now() - Clock::time_point(Clock::duration(last_beat_.load(std::memory_order_relaxed)));
}

void Worker::sweep_later() {
  sweeping_ = !sessions_.empty() && !stopping_;
  if (!sweeping_) return;
  sweep_timer_.expires_after(sweep_interval_);
  sweep_timer_.async_wait([this](boost::system::error_code) {
    const auto now = Clock::now();
    for (const auto& [id, session] : sessions_) session->end_if_late(now);
    sweep_later();
  });
}

void Worker::stop() {
  stopping_ = true;
  sweep_timer_.cancel();
  beat_timer_.cancel();
  for (const auto& [id, session] : sessions_) session->abort();
}

std::unique_ptr<RequestBuffers> Worker::take_buffers() {
  if (free_.empty()) return std::make_unique<RequestBuffers>();
  auto buffers = std::move(free_.back());
  free_.pop_back();
  return buffers;
}

void Worker::give_buffers(std::unique_ptr<RequestBuffers> buffers) {
  if (!buffers || free_.size() >= kKeptBuffers) return;
  buffers->begin = buffers->end = 0;
  buffers->trim();
  free_.push_back(std::move(buffers));
}

void Worker::warn(std::string_view message, Logger::Fields fields) {
  if (!shared.options.log) return;
  const auto now = Clock::now();
  if (now < next_log_) {
    ++lines_suppressed_;
    return;
  }
  next_log_ = now + std::chrono::seconds(1);
  if (const auto suppressed = std::exchange(lines_suppressed_, 0); suppressed > 0) {
    shared.options.log->warn("server warnings left out", {{"count", suppressed}});
  }
  shared.options.log->warn(message, fields);
}

}  // namespace nccl_env::net
