// SPDX-License-Identifier: Apache-2.0
// RecentReads: keeps, for a moment, objects that were read one by one, so that a question that comes many
// times in a burst is asked once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace nccl_env::store {

// From any thread.
template <class Key, class Value>
class RecentReads {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  RecentReads(std::chrono::seconds max_age, std::size_t max_entries)
      : max_age_(max_age), max_entries_(max_entries) {}

  // Nothing if it is not known, or not any more.
  template <class Name>
  [[nodiscard]] std::optional<Value> known(const Name& key, Moment now) const {
    return known(key, now, [this](const Value&) { return max_age_; });
  }
  // `age_of` says for how long a value counts.
  template <class Name, class AgeOf>
  [[nodiscard]] std::optional<Value> known(const Name& key, Moment now, const AgeOf& age_of) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || now - found->second.read > age_of(found->second.value))
      return std::nullopt;
    return found->second.value;
  }

  // Replaces the oldest entry if there is no room.
  void keep(const Key& key, const Value& value, Moment now) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= max_entries_)
      std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.read > max_age_; });
    if (entries_.size() >= max_entries_) {
      const auto older = [](const auto& a, const auto& b) { return a.second.read < b.second.read; };
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), older));
    }
    entries_.insert_or_assign(key, Entry{value, now});
  }

 private:
  struct Entry {
    Value value;
    Moment read;
  };

  const std::chrono::seconds max_age_;
  const std::size_t max_entries_;
  mutable std::mutex mutex_;  // guards the entries
  std::map<Key, Entry, std::less<>> entries_;
};

}  // namespace nccl_env::store
