// SPDX-License-Identifier: Apache-2.0
// WatchedKind: one kind of objects, from its watch into the draft of the next snapshot.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/watch.h"
#include "snapshot_writer.h"

namespace nccl_env::store {

// Rules of a kind: how its objects are read, and where they stand in a snapshot.
template <class Value>
struct KindRules {
  std::string kind;  // in messages
  std::function<Result<Value>(const kube::ApiObject&)> convert;
  std::function<void(Snapshot&, const std::string& name, const Value&)> put;
  std::function<void(Snapshot&, const std::string& name)> erase;
  std::function<void(Snapshot&)> clear;  // before a whole list is put
  // Stands for an object that never was good; nothing: as if it weren't there.
  std::function<std::optional<Value>(const std::string& problem)> refused = [](const std::string&) {
    return std::optional<Value>();
  };
  // False: decisions begin without it, and what has been listed so far is there for those that cannot read
  // it.
  bool awaited = true;
};

// Only the watch's thread may call its members, except the two counts.
template <class Value>
class WatchedKind : public kube::WatchSink {
 public:
  WatchedKind(KindRules<Value> rules, SnapshotWriter& writer, std::shared_ptr<Logger> log)
      : rules_(std::move(rules)), writer_(writer), log_(std::move(log)) {}

  [[nodiscard]] std::uint64_t objects() const { return objects_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  void begin_list() override { listed_.clear(); }

  void listed(const kube::ApiObject& object) override {
    std::string name(object.name);
    if (is_beyond(listed_, name)) return;
    Entry entry = read(name, object);
    if (!rules_.awaited && !complete_ && entry.value)
      writer_.change([&](Snapshot& draft) { rules_.put(draft, name, *entry.value); });
    listed_.insert_or_assign(listed_.end(), std::move(name), std::move(entry));
  }

  void complete_list() override {
    entries_ = std::exchange(listed_, {});
    objects_ = entries_.size();
    refused_ = static_cast<std::uint64_t>(std::count_if(
        entries_.begin(), entries_.end(), [](const auto& entry) { return entry.second.refused; }));
    writer_.change([this](Snapshot& draft) {
      rules_.clear(draft);
      for (const auto& [name, entry] : entries_) {
        if (entry.value) rules_.put(draft, name, *entry.value);
      }
    });
    if (!std::exchange(complete_, true) && rules_.awaited) writer_.complete_part();
  }

  void upserted(const kube::ApiObject& object) override {
    const std::string name(object.name);
    if (is_beyond(entries_, name)) return;
    Entry read_now = read(name, object);
    forget(name);
    const Entry& entry = entries_.insert_or_assign(name, std::move(read_now)).first->second;
    if (entry.value) writer_.change([&](Snapshot& draft) { rules_.put(draft, name, *entry.value); });
    objects_ = entries_.size();
    refused_ += entry.refused ? 1 : 0;
  }

  void removed(const kube::ApiObject& object) override {
    const std::string name(object.name);
    forget(name);
    entries_.erase(name);
    writer_.change([&](Snapshot& draft) { rules_.erase(draft, name); });
    objects_ = entries_.size();
  }

 private:
  struct Entry {
    std::string version;
    std::optional<Value> value;
    bool good = false;     // the value is the object's, maybe of an earlier form
    bool refused = false;  // the object's newest form is refused
    std::string problem;   // why
  };

  // Six times what a large cluster has: no server that is in its senses sends more.
  static constexpr std::size_t kMostObjects = 100'000;

  bool is_beyond(const std::map<std::string, Entry>& known, const std::string& name) {
    if (known.size() < kMostObjects || known.contains(name)) return false;
    if (!std::exchange(told_, true))
      log_->warn("objects left out", {{"kind", rules_.kind}, {"beyond", kMostObjects}});
    return true;
  }

  // Keeps the entry of a version that is known already: after a lost watch that is most of a list.
  Entry read(const std::string& name, const kube::ApiObject& object) {
    const auto known = entries_.find(name);
    Entry entry{std::string(object.resource_version), {}, true, false, {}};
    if (known != entries_.end() && known->second.version == entry.version) return known->second;
    Result<Value> value = rules_.convert(object);
    if (value) {
      entry.value = *std::move(value);
      return entry;
    }
    entry.refused = true;
    entry.problem = value.error().message;
    entry.good = known != entries_.end() && known->second.good;
    entry.value = entry.good ? known->second.value : rules_.refused(entry.problem);
    // Logs a problem once: each write of a refused policy's status brings the same object again.
    if (known == entries_.end() || known->second.problem != entry.problem)
      log_->warn("object refused", {{"kind", rules_.kind}, {"name", name}, {"problem", entry.problem}});
    return entry;
  }

  // The object's old form is not counted any more.
  void forget(const std::string& name) {
    const auto known = entries_.find(name);
    if (known != entries_.end() && known->second.refused) --refused_;
  }

  const KindRules<Value> rules_;
  SnapshotWriter& writer_;
  const std::shared_ptr<Logger> log_;
  std::map<std::string, Entry> entries_, listed_;
  bool complete_ = false, told_ = false;
  std::atomic<std::uint64_t> objects_{0}, refused_{0};
};

}  // namespace nccl_env::store
