// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/host_failure.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr std::size_t kLongestTold = 512;

bool has(string_view line, string_view words) {
  return line.find(words) != line.npos;
}

template <class Words>
bool has_one_of(string_view line, const Words& all) {
  return std::ranges::any_of(all, [&](string_view words) { return has(line, words); });
}

NcclFailure failure_in(Code code, string_view line) {
  NcclFailure failure;
  failure.code = code;
  failure.text = line.substr(0, kLongestTold);
  return failure;
}

// Names of the libraries that a job's network needs, and how their symbols begin.
constexpr string_view kLibraries[] = {"libnccl.so",   "librccl.so",    "libnvshmem",    "libucp.so",
                                      "libuct.so",    "libucs.so",     "libibverbs.so", "libmlx5.so",
                                      "librdmacm.so", "libfabric.so",  "libmooncake",   "libnixl",
                                      "libcudart.so", "libamdhip64.so"};
constexpr string_view kSymbols[] = {"nccl", "pnccl",   "nvshmem", "ucp_", "uct_",    "ucs_",
                                    "ibv_", "mlx5dv_", "rdma_",   "fi_",  "mscclpp", "gdr_"};

// "ImportError: …/libtorch_cuda.so: undefined symbol: ncclMemFree", "version `NCCL_2.27' not found (required
// by …)", "error while loading shared libraries: libnccl.so.2: cannot open shared object file". A program
// that only tries a plugin says the last of these, too, and goes on.
std::optional<NcclFailure> read_loader(string_view line) {
  for (const string_view mark : {string_view("undefined symbol: "), string_view("symbol not found: ")}) {
    auto symbol = text_behind(line, mark);
    if (symbol && symbol->starts_with('"')) symbol->remove_prefix(1);
    if (symbol &&
        std::ranges::any_of(kSymbols, [&](string_view begin) { return symbol->starts_with(begin); }))
      return failure_in(Code::LibraryMismatch, line);
  }
  const bool fatal = has(line, "ImportError: ") || has(line, "OSError: ") ||
                     has(line, "error while loading shared libraries: ") ||
                     has(line, "symbol lookup error: ");
  const bool version = has(line, "version `") && has(line, "' not found");
  const bool absent = has(line, "cannot open shared object file");
  if (!has_one_of(line, kLibraries) || !(version || (fatal && absent))) return std::nullopt;
  return failure_in(Code::LibraryMismatch, line);
}

// "NVRM: Xid (PCI:0000:3b:00): 79, …": 74 is of NVLink, every other one of the GPU or of what ran on it.
std::optional<NcclFailure> read_driver(string_view line) {
  if (const auto xid = text_behind(line, "NVRM: Xid (PCI:")) {
    const auto number = number_behind(*xid, "): ");
    // Notices: a row that was remapped, many corrected errors, nothing to do after another Xid.
    if (!number || *number == 63 || *number == 92 || (*number == 154 && has(*xid, " to 0x0")))
      return std::nullopt;
    return failure_in(*number == 74 ? Code::NvlinkFabric : Code::GpuFault, line);
  }
  if (has(line, "NV_ERR_FABRIC_STATE_OUT_OF_SYNC") || has(line, "NVLink fabric state cached by the driver"))
    return failure_in(Code::NvlinkFabric, line);
  return std::nullopt;
}

// "mlx5_core 0000:3b:00.0 ens1f0np0: Link down", "… Port module event: module 0, Cable unplugged".
std::optional<NcclFailure> read_link(string_view line) {
  constexpr string_view kDrivers[] = {"mlx5_core ", "bnxt_en ", "irdma ", "ionic "};
  constexpr string_view kDown[] = {": Link down", ": NIC Link is Down", "Cable unplugged", "Cable error"};
  if (!has_one_of(line, kDrivers) || !has_one_of(line, kDown)) return std::nullopt;
  NcclFailure failure = failure_in(Code::LinkDown, line);
  const string_view before =
      line.substr(0, std::min(line.find(": Link down"), line.find(": NIC Link is Down")));
  if (before.size() < line.size()) failure.device = before.substr(before.rfind(' ') + 1).substr(0, 64);
  return failure;
}

}  // namespace

std::optional<NcclFailure> read_host_failure(string_view line) {
  if (auto failure = read_loader(line)) return failure;
  if (auto failure = read_driver(line)) return failure;
  if (auto failure = read_link(line)) return failure;
  return std::nullopt;
}

}  // namespace nccl_env
