// SPDX-License-Identifier: Apache-2.0
// Versions that libraries tell in a log.
#pragma once

#include <string>
#include <string_view>

namespace nccl_env {

// "NCCL version 2.21.5+cuda12.4", also in PyTorch's "NCCL error in: …, NCCL version 2.18.6"; "RCCL version :
// 2.22.3-HEAD:6bfc0dd", before 6.2 without the colon and with more behind.
std::string version_in(std::string_view line);

}  // namespace nccl_env
