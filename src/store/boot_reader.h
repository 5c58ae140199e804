// SPDX-License-Identifier: Apache-2.0
// BootReader: the boots that Nodes of a cluster have, read one by one and kept for a moment.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/store/store.h"
#include "read_budget.h"
#include "recent_reads.h"

namespace nccl_env::store {

// From any thread. `client` outlives it.
class BootReader {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  // A node that boots is not ready for longer than this, and gets no pods then.
  static constexpr std::chrono::seconds kMaxAge{30};
  // Another boot may be that of a Node which was read just before its kubelet had written the new one.
  static constexpr std::chrono::seconds kMaxAgeOfOther{2};
  // A server that is slow, or refuses, holds up no further Binding for so long.
  static constexpr std::chrono::seconds kPause{5};

  BootReader(kube::Client& client, std::shared_ptr<Logger> log) : client_(client), log_(std::move(log)) {}

  // As Store::check_boot.
  Attempt<BootCheck> check(std::string_view node, std::string_view boot_id, bool may_wait, Moment now);

 private:
  using Boot = std::optional<std::size_t>;  // a hash; nothing where the Node tells none, or is not there

  [[nodiscard]] bool paused(Moment now) const;
  void note(const std::string& problem, Moment now);
  Result<Boot> read(const std::string& node);

  kube::Client& client_;
  const std::shared_ptr<Logger> log_;
  ReadBudget budget_{200, 400};
  // Some 100 bytes each; more than the budget allows in that time.
  RecentReads<std::string, Boot> recent_{kMaxAge, 8192};
  mutable std::mutex mutex_;  // guards the next two
  std::optional<Moment> failed_;
  std::string problem_;  // the last one; "" once a Node was read
};

}  // namespace nccl_env::store
