// SPDX-License-Identifier: Apache-2.0
// Published<T>: one writer replaces an immutable value, readers on other threads use the newest without
// taking a lock unless it changed. (std::atomic<std::shared_ptr> would lock on every read.)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace nccl_env::store {

template <class T>
class Published {
 public:
  explicit Published(std::shared_ptr<const T> first) : value_(std::move(first)) {}

  void publish(std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    version_.fetch_add(1, std::memory_order_release);
  }

  [[nodiscard]] std::shared_ptr<const T> get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

  // One thread's view; keeps what it saw last. The Published must outlive it.
  class Reader {
   public:
    explicit Reader(const Published& source) : source_(&source) {}

    // The newest value; the reference holds until the next call.
    const std::shared_ptr<const T>& newest() {
      const std::uint64_t version = source_->version_.load(std::memory_order_acquire);
      if (!value_ || version != seen_) {
        seen_ = version;
        value_ = source_->get();
      }
      return value_;
    }

   private:
    const Published* source_;
    std::shared_ptr<const T> value_;
    std::uint64_t seen_ = 0;
  };

 private:
  mutable std::mutex mutex_;  // guards value_
  std::shared_ptr<const T> value_;
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace nccl_env::store
