// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

// The oldest version that is supported: the first that has node names in pods' tokens and
// ValidatingAdmissionPolicies without feature gates.
inline constexpr int kOldestMinor = 30;

struct ServerVersion {
  int major = 0, minor = 0;
  std::string text;  // "v1.36.2"

  [[nodiscard]] bool supported() const { return major > 1 || (major == 1 && minor >= kOldestMinor); }
};

// Reads the body of GET /version; "30+" is 30.
Result<ServerVersion> parse_version(std::string_view body);
Result<ServerVersion> server_version(Client& client);

}  // namespace nccl_env::kube
