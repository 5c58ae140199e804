// SPDX-License-Identifier: Apache-2.0
// A pod of the cluster and its log, with the caller's own rights: get of pods and of pods/log, which
// Kubernetes' ClusterRole view has.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "commands/commands.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::app {

struct PodName {
  std::string name_space;
  std::string name;

  [[nodiscard]] std::string text() const { return "pod " + name_space + "/" + name; }
};

Result<nlohmann::json> fetch_pod(kube::Client& client, const PodName& pod);

// Gives the log away piece by piece; true if the limit ended it.
Result<bool> read_pod_log(kube::Client& client, const PodName& pod, const std::string& container,
                          const PodLogArguments& arguments,
                          const std::function<void(std::string_view part)>& on_part);

}  // namespace nccl_env::app
