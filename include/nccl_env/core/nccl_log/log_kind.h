// SPDX-License-Identifier: Apache-2.0
// Says of a file whether it is a log at all: people give what they have, and a library has NCCL's words, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nccl_env {

// Bytes of a file's begin that tell what it is.
inline constexpr std::size_t kLogHead = 512;

// "is compressed (gzip); give its text: zcat FILE | nccl-env verify -"; "" of a file that holds text, or is
// empty. `head`: its first bytes, at most kLogHead; `speaks`: lines were known in it, so NULs are only a gap.
std::string why_no_text(std::string_view head, bool speaks = false);

}  // namespace nccl_env
