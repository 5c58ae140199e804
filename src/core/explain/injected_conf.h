// SPDX-License-Identifier: Apache-2.0
// /etc/nccl.conf of an existing pod, as far as the pod shows it: from the annotation that its volume names,
// or from the message of the init container that wrote the file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// Returns nothing where no container reads a file of ours. `object` is the pod of the API server. A template
// has no status, so a file that is written inside the pod counts as not written yet.
std::optional<GivenFile> read_given_file(const Pod& pod, const nlohmann::json& object);

// True if our volume is mounted where NCCL reads.
bool mounts_given_file(const Container& container);

}  // namespace nccl_env
