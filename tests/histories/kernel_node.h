// SPDX-License-Identifier: Apache-2.0
// One node as its kernel has it: eight rails and a management NIC with RoCE, and the rows of their GID
// tables.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/node_fabric.h"

namespace nccl_env::histories {

using Seconds = std::chrono::seconds;
inline constexpr int kRails = 8;
inline constexpr std::string_view kNode = "node-a";

// Random numbers that are the same ones with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  double part() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  bool once_in(double times) { return part() * times < 1; }
  int below(int end) { return static_cast<int>(part() * end); }
  // Exponentially distributed.
  Seconds about(Seconds mean) {
    return Seconds(1 + static_cast<long>(-std::log(1 - part()) * static_cast<double>(mean.count())));
  }

 private:
  std::mt19937_64 engine_;
};

// What differs from network to network.
struct Network {
  std::string_view name;
  bool addresses_go = false;  // with the carrier, as NetworkManager and DHCP clients do it
  bool ipv6 = false;          // SLAAC beside IPv4, in either order
  bool exclusive = false;     // pods take devices away, and give them back
};

class KernelNode {
 public:
  KernelNode(const Network& network, Dice& dice) : network_(network), dice_(dice) { boot(); }

  // Once in fifty times a card has come or gone, so that the names of all rails move by one.
  void boot();
  [[nodiscard]] bool is_up(int rail) const { return rails_.at(rail).up && !rails_.at(rail).taken; }
  void lose_carrier(int rail);
  void regain_carrier(int rail);
  void rename(int rail);
  // A device that comes back from another network namespace has a new GID table.
  void take(int rail) { rails_.at(rail).taken = true; }
  void give_back(int rail);
  // Queue pairs of a job hold the rows that it uses. A row that is deleted meanwhile keeps its place until
  // they are gone (Linux, drivers/infiniband/core/cache.c: del_gid), and no address gets it.
  void hold_rows();
  void release_rows();

  // A table as one look shows it, without a time and history.
  [[nodiscard]] NodeFabric look() const;
  [[nodiscard]] std::string boot_id() const { return "boot-" + std::to_string(boots_); }
  [[nodiscard]] std::string management() const { return shifted_ ? "mlx5_0" : "mlx5_8"; }

 private:
  struct Row {
    Gid gid;
    GidType type = GidType::RoCEv1;
    bool held = false;
    bool deleted = false;
  };
  struct Rail {
    std::string hca;
    bool up = true;
    bool taken = false;
    std::map<int, Row> rows;  // those that have a place
    std::vector<Gid> addresses;
  };
  static void add(Rail& rail, const Gid& address);
  void add_addresses(Rail& rail, int number, bool ipv6_first) const;
  void make_rows(Rail& rail, int number);
  [[nodiscard]] NodeFabric management_only() const;

  const Network& network_;
  Dice& dice_;
  std::array<Rail, kRails> rails_;
  int boots_ = 0;
  int renamed_ = 0;
  bool shifted_ = false;
};

}  // namespace nccl_env::histories
