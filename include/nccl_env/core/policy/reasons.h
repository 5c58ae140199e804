// SPDX-License-Identifier: Apache-2.0
// The closed set of reasons: why a pod, a container or a variable did not get a value. The same words
// stand in the status annotation, the warning, the metric, the log and `nccl-env explain`
// (docs/use/reasons.md has an entry for each).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "nccl_env/core/findings/catalogue.h"

namespace nccl_env {

// clang-format off
enum class Reason {
  // the pod
  NamespaceNotOptedIn, OptedOut, InvalidInjectValue, NotRdma, NotVerbs, PolicyMissing, PolicyInvalid, DryRun,
  BudgetExceeded, MirrorPod, ClaimUnknown,
  // the container or the variable
  UserSet, UserSetGroup, DisabledByUser, EnvFromPresent, ConfPresent, ConfOccupied, OmittedByPolicy, InfiniBand,
  PodGidUnknown, PodRailsUnknown, PodOwnsDevices, TooEarly, RuntimeUnknown, EnvCopied, ReferenceDropped,
  NotBound, EnginesUnavailable, EngineCannotSay,
  // the node
  NoTable, StaleTable, NoFabricPort, TooFewPorts, AmbiguousFabric, MixedLinkLayers, TooManyHcas,
  GidTableUnknown, GidNotUniform, GidUnstable, AmbiguousAddress, NodeInterfaceUnknown, InterfaceAbsent,
  PodLookupFailed, ConditionNotMet, ConditionUnknown, PKeyUnknown, PKeyNotUniform, KubeletTooOld, PolicyChanged,
  kCount,  // not a reason: their number
};
// clang-format on

enum class ReasonScope { Pod, Variable, Node };

// Its row, of the same form as those of findings. The remedy is one sentence.
const Named& words_of(Reason reason);
inline std::string_view to_string(Reason reason) {
  return words_of(reason).name;
}
std::optional<Reason> parse_reason(std::string_view text);
ReasonScope scope_of(Reason reason);
std::span<const Reason> all_reasons();

inline std::string_view meaning(Reason reason) {
  return words_of(reason).meaning;
}
inline std::string_view remedy(Reason reason) {
  return words_of(reason).remedy;
}

// True for the reasons for which `onUnresolved: Deny` holds a pod back.
bool may_deny(Reason reason);

}  // namespace nccl_env
