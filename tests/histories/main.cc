// SPDX-License-Identifier: Apache-2.0
// histories [COUNT]: so many histories of nodes, with fixed seeds, and a table of what pods had in them, by
// kind. Exit code 1 where a promise does not hold.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "histories/history.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::histories {
namespace {

constexpr std::array kNetworks{Network{"addresses stay"}, Network{"addresses go with the carrier", true},
                               Network{"they go, and IPv6 by SLAAC", true, true},
                               Network{"devices are exclusive", true, true, true}};
// Of a pod's time; with a pin 4.3 %. What is left are renames over a boot, under pods that are kept.
constexpr double kMostWrong = 0.002;
// Who does not see that a pin outlives its row sees nothing.
constexpr double kLeastWrongOfPins = 0.01;

struct Kind {
  const Network& network;
  bool pins = false;
  Policies policies;
  Figures figures = {};
};

std::shared_ptr<const NcclPolicy> policy_of(const char* list, const char* index) {
  const std::string text =
      R"({"apiVersion":"nccl-env.io/v1alpha1","kind":"NcclPolicy","metadata":{"name":"p"},)"
      R"("spec":{"match":{"resources":[{"name":"rdma/hca","exposure":"Host"}]},)"
      R"("delivery":["File"],"hca":")" +
      std::string(list) + R"(","gidIndex":")" + index + "\"}}";
  return std::make_shared<const NcclPolicy>(*parse_policy(text, {}));
}

double percent(long some, long all) {
  return all == 0 ? 0 : 100 * static_cast<double>(some) / static_cast<double>(all);
}

void print(const Kind& kind) {
  const Figures& figures = kind.figures;
  std::printf(
      "\n%s, gidIndex: %s. %ld flaps, %ld boots. Of a pod's time %.3f %% wrong, %.0f %% with an index.\n",
      std::string(kind.network.name).c_str(), kind.pins ? "Pin" : "Auto", figures.flaps, figures.boots,
      percent(figures.wrong_seconds, figures.pod_seconds),
      percent(figures.pinned_seconds, figures.pod_seconds));
  for (std::size_t at = 0; at < kMoments.size(); ++at) {
    const Count& count = figures.moments.at(at);
    std::printf("  %-36s %8ld  list %3.0f %%  index %3.0f %%  wrong %6ld", kMoments.at(at), count.all,
                percent(count.listed, count.all), percent(count.pinned, count.all), count.wrong);
    for (const auto& [why, times] : count.why) std::printf("  (%s: %ld)", std::string(why).c_str(), times);
    std::printf("\n");
  }
}

// Returns how many promises do not hold.
int check(const Kind& kind) {
  int broken = 0;
  const auto expect = [&](bool holds, const char* what) {
    if (holds) return;
    ++broken;
    std::printf("  BROKEN: %s\n", what);
  };
  const auto of = [&](Moment moment) -> const Count& {
    return kind.figures.moments.at(static_cast<std::size_t>(moment));
  };
  const double wrong = percent(kind.figures.wrong_seconds, kind.figures.pod_seconds) / 100;
  const Count& bound = of(Moment::Bound);
  expect(bound.wrong == 0, "a Binding beside an agent that runs gave a wrong value");
  expect(kind.figures.of_earlier_boots == 0, "a Binding after a boot gave values of the one before");
  expect(of(Moment::AfterEdit).wrong == 0, "a Binding after an edit gave a wrong value");
  expect(percent(bound.listed, bound.all) > 90, "Bindings bring no list");
  expect((bound.pinned > 0) == kind.pins, "an index comes where the policy says Pin, and nowhere else");
  if (kind.pins) {
    expect(!kind.network.addresses_go || wrong > kLeastWrongOfPins, "no pin outlives its row");
  } else {
    expect(of(Moment::AgentAway).wrong == 0, "a Binding while the agent is away gave a wrong value");
    expect(wrong <= kMostWrong, "values are wrong for more than 0.2 % of a pod's time");
  }
  return broken;
}

int run(std::size_t count) {
  std::vector<Kind> kinds;
  for (const Network& network : kNetworks) {
    for (const char* index : {"Auto", "Pin"})
      kinds.push_back(
          {network, index[0] == 'P', {policy_of("FromNode", index), policy_of("=mlx5_8", index)}});
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t at = next++; at < kinds.size(); at = next++) {
      Kind& kind = kinds[at];
      for (std::size_t seed = 0; seed < count / kinds.size(); ++seed)
        History(kind.network, kind.policies, seed, kind.figures).run();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = std::max(1U, std::thread::hardware_concurrency()); i > 0; --i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  int broken = 0;
  for (const Kind& kind : kinds) {
    print(kind);
    broken += check(kind);
  }
  std::printf("\nhistories: %zu, promises that do not hold: %d\n", count, broken);
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace nccl_env::histories

int main(int argc, char** argv) {
  return nccl_env::histories::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000);
}
