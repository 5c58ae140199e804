// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/reasons.h"

#include <array>
#include <cstddef>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {
namespace {

constexpr std::string_view kReasons = "docs/use/reasons.md";

struct Entry {
  constexpr Entry(Reason of, ReasonScope where, std::string_view name, std::string_view meaning,
                  std::string_view remedy, Impact impact, bool deny = false)
      : reason(of), scope(where), words{name, meaning, remedy, impact, kReasons}, may_deny(deny) {}

  Reason reason;
  ReasonScope scope;
  Named words;
  bool may_deny;
};

constexpr auto kPod = ReasonScope::Pod;
constexpr auto kVariable = ReasonScope::Variable;
constexpr auto kNodeScope = ReasonScope::Node;

constexpr std::array kEntries{
    Entry{Reason::NamespaceNotOptedIn, kPod, "NamespaceNotOptedIn", "The namespace has no policy label.",
          "Label the namespace nccl-env.io/policy=NAME.", Impact::PodAnew},
    Entry{Reason::OptedOut, kPod, "OptedOut", "The pod says nccl-env.io/inject: \"false\".",
          "Remove that label or annotation from the pod.", Impact::PodAnew},
    Entry{Reason::InvalidInjectValue, kPod, "InvalidInjectValue",
          "The pod's nccl-env.io/inject is neither \"true\" nor \"false\".",
          "Write \"true\" or \"false\", or remove it.", Impact::PodAnew},
    Entry{Reason::NotRdma, kPod, "NotRdma", "Nothing in the pod matches the policy's resources or devices.",
          "Request the RDMA resource, or set nccl-env.io/inject: \"true\" on the pod.", Impact::PodAnew},
    Entry{Reason::NotVerbs, kPod, "NotVerbs",
          "The pod requests a resource of a fabric that NCCL does not reach through verbs.",
          "Nothing to do; the policy's skipResources names that resource.", Impact::None},
    Entry{Reason::PolicyMissing, kPod, "PolicyMissing",
          "The namespace's label names a policy that does not exist.",
          "Create that NcclPolicy, or correct the namespace's label.", Impact::Policy},
    Entry{Reason::PolicyInvalid, kPod, "PolicyInvalid", "The namespace's policy was refused.",
          "Run `nccl-env policy check` on it and correct what it names.", Impact::Policy},
    Entry{Reason::DryRun, kPod, "DryRun", "The policy only reports what it would do.",
          "Set the policy's mode to Enforce.", Impact::Policy},
    Entry{Reason::BudgetExceeded, kPod, "BudgetExceeded",
          "The pod or Binding is larger than nccl-env processes, or its annotations leave no room for ours.",
          "Remove large annotations, or what the detail names, from the pod.", Impact::PodAnew},
    Entry{Reason::MirrorPod, kPod, "MirrorPod",
          "The pod mirrors a static pod; the kubelet runs a file that nothing here can change.",
          "Write the variables into the static pod's file.", Impact::PodAnew},
    Entry{Reason::ClaimUnknown, kPod, "ClaimUnknown",
          "A device claim of the pod could not be looked up, so it is not known whether the pod is RDMA.",
          "Create the ResourceClaim or its template before the pod, and let the webhook read both.",
          Impact::PodAnew},
    Entry{Reason::UserSet, kVariable, "UserSet", "The container names the variable itself.",
          "Remove it from the container's env to have it injected.", Impact::PodAnew},
    Entry{Reason::UserSetGroup, kVariable, "UserSetGroup",
          "The container sets a variable that this one belongs together with.",
          "Remove the user's variable of that group, or set this one beside it.", Impact::PodAnew},
    Entry{Reason::DisabledByUser, kVariable, "DisabledByUser",
          "The container turns InfiniBand and RoCE off, or selects another network.",
          "Remove NCCL_IB_DISABLE or NCCL_NET from the container's env.", Impact::PodAnew},
    Entry{Reason::EnvFromPresent, kVariable, "EnvFromPresent",
          "The container's envFrom could hold the variable, and an injected one would override it.",
          "Move the variables from envFrom to env.", Impact::PodAnew},
    Entry{Reason::ConfPresent, kVariable, "ConfPresent",
          "The container has an nccl.conf or rccl.conf of its own, which env would override.",
          "Remove that mount, NCCL_CONF_FILE or what the command writes to have the policy's values, or "
          "write all of them into the file.",
          Impact::PodAnew},
    Entry{
        Reason::ConfOccupied, kVariable, "ConfOccupied",
        "A mount of the container's is below /etc/nccl.conf or /etc/rccl.conf, so that no file can be there.",
        "Remove that mount to have the file delivered.", Impact::PodAnew},
    Entry{Reason::OmittedByPolicy, kVariable, "OmittedByPolicy", "The policy leaves the variable out here.",
          "Change the policy if the variable is wanted.", Impact::Policy},
    Entry{Reason::InfiniBand, kVariable, "InfiniBand",
          "The ports are InfiniBand, where NCCL needs no GID index.", "Nothing to do.", Impact::None},
    Entry{Reason::PodGidUnknown, kVariable, "PodGidUnknown",
          "The pod has a GID table of its own, which is not known before it starts.",
          "Let an init container look inside the pod (--resolver-image, no label nccl-env.io/resolve), or do "
          "nothing: NCCL 2.26.2 and later find the row themselves.",
          Impact::Policy},
    Entry{Reason::PodRailsUnknown, kVariable, "PodRailsUnknown",
          "The pod shares the node's devices, and its networks bring fewer rails than the node has, or it "
          "is not known how many.",
          "Let an init container look inside the pod (--resolver-image, no label nccl-env.io/resolve), "
          "attach the "
          "pod to all rails, or set spec.fabric.expectPorts if it is attached to all already.",
          Impact::Policy},
    Entry{Reason::PodOwnsDevices, kVariable, "PodOwnsDevices",
          "The pod gets devices of its own; the node's names and rows are not valid in it.",
          "Let an init container look inside the pod (--resolver-image, no label nccl-env.io/resolve), or "
          "state the "
          "resource's exposure if the pod does see the node's devices.",
          Impact::Policy},
    Entry{Reason::TooEarly, kVariable, "TooEarly",
          "The container starts before nccl-env-resolve, which writes the values.",
          "Move the container behind it, or do nothing where that container does not use NCCL.",
          Impact::PodAnew},
    Entry{Reason::RuntimeUnknown, kVariable, "RuntimeUnknown",
          "The pod's runtimeClassName may keep its volumes inside, so its values go by nccl.conf.",
          "Nothing to do.", Impact::None},
    Entry{Reason::EnvCopied, kVariable, "EnvCopied",
          "The pod's command hands its environment to other nodes, so its values go by nccl.conf, which each "
          "node has of its own.",
          "Nothing to do.", Impact::None},
    Entry{Reason::ReferenceDropped, kVariable, "ReferenceDropped",
          "Another admission webhook dropped fileKeyRef from the pod, so its values go by nccl.conf.",
          "Update that webhook to the types of Kubernetes 1.34 or later.", Impact::None},
    Entry{Reason::NotBound, kVariable, "NotBound",
          "No webhook answered at the pod's Binding, so nothing is known of its node.",
          "Check the webhook with `nccl-env check`, and create the pod anew.", Impact::PodAnew},
    Entry{Reason::EnginesUnavailable, kVariable, "EnginesUnavailable",
          "The engine takes values of a node by EnvFile alone, by which this pod gets none.",
          "Let the policy deliver by EnvFile, on a cluster that has it (Kubernetes 1.35), or take the engine "
          "out "
          "of spec.engines.",
          Impact::Policy},
    Entry{Reason::EngineCannotSay, kVariable, "EngineCannotSay",
          "The engine's variable cannot say what was chosen for NCCL, so the engine chooses by itself.",
          "Nothing to do where the engine's own choice is right; else set the variable in the pod.",
          Impact::None},
    Entry{Reason::NoTable, kNodeScope, "NoTable", "There is no NodeFabric for the node.",
          "Check that the agent runs on the node, or import a table.", Impact::Node, true},
    Entry{Reason::StaleTable, kNodeScope, "StaleTable",
          "The node's NodeFabric is older than --max-table-age, or of another boot.",
          "Check the agent on the node.", Impact::Node, true},
    Entry{Reason::NoFabricPort, kNodeScope, "NoFabricPort", "No port of the node is left as fabric.",
          "`nccl-env nodes NAME` says why each port was dropped; for ports that are down, ask `nccl-env "
          "doctor`, "
          "and where there are none, lspci and dmesg.",
          Impact::Node, true},
    Entry{Reason::TooFewPorts, kNodeScope, "TooFewPorts",
          "The node has fewer fabric ports than the policy expects.",
          "Repair the missing rail, or lower spec.fabric.expectPorts.", Impact::Node, true},
    Entry{Reason::AmbiguousFabric, kNodeScope, "AmbiguousFabric",
          "The table does not tell the fabric from other ports with certainty.",
          "Name the fabric in the policy: spec.fabric.hcas, netdevs or subnets.", Impact::Policy, true},
    Entry{Reason::MixedLinkLayers, kNodeScope, "MixedLinkLayers",
          "The selected ports are partly InfiniBand and partly Ethernet, which NCCL cannot connect.",
          "Set spec.fabric.linkLayer.", Impact::Policy, true},
    Entry{Reason::TooManyHcas, kNodeScope, "TooManyHcas",
          "More than 32 ports are selected, and NCCL ignores the rest.", "Name fewer in spec.fabric.hcas.",
          Impact::Policy, true},
    Entry{Reason::GidTableUnknown, kNodeScope, "GidTableUnknown",
          "The table does not hold the GID rows of every selected port.",
          "Let the agent read the node, or import show_gids or ibv_devinfo -v.", Impact::Node},
    Entry{Reason::GidNotUniform, kNodeScope, "GidNotUniform",
          "No single index is right on every selected port, and NCCL takes one for all.",
          "Nothing to do on NCCL 2.21.5 and later; else make the ports' addresses alike.", Impact::Node},
    Entry{Reason::GidUnstable, kNodeScope, "GidUnstable",
          "The index of an address moved within the last day while the node was up, and may move again.",
          "Find what takes the address away (link, DHCP, network manager) and keep it; after a day the "
          "index is pinned again.",
          Impact::Node},
    Entry{Reason::AmbiguousAddress, kNodeScope, "AmbiguousAddress",
          "A selected port has usable rows in several subnets, and nothing says which one is the fabric's.",
          "Name the fabric's subnets in the policy, such as `fabric: {subnets: [10.1.0.0/16]}`.",
          Impact::Policy},
    Entry{Reason::NodeInterfaceUnknown, kNodeScope, "NodeInterfaceUnknown",
          "The table does not know the node's own interface.",
          "Let the agent read the node, name the interface in the policy, or give it by --node-interface "
          "(table import) or --address (env).",
          Impact::Policy},
    Entry{Reason::InterfaceAbsent, kNodeScope, "InterfaceAbsent",
          "The interface that the policy names does not exist or is down on the node.",
          "Correct spec.socketInterface, or use FromNode.", Impact::Policy},
    Entry{Reason::PodLookupFailed, kNodeScope, "PodLookupFailed",
          "The pod could not be read before a refusal, or after an edit of its policy, so it was let pass.",
          "Check the webhook's log for the failed look-up.", Impact::None},
    Entry{Reason::ConditionNotMet, kNodeScope, "ConditionNotMet",
          "The policy sets the variable only for nodes of another kind.",
          "Nothing to do; or add an entry to spec.variants that this node meets.", Impact::Policy},
    Entry{Reason::ConditionUnknown, kNodeScope, "ConditionUnknown",
          "The table does not tell whether the node is of the kind that the policy asks for.",
          "Let the agent read the node, or ask in spec.variants for what its table has.", Impact::Policy,
          true},
    Entry{Reason::PKeyUnknown, kNodeScope, "PKeyUnknown",
          "The table does not hold the partition table of every selected port.",
          "Let the agent read the node; listings do not show partitions.", Impact::Node},
    Entry{
        Reason::PKeyNotUniform, kNodeScope, "PKeyNotUniform",
        "No single index names the policy's partition on every selected port, and NCCL takes one for all.",
        "Make the node's ports members of the partition alike, in the subnet manager; or say nccl.minVersion "
        "2.31.2 and fabric.linkLayer InfiniBand in the policy: pods then get the key itself.",
        Impact::Node},
    Entry{Reason::KubeletTooOld, kNodeScope, "KubeletTooOld",
          "The node's kubelet is older than 1.35 and does not know fileKeyRef: the variables are empty.",
          "Update the node, or deliver by File in the policy.", Impact::Node, true},
    Entry{
        Reason::PolicyChanged, kNodeScope, "PolicyChanged",
        "The policy was changed after the pod was created: its list may be another than the index is for, or "
        "it gives pods of that kind nothing any more.",
        "Create the pod anew, at best the whole job at once.", Impact::PodAnew},
};

constexpr auto kAll = [] {
  std::array<Reason, kEntries.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kEntries[i].reason;
  return all;
}();

static_assert(in_order(kEntries, &Entry::reason));
static_assert(kEntries.size() == static_cast<std::size_t>(Reason::kCount));

const Entry& entry(Reason reason) {
  return kEntries[static_cast<std::size_t>(reason)];
}

}  // namespace

const Named& words_of(Reason reason) {
  return entry(reason).words;
}
ReasonScope scope_of(Reason reason) {
  return entry(reason).scope;
}
std::span<const Reason> all_reasons() {
  return kAll;
}
bool may_deny(Reason reason) {
  return entry(reason).may_deny;
}

std::optional<Reason> parse_reason(std::string_view text) {
  for (const Entry& candidate : kEntries) {
    if (candidate.words.name == text) return candidate.reason;
  }
  return std::nullopt;
}

}  // namespace nccl_env
