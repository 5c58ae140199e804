// SPDX-License-Identifier: Apache-2.0
// Errors that end a process and are not the network's: what other ranks tell behind one follows from it. The
// forms are few, and none of them is a cause by itself.
#pragma once

#include <string_view>

namespace nccl_env {

// True of a line that tells such an error: "torch.OutOfMemoryError: CUDA out of memory. …", "Killed".
bool is_error_elsewhere(std::string_view line);
// True of a line that a program prints while it works: neither an error's, nor a trace's or a log mark's.
bool is_ordinary(std::string_view line);

}  // namespace nccl_env
