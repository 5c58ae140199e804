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
    object_.reset();
  }
  changed_.notify_one();
  thread_.join();
  if (ended_ >= 0) ::close(ended_);
}

void Publisher::begin(nlohmann::ordered_json object) {
  {
    const std::lock_guard lock(mutex_);
    object_ = std::move(object);
  }
  changed_.notify_one();
}

std::optional<Status> Publisher::take_outcome() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t cleared = ::read(ended_, &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

void Publisher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return object_ || stopping_; });
    if (stopping_) return;
    const nlohmann::ordered_json object = *std::exchange(object_, std::nullopt);
    lock.unlock();
    Status written = store_.write(object);
    lock.lock();
    outcome_ = std::move(written);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t woken = ::write(ended_, &one, sizeof one);
  }
}

}  // namespace nccl_env::app
