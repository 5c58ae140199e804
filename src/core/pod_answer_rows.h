// SPDX-License-Identifier: Apache-2.0
// What text and JSON tell of one container.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/pod_record.h"

namespace nccl_env {

struct ValueRow {
  std::string name;
  std::string source;                // Node, Policy or User
  std::optional<std::string> value;  // absent: not in the pod
  bool known_later = false;          // it comes with the node
};
std::vector<ValueRow> value_rows(const PodRecord& record, const GivenContainer& container);

struct OmittedRow {
  std::string name;
  std::string reason;
};
// By the status, and by Binding. An address family or range that the node does not need is not missing.
std::vector<OmittedRow> omitted_rows(const PodRecord& record, const GivenContainer& container);

}  // namespace nccl_env
