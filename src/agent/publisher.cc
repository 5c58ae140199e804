// SPDX-License-Identifier: Apache-2.0
#include "publisher.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace nccl_env::agent {

Publisher::Publisher(TableStore& store)
    : store_(store), happened_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { run(); }) {}

Publisher::~Publisher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  store_.stop();
  changed_.notify_one();
  thread_.join();
}

void Publisher::follow() {
  store_.follow([this](const std::string& why) {
    const std::lock_guard lock(mutex_);
    outcomes_.lost = why;
    tell();
  });
}

void Publisher::begin() {
  start([this] {
    Begun begun = store_.begin();
    const std::lock_guard lock(mutex_);
    outcomes_.begun = std::move(begun);
  });
}

void Publisher::write(nlohmann::ordered_json object) {
  start([this, object = std::move(object)] {
    Written written = store_.write(object);
    const std::lock_guard lock(mutex_);
    outcomes_.written = std::move(written);
  });
}

void Publisher::start(Job job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_one();
}

Publisher::Outcomes Publisher::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t cleared = ::read(descriptor(), &count, sizeof count);
  return std::exchange(outcomes_, {});
}

void Publisher::tell() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(descriptor(), &one, sizeof one);
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
    tell();
  }
}

}  // namespace nccl_env::agent
