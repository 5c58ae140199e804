// SPDX-License-Identifier: Apache-2.0
// A fabric in memory: each node's Verbs, and what the test says of ports and ways. Safe for many threads.
#pragma once

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "nccl_env/packets/member.h"
#include "nccl_env/packets/rails.h"

namespace nccl_env::tests {

constexpr int kRetryExceeded = 12;  // IBV_WC_RETRY_EXC_ERR

class FakeFabric {
 public:
  struct Write {
    std::string from, to;  // "node/hca"
    std::size_t bytes = 0;
    int mtu = 0;
  };
  enum class Fate { Arrives, Lost, Spoilt, Silence };

  // By "node/hca": steps that fail there.
  std::map<std::string, packets::RailFault> broken;
  std::map<std::string, int> mtus;                                              // others: 4096
  std::function<int(const std::string& from, const std::string& to)> connects;  // errno
  std::function<Fate(const Write&)> writes;

  // Names that are there now, and those that were.
  std::size_t queue_pairs() const {
    const std::scoped_lock lock(mutex_);
    return ends_.size();
  }
  std::vector<Write> written() const {
    const std::scoped_lock lock(mutex_);
    return written_;
  }

  packets::MakeQueuePair make_of(const std::string& node) {
    return [this, node](const packets::OwnRail& rail) -> packets::MadeQueuePair {
      const std::string name = node + "/" + rail.told.hca;
      if (const auto fault = fault_at(name)) return *fault;
      return std::make_unique<FakeQueuePair>(*this, name);
    };
  }

 private:
  struct Memory {
    std::array<unsigned char, packets::kAllBytes> incoming{}, outgoing{};
  };
  struct End {
    std::string name;
    Memory* memory = nullptr;
  };

  class FakeQueuePair : public packets::QueuePair {
   public:
    FakeQueuePair(FakeFabric& fabric, std::string name)
        : fabric_(fabric), name_(std::move(name)), number_(fabric.add({name_, &memory_})) {}
    ~FakeQueuePair() override { fabric_.remove(number_); }

    void describe(LinkWord& into) const override {
      const auto mtu = fabric_.mtus.find(name_);
      into.queue_pair = number_;
      into.key = number_ + 4e9;  // more than an int holds
      into.mtu = mtu == fabric_.mtus.end() ? 4096 : mtu->second;
    }
    std::span<unsigned char> incoming() override { return memory_.incoming; }
    std::span<unsigned char> outgoing() override { return memory_.outgoing; }
    void connect(const LinkWord& peer, int mtu) override {
      peer_ = peer.key == *peer.queue_pair + 4e9 ? *peer.queue_pair : 0;
      mtu_ = mtu;
      result_ = fabric_.connect(name_, peer_);
    }
    void write(int bytes) override {
      result_ = fabric_.write(name_, peer_, memory_, static_cast<std::size_t>(bytes), mtu_);
    }
    std::optional<int> poll() override { return std::exchange(result_, {}); }

   private:
    FakeFabric& fabric_;
    const std::string name_;
    Memory memory_;
    const int number_;
    int peer_ = 0, mtu_ = 0;
    std::optional<int> result_;
  };

  std::optional<packets::RailFault> fault_at(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = broken.find(name);
    return found == broken.end() ? std::nullopt : std::optional(found->second);
  }
  int add(End end) {
    const std::scoped_lock lock(mutex_);
    names_.emplace(++last_number_, end.name);
    ends_.emplace(last_number_, std::move(end));
    return last_number_;
  }
  void remove(int number) {
    const std::scoped_lock lock(mutex_);
    ends_.erase(number);
  }
  int connect(const std::string& from, int peer) {
    const std::scoped_lock lock(mutex_);
    const auto to = names_.find(peer);
    if (to == names_.end()) return EINVAL;
    return connects ? connects(from, to->second) : 0;
  }
  std::optional<int> write(const std::string& from, int peer, const Memory& memory, std::size_t bytes,
                           int mtu) {
    const std::scoped_lock lock(mutex_);
    const auto to = ends_.find(peer);
    if (to == ends_.end()) return kRetryExceeded;
    written_.push_back({from, to->second.name, bytes, mtu});
    const Fate fate = writes ? writes(written_.back()) : Fate::Arrives;
    if (fate == Fate::Silence) return std::nullopt;
    if (fate == Fate::Lost) return kRetryExceeded;
    std::memcpy(to->second.memory->incoming.data(), memory.outgoing.data(), bytes);
    if (fate == Fate::Spoilt) to->second.memory->incoming[bytes - 1] ^= 1;
    return 0;
  }

  mutable std::mutex mutex_;
  std::map<int, End> ends_;           // by number
  std::map<int, std::string> names_;  // of those that are gone, too
  std::vector<Write> written_;
  int last_number_ = 0;
};

}  // namespace nccl_env::tests
