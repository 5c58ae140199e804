// SPDX-License-Identifier: Apache-2.0
// Everything that decisions look up, as of one moment. A store publishes it; the webhook and the CLI decide
// from it. Immutable once published.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/fabric/packed_table.h"
#include "nccl_env/core/pod/claims.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

struct CompiledPolicy;

struct PolicyEntry {
  PolicyEntry() = default;
  PolicyEntry(std::shared_ptr<const NcclPolicy> accepted, std::string why);

  std::shared_ptr<const NcclPolicy> policy;  // null: the object exists but was refused
  std::string problem;                       // why it was refused
  std::shared_ptr<const CompiledPolicy> compiled;
};

// Tables by node, sorted. A copy shares the tables and is one array, not a tree, because a store that follows
// a cluster copies 15 000 entries for every change.
class TableMap {
 public:
  using value_type = std::pair<std::string_view, SharedTable>;  // the table's own name
  using const_iterator = std::vector<value_type>::const_iterator;

  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const_iterator find(std::string_view node) const;
  [[nodiscard]] bool contains(std::string_view node) const { return find(node) != end(); }

  // Returns false and does nothing if the node has a table already. Quick if tables come in the order of
  // names.
  bool insert(SharedTable table);
  // Inserts the table, in place of the one that its node has.
  void put(SharedTable table);
  void erase(std::string_view node);

 private:
  std::vector<value_type> entries_;
};

struct Snapshot {
  std::map<std::string, PolicyEntry, std::less<>> policies;  // by name
  TableMap tables;                                           // by node
  bool tables_known = true;     // false: the store still reads them, and one that is missing here may exist
  bool tables_followed = true;  // false: their watch has been away for seconds, and any may have changed
  std::map<std::string, std::string, std::less<>> opted_in;  // namespace -> the policy its label names
  std::set<std::string, std::less<>> at_binding;  // namespaces whose label keeps our init container away
  std::map<std::string, Timestamp, std::less<>> labelled;  // when the label of a namespace was last written
  std::map<ClaimRef, SharedRequests> claims;               // of a directory; a cluster's are read one by one
  bool in_sync = true;   // false while the store cannot follow its source: ages of tables do not count
  bool may_lag = false;  // of a cluster: a namespace or policy that is missing here may be on its way
};

// Looks up what applies to a namespace: the policy, or the reason why there is none.
struct PolicyLookup {
  std::shared_ptr<const NcclPolicy> policy;
  std::optional<Reason> reason;
  std::string detail;
  bool unknown = false;     // there is no policy, but one may be on its way
  bool at_binding = false;  // the namespace's label keeps our init container away
  std::shared_ptr<const CompiledPolicy> compiled = nullptr;  // of `policy`
  std::optional<Timestamp> labelled = std::nullopt;          // when the namespace came to it, where known
};
PolicyLookup find_policy(const Snapshot& snapshot, std::string_view name_space);

}  // namespace nccl_env
