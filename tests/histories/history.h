// SPDX-License-Identifier: Apache-2.0
// A history: ten days of a node, its agent, a policy, and pods that come and go.
//
//   [ KernelNode ] --look--> [ PortHistory ] --table--> [ plan_binding ] --nccl.conf--> [ Pod ]
//         \------------------- [ History: what happens; could the pod connect now? ] ----/
//
// What happens depends on the dice alone, never on values: a seed is the same history under every policy.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "histories/kernel_node.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/node/port_history.h"

namespace nccl_env::histories {

// When a pod's values have to be right.
enum class Moment { Bound, AgentAway, AfterBoot, AfterEdit, RestartInPlace, RestartAfterBoot };
inline constexpr std::array kMoments{"bound",
                                     "bound, agent away",
                                     "bound after a boot, before its table",
                                     "bound after an edit",
                                     "restarted after a flap",
                                     "restarted after a boot"};

struct Count {
  long all = 0, wrong = 0, listed = 0, pinned = 0;
  std::map<std::string_view, long> why;  // of those that are wrong
};

struct Figures {
  std::array<Count, kMoments.size()> moments;
  long flaps = 0, boots = 0;
  long pod_seconds = 0, pinned_seconds = 0;
  long of_earlier_boots = 0;  // Bindings with a list of a table of another boot
  long wrong_seconds = 0;     // with a value that a new connection cannot use
};

// A policy whose list comes from the node, and what an edit makes of it: one that names its list.
using Policies = std::array<std::shared_ptr<const NcclPolicy>, 2>;

class History {
 public:
  // Adds to `figures`, which only one thread may have.
  History(const Network& network, const Policies& policies, std::uint64_t seed, Figures& figures)
      : network_(network), policies_(policies), dice_(seed), node_(network, dice_), figures_(figures) {}
  void run();

 private:
  struct Pod {
    const NcclPolicy* policy = nullptr;  // under which it was created
    NcclEnv env;                         // what stands in the pod, and the lines of nccl.conf that it lacks
    bool runs = false;
  };

  void after(Seconds wait, std::function<void()> what) { agenda_.emplace(now_ + wait, std::move(what)); }
  // The same, unless the node boots before.
  void in_this_boot(Seconds wait, std::function<void()> what);
  void look();
  void date_table();
  void start_agent();
  void lose_agent();
  void flap();
  void regain(int rail);
  void boot();
  void take();
  void create();
  void bind();
  void end_pod(Seconds until_next);
  [[nodiscard]] std::string_view judge() const;
  void note(Moment moment);

  const Network& network_;
  const Policies& policies_;
  Dice dice_;
  KernelNode node_;
  Figures& figures_;
  std::multimap<Seconds, std::function<void()>> agenda_;
  Seconds now_{0};

  NodeFabric seen_;  // what a look shows now
  node::PortHistory history_;
  NodeFabric table_;  // the last that the agent wrote
  Seconds looked_{0};
  bool agent_ = true;

  std::size_t policy_ = 0;  // of policies_
  std::optional<Pod> pod_;
  int pods_ = 0;
  std::string_view verdict_;  // on the pod that runs
};

}  // namespace nccl_env::histories
