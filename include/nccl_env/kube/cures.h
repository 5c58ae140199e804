// SPDX-License-Identifier: Apache-2.0
// Cures for people where a program of ours may not act, by design: the webhook's log and nccl-env check say
// them.
#pragma once

#include <string_view>

namespace nccl_env::kube {

inline constexpr std::string_view kSecretAgain =
    "kubectl apply -k cluster (Helm: helm upgrade): the webhook may not create it, and no replica that "
    "restarts gets ready";

}  // namespace nccl_env::kube
