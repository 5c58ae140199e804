// SPDX-License-Identifier: Apache-2.0
// Whether a cluster's API server has fileKeyRef (KEP-3721, feature gate EnvFiles): the carrier EnvFile needs
// it.
#pragma once

#include <string>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

struct EnvFiles {
  bool kept = false;
  std::string problem;  // where they are not kept: what the server said or did
};

// Asks for a dry run of creating a PodTemplate, which runs nothing, with a fileKeyRef in the caller's
// namespace. A server without the gate drops the field and refuses what is left, or returns it without the
// field. Needs `create` on podtemplates there; without it the answer is "not kept". Fails if there is no
// answer.
Result<EnvFiles> ask_for_env_files(ApiServer& server);

}  // namespace nccl_env::kube
