// SPDX-License-Identifier: Apache-2.0
// What a credential plugin prints: an ExecCredential, client.authentication.k8s.io/v1 or v1beta1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

struct ExecCredential {
  std::string token;             // "": none, and there is a certificate
  std::string certificate, key;  // PEM; "" both: none, and there is a token
  std::optional<Timestamp> expires;
};

// The answer of a plugin that was asked in `api_version`. An error holds nothing of the text: it may be
// secret.
Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version);

}  // namespace nccl_env::kube
