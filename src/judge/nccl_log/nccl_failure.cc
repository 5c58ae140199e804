// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/nccl_log/nccl_failure.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/judge/nccl_log/log_text.h"

namespace nccl_env {
namespace {

// What is known of each code of a failure; of one that is not here: it is the cause, and no value is to
// blame.
struct FailureKind {
  Code code;
  Nearness nearness = Nearness::Cause;
  unsigned traits = 0;
  std::string_view blamed = {};
};

using enum NcclFailure::Trait;
constexpr FailureKind kKinds[] = {
    {Code::EmptyGid, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::GidVanished, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::NoNetdev, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::LinkLocalGid, Nearness::Cause, 0, variable::kIbGidIndex},
    {Code::GidTableChanged, Nearness::Cause, kOfPort, variable::kIbGidIndex},
    {Code::MixedLinks, Nearness::Cause, 0, variable::kIbHca},
    {Code::NoInterface, Nearness::Cause, 0, variable::kSocketIfname},
    {Code::UnreachableInterface, Nearness::Cause, 0, variable::kSocketIfname},
    {Code::NetworkNotFound, Nearness::Cause, 0, variable::kNet},
    {Code::LinkDown, Nearness::Cause, kOfPort | kInWords},
    {Code::DeviceLost, Nearness::Cause, kOfPort | kInWords},
    {Code::StrangerConnected, Nearness::Cause, kInWords},
    {Code::EndedElsewhere, Nearness::Symptom},
    {Code::NoAnswer, Nearness::Symptom, kOfTransfer | kFollowsEnd},
    {Code::TransferFailed, Nearness::Symptom, kOfTransfer | kFollowsEnd},
    {Code::RemoteAccess, Nearness::Symptom, kFollowsEnd | kInWords},
    {Code::NoConnection, Nearness::Symptom, kFollowsEnd, variable::kSocketIfname},
    {Code::ConnectionBroken, Nearness::Symptom, kOfPeer | kFollowsEnd},
    {Code::SegmentMissing, Nearness::Symptom, kFollowsEnd},
    {Code::DeviceNotAvailable, Nearness::Symptom},
    {Code::NoTransport, Nearness::Symptom},
    {Code::GidTypeUnreadable, Nearness::Symptom},
    {Code::DeviceNotOpened, Nearness::Symptom, 0, variable::kIbHca},
    {Code::UnknownWarning, Nearness::Unknown},
    {Code::NoVerbsLibrary, Nearness::Slows},
    {Code::PeerClosed, Nearness::Consequence, kOfPeer | kFollowsEnd | kInWords},
    {Code::TimedOut, Nearness::Consequence, kFollowsEnd},
    {Code::GaveUp, Nearness::End, kFollowsEnd},
};

const FailureKind& kind_of(Code code) {
  static constexpr FailureKind kOther{};
  const auto found = std::ranges::find(kKinds, code, &FailureKind::code);
  return found == std::end(kKinds) ? kOther : *found;
}

// Name the cause more closely, by a failure's own words.
struct NearerWords {
  Code code;
  std::string_view in_line;
  FailureWords words;
  int error = 0;  // 0: any
};
// Statuses of a completion: of a message that did not fit, and of one that another error took along.
constexpr int kLength = 1, kFlushed = 5;
constexpr NearerWords kNearer[] = {
    {Code::TransferFailed,
     "",
     {"A message did not fit what its receiver posted: the ends differ in MTU, or in size or type of a call.",
      "Compare active MTU (ibv_devinfo) and NCCL's version on both, and the sizes that ranks give to a "
      "call."},
     kLength},
    {Code::NoInterface,
     "interface found in the same subnet as remote address",
     {"NCCL_COMM_ID is set, and its address is in no subnet of an interface that this process may use: NCCL "
      "asks for one there.",
      "Give NCCL_COMM_ID an address of rank 0 in a subnet that all hosts have, or leave it out: PyTorch, MPI "
      "and others exchange NCCL's id themselves."}},
    {Code::MixedNetworks,
     "wrong type ",
     {"A rank whose network is InfiniBand or RoCE connected to one whose network is sockets, mostly since "
      "one node's devices are not found.",
      "Compare 'Using network' in all ranks' logs (nccl-env verify takes them all); give the odd node its "
      "devices, or set NCCL_IB_DISABLE=1 on all as a test."}},
    {Code::ConnectFailed,
     "next state INIT",
     {"The device refuses the queue pair before any address counts: the partition (P_Key, NCCL_IB_PKEY) is "
      "not there, or the port is none that this container may use.",
      "Unset NCCL_IB_PKEY as a test; compare /sys/class/infiniband/DEVICE/ports/1/pkeys and ibv_devinfo in "
      "the pod with the node's."}},
    {Code::ConnectFailed,
     "next state RTS",
     {"The device refuses the queue pair at its last step, after the GIDs were taken: a time-out, retry "
      "count or service level that it does not have.",
      "Unset NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT, NCCL_IB_SL and NCCL_IB_TC as a test; compare the firmware "
      "with a node where it works."}},
    {Code::MemoryLock,
     "reg_mr",
     {"Memory could not be registered with the HCA: the memory lock limit is too low, or the kernel has none "
      "to give; or it is a GPU's, and peer memory (nvidia-peermem, DMA-BUF) is missing.",
      "Look at `ulimit -l` in the container (raise LimitMEMLOCK, or add IPC_LOCK to a root container); where "
      "it is unlimited, try NCCL_NET_GDR_LEVEL=LOC once (if the job runs, it is peer memory), and look at "
      "dmesg and /proc/meminfo on the node."}},
    {Code::SegmentMissing,
     "(size 0)",
     {"A rank takes another rank's memory handle (cuMem) for a file's name: hence size 0 and a strange name. "
      "/dev/shm itself is not at fault.",
      "Set NCCL_CUMEM_HOST_ENABLE=0 on all ranks, or use a later NCCL; look for a NUMA node without memory "
      "(numactl -H)."}},
};

}  // namespace

std::string_view blamed_variable(Code code) {
  return kind_of(code).blamed;
}

Nearness NcclFailure::nearness() const {
  const bool flushed = code == Code::TransferFailed && error == kFlushed;
  return flushed ? Nearness::Consequence : kind_of(code).nearness;
}

bool NcclFailure::is(Trait trait) const {
  if (trait == kFollowsEnd && code == Code::TransferFailed && error == kLength) return false;
  return (kind_of(code).traits & trait) != 0;
}

NcclFailure failure_of(Code code, std::string_view text) {
  // NCCL's own words on a queue pair are 250 bytes; a hostile log has more.
  constexpr std::size_t kLongestText = 512;
  NcclFailure failure;
  failure.code = code;
  failure.text = text.substr(0, kLongestText);
  return failure;
}

FailureWords words_of(const NcclFailure& failure) {
  for (const NearerWords& each : kNearer) {
    if (each.code == failure.code && has(failure.text, each.in_line) &&
        (each.error == 0 || failure.error == each.error))
      return each.words;
  }
  const Named& code = words_of(failure.code);
  return {code.meaning, code.remedy};
}

std::string describe(const NcclFailure& failure) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (!failure.device.empty())
    add(failure.device + (failure.port ? ":" + std::to_string(*failure.port) : std::string()));
  if (failure.gid_index) add("GID index " + std::to_string(*failure.gid_index));
  if (!failure.local_gid.empty()) add("local GID " + failure.local_gid);
  if (!failure.remote_gid.empty()) add("remote GID " + failure.remote_gid);
  if (!failure.peer.empty()) add("peer " + failure.peer);
  if (!failure.network.empty()) add("network " + failure.network);
  if (!failure.error && failure.error_text.empty()) {
    if (text.empty()) return failure.summary.empty() ? failure.text : failure.summary;
    return failure.is(kInWords) ? failure.text : text;
  }
  const bool completion =
      failure.vendor_error || failure.code == Code::NoAnswer || failure.code == Code::TransferFailed;
  std::string error = completion ? "status " : failure.code == Code::GaveUp ? "result " : "";
  if (failure.error) error += std::to_string(*failure.error) + (failure.error_text.empty() ? "" : " ");
  error += failure.error_text;
  if (failure.vendor_error)
    error +=
        (failure.error_text.empty() ? "" : ", ") + ("vendor error " + std::to_string(*failure.vendor_error));
  return text + (text.empty() ? "" : ": ") + error;
}

nlohmann::ordered_json to_json(const NcclFailure& failure) {
  return {{"code", to_string(failure.code)},
          {"line", failure.line},
          {"times", failure.times},
          {"processes", failure.processes.size()},
          {"retried", failure.retried},
          {"device", text_or_null(failure.device)},
          {"port", value_or_null(failure.port)},
          {"gidIndex", value_or_null(failure.gid_index)},
          {"localGid", text_or_null(failure.local_gid)},
          {"remoteGid", text_or_null(failure.remote_gid)},
          {"peer", text_or_null(failure.peer)},
          {"network", text_or_null(failure.network)},
          {"error", value_or_null(failure.error)},
          {"errorText", text_or_null(failure.error_text)},
          {"vendorError", value_or_null(failure.vendor_error)},
          {"firstTime", text_or_null(failure.first_time)},
          {"lastTime", text_or_null(failure.last_time)},
          {"text", failure.text}};
}

}  // namespace nccl_env
