// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nccl_env::kube {

// RFC 4648 §4, as in kubeconfigs and Secrets: padded, line breaks allowed between groups. Nothing if `text`
// is anything else.
std::optional<std::string> decode_base64(std::string_view text);

std::string encode_base64(std::string_view bytes);

}  // namespace nccl_env::kube
