// SPDX-License-Identifier: Apache-2.0
// The lines of UCX and NVSHMEM in a job's log: the devices that they use, those that they are told to use and
// do not have, and what failed. As UCX 1.12 to 1.22 and NVSHMEM 3.2 to 3.4 write them (openucx/ucx:
// ucs/debug/ log.c, ucp/core/ucp_context.c, ucp/core/ucp_worker.c, uct/ib/mlx5/ib_mlx5_log.c; NVIDIA/nvshmem:
// src/host/util/debug.cpp, src/modules/transport). Any text may come: memory is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/judge/nccl_log/nccl_failure.h"

namespace nccl_env {

struct EngineLog {
  using Lines =
      std::map<std::string, std::uint64_t, std::less<>>;  // what was said -> its first line; at most 256

  std::string_view name;  // "UCX"
  std::uint64_t lines = 0;
  Lines versions{};                    // "1.19.0"
  Lines devices{};                     // in use: "mlx5_0:1"
  Lines lacking{};                     // named by a list, and not there: "mlx5_9:1", "mlx5_9"
  std::map<int, std::string> names{};  // of NVSHMEM: its device's number -> name; at most 256
};

struct EngineLine {
  std::string_view process;  // "gpu-1:984"; "" where the line does not say it
  std::optional<NcclFailure> failure;
};

// Reads a line of UCX, or of NVSHMEM; nothing if it is another program's.
std::optional<EngineLine> read_ucx_line(std::string_view text, std::uint64_t line, EngineLog& into);
std::optional<EngineLine> read_nvshmem_line(std::string_view text, std::uint64_t line, EngineLog& into);

// True if an entry of a list of devices, "mlx5_0" or "mlx5_0:1", names the device.
bool names_device(std::string_view entry, std::string_view device);

}  // namespace nccl_env
