// SPDX-License-Identifier: Apache-2.0
#include "publisher.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace nccl_env::app {

Publisher::Publisher(TableStore& store)
    : store_(store), ended_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { run(); }) {}

Publisher::~Publisher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  store_.stop();
  changed_.notify_one();
  thread_.join();
  if (ended_ >= 0) ::close(ended_);
}

void Publisher::begin() {
  start([this] {
    Begun begun = store_.begin();
    const std::lock_guard lock(mutex_);
    begun_ = std::move(begun);
  });
}

void Publisher::write(nlohmann::ordered_json object) {
  start([this, object = std::move(object)] {
    Written written = store_.write(object);
    const std::lock_guard lock(mutex_);
    written_ = std::move(written);
  });
}

void Publisher::start(Job job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_one();
}

void Publisher::clear_descriptor() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t cleared = ::read(ended_, &count, sizeof count);
}

void Publisher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return job_ || stopping_; });
    if (stopping_) return;
    const Job job = std::exchange(job_, nullptr);
    lock.unlock();
    job();
    lock.lock();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t woken = ::write(ended_, &one, sizeof one);
  }
}

}  // namespace nccl_env::app
