// SPDX-License-Identifier: Apache-2.0
// KubernetesStore: policies, tables and opted-in namespaces of a cluster, listed and watched
// (docs/reference/webhook.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"
#include "nccl_env/store/store.h"

namespace nccl_env::store {

class KubernetesStore : public Store {
 public:
  // Starts to list; the server need not be there. Fails only if no thread can be started. The destructor
  // stops the client. Until the store is ready its snapshot is empty; tables come into it while they are
  // listed. A policy or table that is refused keeps its last good form. A table that was never good is left
  // out; a policy that was never good stays in the snapshot, with its problem.
  static Result<std::unique_ptr<KubernetesStore>> start(std::shared_ptr<kube::Client> client,
                                                        PolicyOptions options, std::shared_ptr<Logger> log);
  ~KubernetesStore() override;

  [[nodiscard]] const Published<Snapshot>& snapshots() const override;
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] StoreStats stats() const override;
  // From the server, the Namespace or its policy within 300 ms each, 20 of them a second; or as it was up to
  // a second ago.
  [[nodiscard]] Attempt<std::optional<PolicyLookup>> read_policy(std::string_view name_space,
                                                                 bool may_wait) const override;
  // From the server, within 300 ms: a Binding's review has 3 s, and other reviews wait behind it.
  [[nodiscard]] Result<std::optional<std::string>> read_pod(std::string_view name_space,
                                                            std::string_view name) const override;
  // From the server, within 300 ms, or as it was up to ten seconds ago.
  [[nodiscard]] Attempt<SharedRequests> read_claim(const ClaimRef& ref, bool may_wait) const override;
  // From the server, within 300 ms, or as it was up to two seconds ago.
  [[nodiscard]] Attempt<SharedTable> read_table(std::string_view node, bool may_wait) const override;
  // By the Node from the server, within 500 ms, 200 of them a second; or as it was up to 30 seconds ago, two
  // if it was another boot. After a failure no Node is read for five seconds.
  [[nodiscard]] Attempt<BootCheck> check_boot(std::string_view node, std::string_view boot_id,
                                              bool may_wait) const override;

 private:
  struct Body;
  explicit KubernetesStore(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace nccl_env::store
