// SPDX-License-Identifier: Apache-2.0
// Reads the objects that explain a pod, besides the pod itself: from a cluster, as far as the caller's rights
// allow, or from files.
#pragma once

#include <map>
#include <optional>

#include "cluster/objects.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/judge/explain/answered_pod.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::cli {

struct ContextOptions {
  Timestamp now;
  std::optional<NcclVersion> version;  // absent: the least that the policy names, else the newest
  bool allow_code_paths = false;       // in constants of a cluster's policies
};

// The facts that all pods of a namespace share.
PodSurroundings surroundings_of(const NamespacePolicy& found, Timestamp now);

class ContextReader {
 public:
  // Asks the cluster, for each object once.
  ContextReader(const ContextOptions& options, kube::ApiServer& client)
      : options_(options), client_(&client) {}
  // Knows what files hold; `policy` may be null.
  ContextReader(const ContextOptions& options, std::shared_ptr<const NcclPolicy> policy,
                program::Tables tables)
      : options_(options), policy_(std::move(policy)), tables_(std::move(tables)) {}

  // Returns explain's answer for the pod, of whose ranks a launcher sets `given`. An error: `object` is not a
  // pod.
  Result<AnsweredPod> answer(const nlohmann::json& object, const std::vector<Value>& given = {});

 private:
  PodSurroundings read(const PodRecord& pod);
  const NodeTable& table_of(const std::string& node);
  PodSurroundings read_policy(const PodRecord& pod);
  void read_table(const PodRecord& pod, PodSurroundings& into);
  void read_events(const PodRecord& pod, PodSurroundings& into);
  void take_files(const PodRecord& pod, PodSurroundings& into) const;

  ContextOptions options_;
  kube::ApiServer* client_ = nullptr;
  std::map<std::pair<std::string, std::string>, PodSurroundings> policies_;  // by namespace and status
  std::map<std::string, NodeTable> nodes_;
  int event_reads_ = 0;
  // Answer for all other nodes: they have none, as all were listed, or why no further table is asked for.
  std::optional<NodeTable> others_;
  std::shared_ptr<const NcclPolicy> policy_;
  program::Tables tables_;
};

}  // namespace nccl_env::cli
