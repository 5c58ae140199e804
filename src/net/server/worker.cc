// SPDX-License-Identifier: Apache-2.0
#include "server/worker.h"

#include <algorithm>
#include <cstring>

#include "server/session.h"

namespace nccl_env::net {
namespace {

constexpr std::size_t kKeptBuffers = 16;  // requests in progress per thread are few: handlers don't wait

// Deadlines are looked at in a sweep instead of with a timer each: setting one is a store. They come late by
// this interval at most.
std::chrono::milliseconds sweep_interval(const ServerOptions& options) {
  const auto shortest = std::min({options.handshake_timeout, options.header_timeout, options.body_timeout,
                                  options.write_timeout, options.linger_timeout, options.idle_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
}

}  // namespace

std::optional<OpenConnections::Ticket> OpenConnections::enter(int limit) {
  std::lock_guard lock(mutex_);
  if (count_ >= limit) return std::nullopt;
  ++count_;
  return Ticket(*this);
}

void OpenConnections::leave() {
  std::lock_guard lock(mutex_);
  if (--count_ > 0) return;
  empty_since_ = Clock::now();
  emptied_.notify_all();
}

int OpenConnections::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

bool OpenConnections::wait_empty(std::chrono::milliseconds grace, std::chrono::milliseconds settle) {
  std::unique_lock lock(mutex_);
  const auto start = Clock::now();
  const auto deadline = start + grace;
  for (;;) {
    const auto settled = std::max(start, empty_since_) + settle;
    const auto now = Clock::now();
    if (count_ == 0 && now >= settled) return true;
    if (waits_ended_ || now >= deadline) return false;
    emptied_.wait_until(lock, count_ == 0 ? std::min(deadline, settled) : deadline);
  }
}

void OpenConnections::end_waits() {
  const std::lock_guard lock(mutex_);
  waits_ended_ = true;
  emptied_.notify_all();
}

bool BodyRoom::cover(std::size_t bytes) {
  if (bytes <= kSmallBody + static_cast<std::size_t>(taken_)) return true;
  const auto more = static_cast<std::int64_t>(bytes - kSmallBody) - taken_;
  if (left_.fetch_sub(more, std::memory_order_relaxed) < more) {
    left_.fetch_add(more, std::memory_order_relaxed);
    return false;
  }
  taken_ += more;
  return true;
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
      sweep_timer_(io) {}

void Worker::add(Session& session) {
  sessions_.insert(&session);
  if (!sweeping_) sweep_later();
}

void Worker::sweep_later() {
  sweeping_ = !sessions_.empty() && !stopping_;
  if (!sweeping_) return;
  sweep_timer_.expires_after(sweep_interval_);
  sweep_timer_.async_wait([this](boost::system::error_code) {
    const auto now = Clock::now();
    for (Session* session : sessions_) session->end_if_late(now);
    sweep_later();
  });
}

void Worker::stop() {
  stopping_ = true;
  sweep_timer_.cancel();
  for (Session* session : sessions_) session->abort();
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
