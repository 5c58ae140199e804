// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/catalogue.h"

#include <array>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {
namespace {

constexpr std::string_view kCli = "docs/reference/cli.md";
constexpr std::string_view kInstall = "docs/operate/install.md";
constexpr std::string_view kDoctor = "docs/use/doctor.md";
constexpr std::string_view kExplain = "docs/use/explain.md";

struct Row {
  Code code;
  Named words;
};

// A finding of `nccl-env check`: each has a remedy of its own.
constexpr Row of_check(Code code, std::string_view name, std::string_view meaning,
                       Impact impact = Impact::None) {
  return {code, {name, meaning, {}, impact, kInstall}};
}

constexpr std::array kRows{
    Row{Code::ObjectRefused,
        {"ObjectRefused", "An object could not be read, and so does not count.",
         "Correct what the sentence names; `nccl-env policy check` and `nccl-env table show` read one file.",
         Impact::None, kDoctor}},
    Row{Code::NoFabric,
        {"NoFabric", "A node offers no fabric port: its pods get no HCA list.",
         "Look at the node's table with `nccl-env table show`, and name the fabric in the policy "
         "(spec.fabric). A node without RDMA devices needs nothing.",
         Impact::Policy, kDoctor}},
    Row{Code::PortDown,
        {"PortDown", "A port of the fabric is not Active.",
         "Check cable, transceiver and switch port, on InfiniBand also the subnet manager; jobs run with "
         "one rail less until the port is up.",
         Impact::Node, kDoctor}},
    Row{Code::HcaMissing,
        {"HcaMissing", "A node lacks an HCA port that its pool has.",
         "Look for the device in lspci and for its driver in dmesg on the node; reseat or replace the card.",
         Impact::Node, kDoctor}},
    Row{Code::HcasDiffer,
        {"HcasDiffer", "A node's HCAs have other names than its pool's, or there are more of them.",
         "Give devices the same names on all nodes (udev rules, the same PCI slots): NCCL pairs rails of two "
         "nodes by their order, and a literal list in a policy names devices that are not there.",
         Impact::Node, kDoctor}},
    Row{Code::HardwareDiffers,
        {"HardwareDiffers", "A port has another driver, link layer or board than its pool's.",
         "Compare card and firmware (ibv_devinfo, mstflint); put nodes with other hardware into a pool and "
         "policy of their own.",
         Impact::Node, kDoctor}},
    Row{Code::RateLow,
        {"RateLow", "A port runs slower than the same port of its pool.",
         "Reseat or replace cable and transceiver; compare the switch port's speed and lanes.", Impact::Node,
         kDoctor}},
    Row{Code::MtuDiffers,
        {"MtuDiffers", "A port's MTU differs from its pool's.",
         "Set the same MTU on netdev, switch and peers: netdev 4200 or more gives RoCE 4096, 1500 gives "
         "1024.",
         Impact::Node, kDoctor}},
    Row{Code::NoAddress,
        {"NoAddress", "A RoCE port has no address that the fabric can use.",
         "Give the port's netdev its address (DHCP, netplan, the network operator), and bring it up.",
         Impact::Node, kDoctor}},
    Row{Code::DuplicateAddress,
        {"DuplicateAddress", "Two ports have one address.",
         "Give one of them another address; look for a cloned configuration.", Impact::Node, kDoctor}},
    Row{Code::GidIndexDiffers,
        {"GidIndexDiffers", "The GID index of the fabric's address differs inside a node or between nodes.",
         "Make the netdevs' addresses the same in number and order (one IPv4 address, the same IPv6 setting, "
         "no leftover VLAN), then restart the netdev; until then let nothing but the node's own value set "
         "NCCL_IB_GID_INDEX, or say nccl.minVersion 2.21.5 or later in the policy, if the images have it.",
         Impact::Node, kDoctor}},
    Row{Code::GidIndexMoved,
        {"GidIndexMoved",
         "An address left its GID index while the node was up; pods hold the index they were bound with.",
         "Create the named pods anew. Find what takes the address away (link, DHCP lease, network manager) "
         "and keep it; for a day no index of that address is pinned; nccl.minVersion 2.21.5 or later pins "
         "fewer.",
         Impact::PodAnew, kDoctor}},
    Row{Code::SubnetDiffers,
        {"SubnetDiffers", "A rail's address is in another subnet than the same rail of its pool.",
         "Check for swapped cables and for the netdev's address and prefix.", Impact::Node, kDoctor}},
    Row{Code::StaleTable,
        {"StaleTable", "A table is older than the webhook accepts.",
         "Look at the agent's pod on that node, which refreshes the table every hour, and at the node's "
         "clock.",
         Impact::None, kDoctor}},
    Row{Code::PolicyField,
        {"PolicyField", "A field of a policy is refused, or has a side effect.", {}, Impact::Policy, kCli}},
    Row{Code::ListingLine,
        {"ListingLine", "A line of a listing should be understood, and is not.", {}, Impact::None, kCli}},
    Row{Code::MissedAtAdmission,
        {"MissedAtAdmission",
         "The policy matches the pod, and nothing was injected: no webhook answered when it was created, or "
         "the policy came later.",
         "Create the pod anew, at best the whole job at once.", Impact::PodAnew, kExplain}},
    Row{Code::MissedAtBinding,
        {"MissedAtBinding",
         "No values came with the pod's node: no webhook answered when it was bound, or the reason that "
         "stands beside it.",
         "Create the pod anew, at best the whole job at once.", Impact::PodAnew, kExplain}},
    Row{Code::Foreign,
        {"Foreign", "Values that the pod reads are not its own.",
         "Delete the pod and have it created from its owner or its own manifest, not from what `kubectl get "
         "pod` prints.",
         Impact::PodAnew, kExplain}},
    Row{Code::HeldBack,
        {"HeldBack", "The pod waits, or does not start, for want of values.",
         "`nccl-env explain pod/NAME` says for which, and what to do.", Impact::None, kExplain}},
    Row{Code::LookFailed,
        {"LookFailed",
         "The init container nccl-env-resolve failed, and the pod runs without its node's values.",
         "`kubectl logs NAME -c nccl-env-resolve` may tell more.", Impact::PodAnew, kExplain}},
    Row{Code::ChangedSinceBound,
        {"ChangedSinceBound", "The pod would be given other values today.",
         "Create the pod anew to have today's values, at best the whole job at once.", Impact::PodAnew,
         kExplain}},
    Row{Code::ValuesDiffer,
        {"ValuesDiffer", "Ranks have different values of a variable that has to be equal on all of them.",
         "Set the variable in one place for all ranks, and create them anew.", Impact::PodAnew, kExplain}},
    Row{Code::MissingRail,
        {"MissingRail", "A rank has fewer HCAs than others.",
         "`nccl-env doctor` says what is wrong with its node; repair it, or run the rank on another.",
         Impact::Node, kExplain}},
    Row{Code::NoList,
        {"NoList", "No rank was given an HCA list.", "`nccl-env reasons` says what to do about the reason.",
         Impact::Policy, kExplain}},
    Row{Code::OddNode,
        {"OddNode", "A rank has other HCAs than most, or lacks a value that others have.",
         "`nccl-env doctor` says what is wrong with its node; repair it, or run the rank on another.",
         Impact::Node, kExplain}},
    Row{Code::NodeValuesDiffer,
        {"NodeValuesDiffer", "Ranks of one node have different values.",
         "Create the pod anew, at best the whole job at once.", Impact::PodAnew, kExplain}},
    Row{Code::PolicyDiffers,
        {"PolicyDiffers", "Ranks follow different policies, or generations of one.",
         "Create the pod anew, at best the whole job at once.", Impact::PodAnew, kExplain}},
    Row{Code::FormDiffers,
        {"FormDiffers", "Ranks get their values in different forms.",
         "Create the pod anew, at best the whole job at once.", Impact::PodAnew, kExplain}},
    Row{Code::RankIndexDiffers,
        {"RankIndexDiffers", "Ranks have different GID indexes.", "Nothing, where each has its own node's.",
         Impact::None, kExplain}},
    Row{Code::ValueOverridden,
        {"ValueOverridden", "NCCL reads another value than the pod was given.",
         "Look at what sets the environment anew: the image's entrypoint, mpirun -x, a launcher.",
         Impact::PodAnew, kExplain}},
    Row{Code::ValueContradicted,
        {"ValueContradicted", "NCCL does something else than the value says.",
         "Look at the devices and interfaces that the pod has.", Impact::PodAnew, kExplain}},
    Row{Code::FellBack,
        {"FellBack", "NCCL runs over sockets, though nobody turned the fabric off.",
         "Look for /dev/infiniband in the pod, its RDMA resource, the memory lock limit, and the ports' "
         "state.",
         Impact::PodAnew, kExplain}},
    Row{Code::EmptyGid,
        {"EmptyGid", "That GID index is an empty row on that port.",
         "Leave the index to NCCL (unset, or -1, from 2.21.5 on), or name the row that the pod has there: "
         "show_gids, run inside the pod.",
         Impact::PodAnew, kExplain}},
    Row{Code::GidVanished,
        {"GidVanished",
         "The row of that GID index is gone: the index drifted, as after a link flap or a new address.",
         "Create the pod anew, so that it gets today's index; nccl-env explain pod/NAME tells whether it "
         "changed.",
         Impact::PodAnew, kExplain}},
    Row{Code::NoRoute,
        {"NoRoute",
         "The other end cannot be reached on that rail: its address has no ARP or neighbour entry, or there "
         "is no route to it.",
         "Check address, VLAN and route of the rail on both nodes; where rails are not connected with each "
         "other, set NCCL_CROSS_NIC=0.",
         Impact::Node, kExplain}},
    Row{Code::NoNetdev,
        {"NoNetdev",
         "The row's interface is not in the pod's network namespace, as with a shared device plugin without "
         "a "
         "secondary network.",
         "Attach the rail's secondary network to the pod, or run it with hostNetwork.", Impact::PodAnew,
         kExplain}},
    Row{Code::LinkLocalGid,
        {"LinkLocalGid",
         "The queue pair has a link-local row, which is not routed: the rail has no address, or the index "
         "names the wrong row.",
         "Give the rail's interface an address, and take the index of that row.", Impact::Node, kExplain}},
    Row{Code::ConnectFailed,
        {"ConnectFailed",
         "The device refuses the queue pair: most often the GID index is an empty row, or the two ends "
         "differ "
         "in link layer or MTU.",
         "Compare show_gids and the MTU of both ends; NCCL 2.24 and later name the port and both GIDs here.",
         Impact::Node, kExplain}},
    Row{Code::NoAnswer,
        {"NoAnswer",
         "The peer did not acknowledge within all retries. Likely causes: priority flow control, a cable, or "
         "a peer that is gone.",
         "Look for the rank that failed first; else compare NCCL_IB_TC and NCCL_IB_SL with what the switches "
         "expect, and look at the port's error counters.",
         Impact::Node, kExplain}},
    Row{Code::TransferFailed,
        {"TransferFailed", "A transfer between two ranks failed.",
         "Look for the rank that failed first: this line mostly appears because another rank ended.",
         Impact::None, kExplain}},
    Row{Code::GidTableChanged,
        {"GidTableChanged",
         "The port's GID table changed under the running job: an index may name another row than at the "
         "start. NCCL 2.31 and later find the row again, unless an index is set.",
         "Look for link flaps and new addresses on that port, and create the pod anew if the job hangs.",
         Impact::PodAnew, kExplain}},
    Row{Code::DeviceNotOpened,
        {"DeviceNotOpened",
         "NCCL sees a device that the pod may not open: NCCL_IB_HCA names more than the pod was given.",
         "Request the RDMA resource of every HCA in NCCL_IB_HCA, or name fewer. Ranks with unequal numbers "
         "of "
         "HCAs may wait for each other for ever.",
         Impact::PodAnew, kExplain}},
    Row{Code::GidTypeUnreadable,
        {"GidTypeUnreadable",
         "The type of a GID cannot be read inside the pod; without it, NCCL 2.21 to 2.25 finds no row.",
         "Use NCCL 2.26.2 or later, or set NCCL_IB_GID_INDEX to the pod's row.", Impact::PodAnew, kExplain}},
    Row{Code::MixedLinks,
        {"MixedLinks",
         "NCCL uses HCAs of both kinds, InfiniBand and RoCE, which cannot connect with each other.",
         "Name HCAs of one kind: in NCCL_IB_HCA, or as spec.fabric.linkLayer of the policy.", Impact::Policy,
         kExplain}},
    Row{Code::NoInterface,
        {"NoInterface",
         "The pod has no interface that NCCL may take for its sockets: no interface of that name is up and "
         "has an address.",
         "Name one that the pod has, as ip address shows inside the pod.", Impact::PodAnew, kExplain}},
    Row{Code::NoVerbsLibrary,
        {"NoVerbsLibrary",
         "The image has no libibverbs, so NCCL sees no HCA: no device and no resource helps.",
         "Install libibverbs1 and ibverbs-providers (rdma-core) in the image.", Impact::PodAnew, kExplain}},
    Row{Code::NetworkNotFound,
        {"NetworkNotFound",
         "The network that NCCL is told to use is not there: no plugin has that name, or the plugin found "
         "no device.",
         "Install the plugin in the image or remove NCCL_NET; if NCCL_NET is IB, the pod has no usable HCA.",
         Impact::PodAnew, kExplain}},
    Row{Code::GaveUp,
        {"GaveUp", "A call of NCCL's ended with an error.",
         "Read the warnings before that line, and the logs of the other ranks: the log of the rank that "
         "failed first names the cause.",
         Impact::None, kExplain}},
    of_check(Code::ApiServer, "ApiServer",
             "Agents need an API server of a version that names nodes in their tokens."),
    of_check(Code::Crds, "Crds", "A CRD of nccl-env is missing, or does not serve this version."),
    of_check(Code::Hooks, "Hooks",
             "A hook for pods or Bindings is missing, or is called for other namespaces than those that are "
             "opted in."),
    of_check(Code::Validator, "Validator", "The hook that refuses wrong policies is missing."),
    of_check(Code::CaBundle, "CaBundle",
             "The API server knows no CA for a hook, so it cannot call the webhook."),
    of_check(Code::Service, "Service", "The Service that the hooks call is missing, or has another port."),
    of_check(Code::Certificate, "Certificate",
             "The webhook's certificate is missing, over, for another name, or not trusted by the hooks."),
    of_check(Code::Webhook, "Webhook",
             "Replicas of the webhook are not ready, or not of the newest roll-out."),
    of_check(Code::Agents, "Agents", "Agents are not ready on some nodes, or not of the newest roll-out.",
             Impact::Node),
    of_check(Code::Tables, "Tables", "Nodes that have an agent have no table.", Impact::Node),
    of_check(Code::Versions, "Versions",
             "Webhook, init container, agent and this program are of several versions."),
    of_check(Code::AgentVersions, "AgentVersions",
             "Tables were written by an agent of another version than the one that is installed."),
    of_check(Code::Answers, "Answers",
             "A pod that is tried in an opted-in namespace does not get what its policy wants.",
             Impact::Policy),
    of_check(Code::Rights, "Rights", "The caller may not create all that the manifests have."),
    of_check(Code::Names, "Names", "Another party has the name of one of nccl-env's objects."),
    of_check(Code::Namespace, "Namespace",
             "The namespace to install into is not there, is going, or refuses the agent."),
    of_check(Code::AgentPod, "AgentPod", "The cluster refuses a pod with the host's network and /sys."),
    of_check(Code::OptedIn, "OptedIn",
             "Namespaces have the label that makes nccl-env responsible for their pods."),
    of_check(Code::NewPods, "NewPods", "New pods still get references that only their Binding fills."),
    of_check(Code::WaitingPods, "WaitingPods",
             "Pods without a node wait for values that their Binding has to bring.", Impact::PodAnew),
};

static_assert(in_order(kRows, &Row::code));
static_assert(static_cast<std::size_t>(Code::WaitingPods) + 1 == kRows.size());

constexpr auto kCodes = [] {
  std::array<Code, kRows.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].code;
  return all;
}();

}  // namespace

std::string_view to_string(Impact impact) {
  constexpr std::array<std::string_view, 4> kNames{"none", "podAnew", "node", "policy"};
  return name_in(kNames, impact);
}

const Named& words_of(Code code) {
  return kRows[static_cast<std::size_t>(code)].words;
}

std::optional<Code> parse_code(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.words.name == name) return row.code;
  }
  return std::nullopt;
}

std::span<const Code> all_codes() {
  return kCodes;
}

}  // namespace nccl_env
