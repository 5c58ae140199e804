// SPDX-License-Identifier: Apache-2.0
// ClaimReader: ResourceClaims and ResourceClaimTemplates of a cluster, read one by one and kept for a moment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

#include "nccl_env/core/pod/claims.h"
#include "nccl_env/kube/client.h"
#include "recent_reads.h"

namespace nccl_env::store {

// From any thread. `client` outlives it.
class ClaimReader {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  // A spec cannot be changed, but an object may be deleted and another one created with the same name: the
  // old spec is then used no longer than this. A Job's pods are created within this time.
  static constexpr std::chrono::seconds kMaxAge{10};
  // About 150 bytes each, with one request.
  static constexpr std::size_t kMaxEntries = 1024;

  explicit ClaimReader(kube::Client& client) : client_(client) {}

  // Null if it is not known, or not any more.
  [[nodiscard]] SharedRequests known(const ClaimRef& ref, Moment now) const;
  // From the server. Only what was found is kept: what is missing may be there in a moment.
  Result<SharedRequests> read(const ClaimRef& ref, Moment now);

 private:
  kube::Client& client_;
  std::atomic<std::size_t> version_{0};  // of the API, the one that answered last
  RecentReads<ClaimRef, SharedRequests> recent_{kMaxAge, kMaxEntries};
};

}  // namespace nccl_env::store
