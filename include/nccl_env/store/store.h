// SPDX-License-Identifier: Apache-2.0
// Store: the source of the webhook's policies, tables and namespaces, a directory or a cluster.
//
//   [ manifests ] or [ watches ] -- one writer --> [ Published<Snapshot> ] <-- readers on any thread
//
//   [ Namespace ] -- its label names --> [ NcclPolicy ]        [ NodeFabric ] by the name of its node
//
// The store owns the newest snapshot, and each reader shares the one that it decides by. A policy or a table
// is shared by all snapshots that hold it and never changes; its last good form stays where a newer one is
// refused. Within a snapshot only a namespace refers to anything, and what it names may be missing. Pods and
// claims are in no snapshot: they are read one by one for whoever asks, and so are tables that no watch
// follows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/result.h"
#include "nccl_env/store/attempt.h"
#include "nccl_env/store/published.h"

namespace nccl_env::store {

// One collection that is watched.
struct WatchStats {
  std::string kind;                         // NcclPolicy, NodeFabric, Namespace
  bool synced = false;                      // all of it was read once
  bool in_contact = false;                  // and it is followed now
  std::uint64_t seconds_since_contact = 0;  // since the server last answered
  std::uint64_t relists = 0;                // times that all of it had to be read again
  std::uint64_t objects = 0;
  std::uint64_t refused = 0;  // objects whose newest form is not usable
  std::string problem{};      // why it is not in contact; "" if it is
};

// How reads of single tables ended.
enum class TableRead { Found, Absent, Failed };

// Whether a table is of the boot that its node has now. Unknown: nobody can tell, so that its age decides.
enum class BootCheck { Same, Other, Unknown };

struct StoreStats {
  std::uint64_t loads = 0;                     // snapshots published
  std::int64_t last_load_unix = 0;             // seconds
  std::uint64_t files = 0;                     // of a directory: its manifests
  std::uint64_t files_refused = 0;             // of these, not usable now (their last good objects stay)
  std::vector<WatchStats> watches;             // of a cluster, always in the same order; of a directory none
  std::array<std::uint64_t, 3> table_reads{};  // by TableRead
};

// All members from any thread.
class Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual const Published<Snapshot>& snapshots() const = 0;
  // True once a snapshot holds all policies and namespaces; it stays true. The snapshot's `tables_known` says
  // whether it holds all tables.
  [[nodiscard]] virtual bool ready() const = 0;
  [[nodiscard]] virtual StoreStats stats() const = 0;
  // Returns what applies to a namespace that is `unknown` to the newest snapshot, as its source has it now;
  // nothing if too much was read lately. Postponed in the same case as read_claim. A store whose snapshots
  // never lag is not asked.
  [[nodiscard]] virtual Attempt<std::optional<PolicyLookup>> read_policy(std::string_view /*name_space*/,
                                                                         bool /*may_wait*/) const {
    return std::optional<PolicyLookup>();
  }
  // A pod's JSON text, nothing if there is none: needed before a Deny, and where a policy of the namespace's
  // gives no values. May block.
  [[nodiscard]] virtual Result<std::optional<std::string>> read_pod(std::string_view name_space,
                                                                    std::string_view name) const = 0;
  // Returns a claim's requests; an error says that it does not exist, or why it cannot be read. Postponed
  // only if the read would take time and `may_wait` is false. May block if `may_wait` is true.
  [[nodiscard]] virtual Attempt<SharedRequests> read_claim(const ClaimRef& ref, bool may_wait) const = 0;
  // The table that a node has now, for use with a snapshot without `tables_known` or `tables_followed`; null
  // if there is none, or none that is usable. Postponed in the same case as read_claim. A store whose
  // snapshots always have both is not asked.
  [[nodiscard]] virtual Attempt<SharedTable> read_table(std::string_view /*node*/, bool /*may_wait*/) const {
    return SharedTable();
  }
  // Compares a table's boot id with the Node's. Postponed in the same case as read_claim, never an error.
  [[nodiscard]] virtual Attempt<BootCheck> check_boot(std::string_view /*node*/, std::string_view /*boot_id*/,
                                                      bool /*may_wait*/) const {
    return BootCheck::Unknown;
  }
};

}  // namespace nccl_env::store
