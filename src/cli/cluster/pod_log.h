// SPDX-License-Identifier: Apache-2.0
// The log of a pod of the cluster, with the caller's own rights: get of pods/log, which Kubernetes'
// ClusterRole view has.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

struct PodName {
  std::string name_space;
  std::string name;

  [[nodiscard]] std::string text() const { return "pod " + name_space + "/" + name; }
};

struct PodLogOptions {
  bool previous = false;  // of the container before its last restart
  int tail = 0;           // lines from the end; 0: from the beginning
  int limit_mib = 64;     // 500 000 lines: NCCL's important lines are in the first few thousand
};

// Passes the log on piece by piece; true if the limit ended it.
Result<bool> read_pod_log(kube::ApiServer& client, const PodName& pod, const std::string& container,
                          const PodLogOptions& options,
                          const std::function<void(std::string_view part)>& on_part);

}  // namespace nccl_env::cli
