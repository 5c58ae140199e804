// SPDX-License-Identifier: Apache-2.0
// DirectoryStore: policies, tables and namespaces from a directory of Kubernetes manifests, followed as
// the files change. The embedded store: no cluster is needed (docs/reference/webhook.md).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/result.h"
#include "nccl_env/store/store.h"

namespace nccl_env::store {

class DirectoryStore : public Store {
 public:
  // Reads PATH/*.yaml, *.yml and *.json (not recursive, hidden files left out), in name order, and follows
  // them. A file that is refused keeps the objects it last had. If a name is given twice, the first object
  // counts, and the second is logged. Fails only if PATH is not a readable directory.
  static Result<std::unique_ptr<DirectoryStore>> open(std::filesystem::path path, PolicyOptions options,
                                                      std::shared_ptr<Logger> log);
  ~DirectoryStore() override;

  [[nodiscard]] const Published<Snapshot>& snapshots() const override;
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] StoreStats stats() const override;

  // The text of PATH/pods/NAMESPACE/NAME.json: needed only before a Deny. nullopt: there is no such pod.
  [[nodiscard]] Result<std::optional<std::string>> read_pod(std::string_view name_space,
                                                            std::string_view name) const override;
  // Reads the manifests; never waits.
  [[nodiscard]] Attempt<SharedRequests> read_claim(const ClaimRef& ref, bool may_wait) const override;

 private:
  struct Body;
  explicit DirectoryStore(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace nccl_env::store
