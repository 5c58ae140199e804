// SPDX-License-Identifier: Apache-2.0
// Reads what tells more of a pod than the pod itself: of a cluster, with what rights there are, or of files.
#pragma once

#include <map>

#include "cluster/explain_target.h"
#include "cluster/namespace_policy.h"
#include "commands/commands.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {

class Surroundings {
 public:
  // Of the cluster; what was read once is not asked for again.
  Surroundings(const Asking& asking, kube::Client& client) : asking_(asking), client_(&client) {}
  // Of files.
  Surroundings(const Asking& asking, std::shared_ptr<const NcclPolicy> policy, Tables tables)
      : asking_(asking), policy_(std::move(policy)), tables_(std::move(tables)) {}

  PodSurroundings of(const PodRecord& pod);

 private:
  const NodeTable& table_of(const std::string& node);
  void read_policy(const PodRecord& pod, PodSurroundings& into);
  void read_table(const PodRecord& pod, PodSurroundings& into);
  void read_events(const PodRecord& pod, PodSurroundings& into);
  void take_files(const PodRecord& pod, PodSurroundings& into) const;

  const Asking& asking_;
  kube::Client* client_ = nullptr;
  std::map<std::pair<std::string, std::string>, NamespacePolicy> policies_;  // by namespace and status
  std::map<std::string, NodeTable> nodes_;
  int event_reads_ = 0;
  NodeTable unread_;  // once no further table is asked for: why
  std::shared_ptr<const NcclPolicy> policy_;
  Tables tables_;
};

// Of the cluster, which `place` then holds; for pods of a file the policy and tables that the arguments name,
// and no place. An error's code is in `code`.
Result<Surroundings> find_surroundings(const Asking& asking, std::istream& in, Place& place, ExitCode& code);

}  // namespace nccl_env::app
