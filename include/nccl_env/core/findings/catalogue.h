// SPDX-License-Identifier: Apache-2.0
// The catalogue of findings: what each code means, what to do, what the remedy touches, and where to read on.
// Reasons (core/policy/reasons.h) have rows of the same form.
#pragma once

#include <span>
#include <string_view>

namespace nccl_env {

// clang-format off
enum class Code {
  // the doctor
  ObjectRefused, NoFabric, PortDown, HcaMissing, HcasDiffer, HardwareDiffers, RateLow, MtuDiffers, NoAddress,
  DuplicateAddress, GidIndexDiffers, GidIndexMoved, SubnetDiffers, StaleTable, ManagementInFabric, LossyTrafficClass, NamespaceModeDiffers,
  // a policy, a listing
  PolicyField, ListingLine,
  // a pod, and the ranks of a job
  MissedAtAdmission, MissedAtBinding, Foreign, HeldBack, LookFailed, RailDown, NoSuchDevice, MissingRail,
  NoList, NoRail, UserListShort, ListNotExact, LoopbackFirst, UnknownVariable, ValueMisread, ValuesDiffer, OddNode,
  NodeValuesDiffer, PolicyDiffers, RankRowDiffers, ChangedSinceBound, ImageConfHidden,
  // values in NCCL's log
  ValueOverridden, ValueContradicted, ImageIndex, NcclTooOld, FellBack,
  // a queue pair that cannot be connected: ibv_modify_qp
  EmptyGid,       // 22, 19 or 61, and the local GID is zero
  GidVanished,    // 61, and the local GID is not zero
  NoRoute,        // 110, 101, 113
  NoNetdev,       // 19
  RoceV1Gid,
  LinkLocalGid,   // 110, 101, 113 or a completion's 12, and the local GID is link-local
  ConnectFailed,  // another errno
  // a transfer: a completion with an error
  NoAnswer,        // status 12
  TransferFailed,  // another status
  // a port or a device
  GidTableChanged, DeviceNotOpened, GidTypeUnreadable, MixedLinks,
  // the process
  NoInterface, NoVerbsLibrary, NetworkNotFound,
  // what else NCCL's log tells
  PartlyUsed, UnreachableInterface, NoConnection, LinkDown, DeviceLost, MemoryLock, SharedMemory,
  GpuMemory,     // status 4 or 8, or a registration that is refused
  RemoteAccess,  // status 9 or 10
  SegmentMissing, StrangerConnected, ConnectionBroken, DeviceNotAvailable, NoTransport, NcclVersionsDiffer,
  InitNotEnded, MixedNetworks,
  EndedElsewhere,  // by an error that is not the network's
  UnknownWarning, PeerClosed, TimedOut,
  GaveUp,     // a call of NCCL's ended with an error, for whatever reason
  PodFailed,  // by the pod's status: a symptom, so the last of a pod's warnings
  // nccl-env fabric test
  NetworkBroken, RailCutOff, LongPacketsLost, LinkFails, NotTested,
  // nccl-env check: an installation, before it
  ApiServer, Crds, Hooks, Validator, CaBundle, Service, Certificate, Webhook, Agents, Tables, Versions, Answers,
  Rights, Namespace, AgentPod,
};
// clang-format on

// Says what the remedy touches: nothing that runs, the pod, the node or its network, or the policy.
enum class Impact { None, PodAnew, Node, Policy };
std::string_view to_string(Impact impact);  // none, podAnew, node, policy

struct Named {
  std::string_view name;
  std::string_view meaning;  // a sentence or two
  std::string_view remedy;   // sentences; "" where each finding has its own
  Impact impact = Impact::None;
  std::string_view document;  // the page that names it: "docs/use/doctor.md"
};

const Named& words_of(Code code);
inline std::string_view to_string(Code code) {
  return words_of(code).name;
}
std::span<const Code> all_codes();

}  // namespace nccl_env
