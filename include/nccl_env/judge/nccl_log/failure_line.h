// SPDX-License-Identifier: Apache-2.0
// The line that tells a failure: of NCCL and verbs (NCCL 2.3 to 2.32, HPC-X's plugin, RCCL), of a framework
// that tells NCCL's error without "NCCL WARN" (PyTorch, JAX, nccl-tests), and of a program that ended by an
// error which is not the network's. Any text may come: each message is read once, and a bounded part is kept.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/judge/nccl_log/nccl_failure.h"

namespace nccl_env {

// Returns what the message says; nothing if it tells no failure. `warning`: NCCL WARN, which tells one unless
// it is on the short list of harmless ones.
std::optional<NcclFailure> read_nccl_failure(std::string_view message, bool warning);
// The last error of ncclResult_t; 7 is "in progress".
inline constexpr int kLastResult = 6;
// Returns the failure of a call that ended with this ncclResult_t, up to kLastResult; 0: it is not told.
NcclFailure failure_of_result(int result, std::string_view text);
// Returns the failure of an interface that reaches no other host ("lo", "docker0", a tunnel's link-local
// address); nothing if it may reach one. `address` may be "": then only the name counts.
std::optional<NcclFailure> read_unreachable(std::string_view interface, std::string_view address,
                                            std::string_view text);

// Returns the failure that a framework's line tells; nothing if it tells none.
std::optional<NcclFailure> read_framework_failure(std::string_view line);

// Errors that end a process and are not the network's: what other ranks tell behind one follows from it. The
// forms are few, and none of them is a cause by itself.
// True of a line that tells such an error: "torch.OutOfMemoryError: CUDA out of memory. …", "Killed".
bool is_error_elsewhere(std::string_view line);
// True of a line that a program prints while it works: neither an error's, nor a trace's or a log mark's.
bool is_ordinary(std::string_view line);

}  // namespace nccl_env
