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
    if (!number) return std::nullopt;
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

struct Phrase {
  string_view words, also;  // "": one phrase is enough
  Code code;
};
constexpr Phrase kPhrases[] = {
    // RCCL, and HIP's runtime below it.
    {"HSA_NO_SCRATCH_RECLAIM=1", "must be set", Code::GpuNotUsable},
    {"Failed to create memory for IPC", "", Code::GpuPeer},
    {"IPC memory creation failed", "", Code::GpuPeer},
    {"hipIpcGetMemHandle", "-> ", Code::GpuPeer},
    {"hipIpcOpenMemHandle", "-> ", Code::GpuPeer},
    // UCX, as Open MPI, a person's excerpt or an older release prints it.
    {"process_vm_readv(", "Operation not permitted", Code::SharedMemory},
    {"process_vm_writev(", "Operation not permitted", Code::SharedMemory},
    {"set max locked memory", "ulimit -l", Code::MemoryLock},
    {"UCX WARN network device", " not available", Code::DeviceNotAvailable},
    {"mlx5dv_devx_", "Protocol not supported", Code::LibraryMismatch},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=", " does not exist", Code::NoInterface},
    {" in ncclShmOpen(", "", Code::SharedMemory},
    {"DataLoader worker", "Bus error", Code::SharedMemory},
    {"ProcessGroupNCCL is only supported with GPUs", "", Code::GpuNotUsable},
    {"waiting for remainder of ranks", "", Code::TimedOut},
    {"Signal 7 (SIGBUS)", "", Code::UnknownWarning},
    {"Signal 9 (SIGKILL)", "", Code::GaveUp},
    {"(exitcode: -9)", "", Code::GaveUp},
    {"SignalException: Process ", "", Code::GaveUp},
    {"Signal 11 (SIGSEGV)", "", Code::UnknownWarning},
    {"was unable to complete a TCP connection", "", Code::NoConnection},
    {"ssh: connect to host ", " port ", Code::NoConnection},
};

// Lines of runs that end well: PyTorch's advice at exit, a verbs provider for a device that nobody has, the
// addresses that a client tries before the one that works.
constexpr Phrase kHarmlessLines[] = {
    {"process group has NOT been destroyed", "", {}},
    {"libibverbs: Warning: couldn't load driver", "", {}},
    {"[c10d] The client socket has failed to connect to", "", {}},
    {"No device id is provided via `init_process_group` or `barrier `", "", {}},
    {"using GPU ", "to perform barrier as devices used by this process are currently unknown", {}},
};

bool fits(const Phrase& each, string_view line) {
  return has(line, each.words) && (each.also.empty() || has(line, each.also));
}

}  // namespace

std::optional<NcclFailure> read_host_failure(string_view line) {
  if (auto failure = read_loader(line)) return failure;
  if (auto failure = read_driver(line)) return failure;
  if (auto failure = read_link(line)) return failure;
  const auto found = std::ranges::find_if(kPhrases, [&](const Phrase& each) { return fits(each, line); });
  return found == std::end(kPhrases) ? std::nullopt : std::optional(failure_in(found->code, line));
}

bool is_harmless_line(string_view line) {
  return std::ranges::any_of(kHarmlessLines, [&](const Phrase& each) { return fits(each, line); });
}

}  // namespace nccl_env
