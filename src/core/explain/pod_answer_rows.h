// SPDX-License-Identifier: Apache-2.0
// What text and JSON tell of one container.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/explain/injected_pod.h"

namespace nccl_env {

struct ValueRow {
  std::string name;
  std::string source;                // Node, Policy, User; of a file File, Pod
  std::optional<std::string> value;  // absent: not in the pod
  bool known_later = false;          // it comes with the node
  bool beaten = false;               // a line whose variable the env has with another value
};
std::vector<ValueRow> value_rows(const PodRecord& record, const GivenContainer& container);
// The lines of /etc/nccl.conf.
std::vector<ValueRow> file_rows(const PodRecord& record, const GivenContainer& container);
// What there is to say of the file beside its lines; "" where they are all.
std::string file_words(const PodRecord& record);

struct OmittedRow {
  std::string name;
  std::string reason;
  std::string detail = {};  // one sentence; "" where only the reason is known
};
// By the status, by Binding, and by the init container. An address family or range that the node does not
// need is not missing.
std::vector<OmittedRow> omitted_rows(const PodRecord& record, const GivenContainer& container);

}  // namespace nccl_env
