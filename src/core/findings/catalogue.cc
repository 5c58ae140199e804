// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/catalogue.h"

#include <array>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {
namespace {

constexpr const char* kAnew = "Create the pod anew, at best the whole job at once.";

// The page that has to hold the code. Those of a policy and a listing come after the doctor's, then those of
// a pod, those of `nccl-env fabric test`, and those of `nccl-env check` at the end.
constexpr std::string_view page_of(Code code) {
  if (code <= Code::NamespaceModeDiffers) return "docs/use/doctor.md";
  if (code <= Code::ListingLine) return "docs/reference/cli.md";
  if (code <= Code::PodFailed) return "docs/use/explain.md";
  return code <= Code::NotTested ? "docs/use/fabric-test.md" : "docs/operate/install.md";
}

struct Row {
  Code code;
  Named words;

  // Without a remedy each finding has its own, or its sentence says what is expected.
  constexpr Row(Code of, std::string_view name, Impact impact, std::string_view meaning,
                std::string_view remedy = {})
      : code(of), words{name, meaning, remedy, impact, page_of(of)} {}
};

constexpr auto kRows = [] {
  using enum Code;
  using enum Impact;
  return std::to_array<Row>({
      {ObjectRefused, "ObjectRefused", None, "An object could not be read, and so does not count.",
       "Correct what the sentence names; `nccl-env policy check` and `nccl-env nodes` read one file."},
      {NoFabric, "NoFabric", Policy, "A node offers no fabric port: its pods get no HCA list.",
       "Look at the node's table with `nccl-env nodes NAME`, and name the fabric in the policy "
       "(spec.fabric). A node without RDMA devices needs nothing."},
      {PortDown, "PortDown", Node, "A port of the fabric is not Active.",
       "Check cable, transceiver and switch port (`Link down`, `Link is down` or `Cable unplugged` in "
       "dmesg), on InfiniBand also the subnet manager. Until the port is up, cordon the node: jobs there run "
       "without it, and are slow or hang where other ranks have it."},
      {HcaMissing, "HcaMissing", Node, "A node lacks an HCA port that its pool has.",
       "Look for the device in lspci and for its driver in dmesg on the node; reseat or replace the card."},
      {HcasDiffer, "HcasDiffer", Node,
       "A node's HCAs have other names than its pool's, or there are more of them.",
       "Give devices the same names on all nodes (udev rules, the same PCI slots): NCCL pairs rails of two "
       "nodes by their order, and a literal list in a policy names devices that are not there."},
      {HardwareDiffers, "HardwareDiffers", Node,
       "A port has another driver, link layer or board than its pool's.",
       "Compare card and firmware (ibv_devinfo, mstflint); put nodes with other hardware into a pool and "
       "policy of their own."},
      {RateLow, "RateLow", Node, "A port runs slower than the same port of its pool.",
       "Reseat or replace cable and transceiver; compare the switch port's speed and lanes."},
      {MtuDiffers, "MtuDiffers", Node, "A port's MTU differs from its pool's.",
       "Set the same MTU on netdev, switch and peers: netdev 4200 or more gives RoCE 4096, 1500 gives 1024."},
      {NoAddress, "NoAddress", Node, "A RoCE port has no address that the fabric can use.",
       "Give the port's netdev its address (DHCP, netplan, the network operator), and bring it up."},
      {DuplicateAddress, "DuplicateAddress", Node, "Two ports have one address.",
       "Give one of them another address; look for a cloned configuration."},
      {GidIndexDiffers, "GidIndexDiffers", Node, "No GID index serves all ports of the node.",
       "Make the netdevs' addresses the same in number and order (one IPv4 address, the same IPv6 setting, "
       "no leftover VLAN), then restart the netdev; until then let nothing but the node's own value set "
       "NCCL_IB_GID_INDEX, or leave gidIndex at Auto in the policy, if the images have NCCL 2.21.5 or "
       "later."},
      {GidIndexMoved, "GidIndexMoved", PodAnew,
       "An address left its GID index while the node was up; pods hold the index they were bound with.",
       "Create the named pods anew. Find what takes the address away (link, DHCP lease, network manager) and "
       "keep it; for a day no index of that address is pinned; gidIndex: Auto pins fewer than Pin."},
      {SubnetDiffers, "SubnetDiffers", Node,
       "A rail's address is in another subnet than the same rail of its pool.",
       "Check for swapped cables, for the netdev's address and prefix, and for a second address before it: "
       "spec.fabric.subnets of the policy names the network that counts."},
      {StaleTable, "StaleTable", None, "A table is older than the webhook accepts, or from the future.",
       "Look at the agent's pod on that node, which refreshes the table every hour, and at the node's clock. "
       "What is told of its ports is as old as the table."},
      {ManagementInFabric, "ManagementInFabric", Policy,
       "A policy's globs take a port that is hardly a rail: it carries the node's own traffic, or is much "
       "slower than the others.",
       "Name the rails alone in spec.fabric.hcas (\"mlx5_[1-8]\"), leave the port out with excludeHcas, or "
       "leave hcas out and let inference find the fabric."},
      {LossyTrafficClass, "LossyTrafficClass", Node,
       "The fabric may drop NCCL's packets: their traffic class (DSCP) falls into a priority without PFC, or "
       "is not that of the pool's other nodes.",
       "Compare `mlnx_qos -i NETDEV` (or `dcb pfc show dev NETDEV`, `dcb app show dev NETDEV`) and "
       "/sys/class/infiniband/HCA/tc/1/traffic_class with a good node's and with the switches, and set "
       "NCCL_IB_TC in the policy to a class that they carry without loss. Nothing, where it is meant to be "
       "lossy (ECN alone)."},
      {NamespaceModeDiffers, "NamespaceModeDiffers", Node,
       "A node's RDMA namespace mode is not that of its pool.",
       "In exclusive mode a pod has the devices alone that a plugin moves into it: with a shared device "
       "plugin it has none, and hostNetwork pods lack those that other pods hold. In shared mode none can be "
       "moved. Set one mode on all nodes, at boot: `options ib_core netns_mode=1` (shared; 0: exclusive) in "
       "/etc/modprobe.d; `rdma system` shows it."},
      {PolicyField, "PolicyField", Policy, "A field of a policy is refused, or has a side effect."},
      {ListingLine, "ListingLine", None, "A line of a listing should be understood, and is not."},
      {MissedAtAdmission, "MissedAtAdmission", PodAnew,
       "The policy matches the pod, and nothing was injected: no webhook answered when it was created, or "
       "the policy came later.",
       kAnew},
      {MissedAtBinding, "MissedAtBinding", PodAnew,
       "No values came with the pod's node: no webhook answered when it was bound, or the reason that stands "
       "beside it.",
       kAnew},
      {Foreign, "Foreign", PodAnew, "Values that the pod reads are not its own.",
       "Delete the pod and have it created from its owner or its own manifest, not from what `kubectl get "
       "pod` prints."},
      {HeldBack, "HeldBack", None, "The pod waits, or does not start, for want of values.",
       "`nccl-env explain pod/NAME` says for which, and what to do."},
      {LookFailed, "LookFailed", PodAnew,
       "The init container nccl-env-resolve failed, and the pod runs without its node's values.",
       "`kubectl logs NAME -c nccl-env-resolve` may tell more."},
      {RailDown, "RailDown", Node,
       "A port of the pod's list, or of its node's fabric, is not Active now, so it is left out; ranks with "
       "unequal numbers of HCAs hang or are slow.",
       "`nccl-env doctor` says what to look at on that node; until the port is up, cordon it and run the pod "
       "on another."},
      {NoSuchDevice, "NoSuchDevice", PodAnew, "NCCL_IB_HCA names what the pod's node does not have.",
       "Remove NCCL_IB_HCA from the container to have the node's list, or name devices that the node has; a "
       "pod with nccl-env's own list: create it anew."},
      {MissingRail, "MissingRail", Node, "A rank has fewer HCAs than others.",
       "Where the rank sets NCCL_IB_HCA itself, set it alike on all ranks or nowhere; else `nccl-env doctor` "
       "says what is wrong with its node: repair it, or run the rank on another."},
      {NoList, "NoList", Policy, "No HCA list was given, for the reason that stands beside it.",
       "`nccl-env what REASON` says what to do about the reason."},
      {NoRail, "NoRail", PodAnew,
       "RoCE behind a shared device plugin, without hostNetwork and without a secondary network: the ports "
       "have no GID in such a pod, and queue pairs fail (NoNetdev).",
       "Attach one network for each rail to the pod, or use hostNetwork."},
      {UserListShort, "UserListShort", PodAnew,
       "A user's own variable (NCCL_IB_HCA, NCCL_NET, UCX_NET_DEVICES, ...) takes fewer HCAs than the fabric "
       "of the pod's node has, or others.",
       "Nothing, if it is meant so, equally on all ranks; else remove the variable from the container to "
       "have the node's list."},
      {ListNotExact, "ListNotExact", PodAnew,
       "Without '=' a name in NCCL_IB_HCA is the beginning of a name, and takes further devices.",
       "Begin the list with '='."},
      {LoopbackFirst, "LoopbackFirst", PodAnew,
       "The list of interfaces names lo or leaves it in, over which no other node is reached.",
       "Name lo among those that are left out (^lo,docker0), or name the interface itself."},
      {UnknownVariable, "UnknownVariable", PodAnew,
       "NCCL does not read a variable of that name, which is nearly that of one that it reads.",
       "Correct the name."},
      {ValueMisread, "ValueMisread", PodAnew, "A value that its reader takes for another one, or refuses.",
       "Write it as the sentence says; `nccl-env what NAME` tells what the variable takes."},
      {ValuesDiffer, "ValuesDiffer", PodAnew,
       "Ranks have different values of a variable that has to be equal on all of them, or should be on one "
       "fabric.",
       "Set the variable in one place for all ranks, and create them anew."},
      {OddNode, "OddNode", Node, "A rank has other HCAs than most, or lacks a value that others have.",
       "`nccl-env doctor` says what is wrong with its node; repair it, or run the rank on another."},
      {NodeValuesDiffer, "NodeValuesDiffer", PodAnew, "Ranks of one node have different values.", kAnew},
      {PolicyDiffers, "PolicyDiffers", PodAnew, "Ranks follow different policies, or generations of one.",
       kAnew},
      {RankRowDiffers, "RankRowDiffers", Policy,
       "Ranks use GID rows of different networks, although a port has rows in both; an unlike index alone is "
       "no fault.",
       "Name the fabric's networks in the policy, spec.fabric.subnets."},
      {ChangedSinceBound, "ChangedSinceBound", PodAnew, "The pod would be given other values today.",
       "Create the pod anew to have today's values, at best the whole job at once."},
      {ImageConfHidden, "ImageConfHidden", Policy,
       "The file of nccl-env stands at /etc/nccl.conf, and hides one that the image may have there.",
       "Nothing, if the image has none; else say nccl.minVersion 2.23.4 or later in the policy, if its "
       "images have that. For ranks that sshd starts the file stands there in any case."},
      {ValueOverridden, "ValueOverridden", PodAnew, "NCCL reads another value than the pod was given.",
       "Look at what sets the environment anew: the image's entrypoint, mpirun -x, a launcher."},
      {ValueContradicted, "ValueContradicted", PodAnew, "NCCL does something else than the value says.",
       "Look at the devices and interfaces that the pod has."},
      {ImageIndex, "ImageIndex", PodAnew,
       "A GID index that the pod's spec does not set stands beside nccl-env's list: the image's ENV, its "
       "nccl.conf, an entrypoint or envFrom gives it, the same one on every node.",
       "Take NCCL_IB_GID_INDEX out of the image or entrypoint: NCCL 2.21.5 and later find the row "
       "themselves. Until then env NCCL_IB_GID_INDEX=-1 in the pod overrides an image's ENV."},
      {NcclTooOld, "NcclTooOld", Policy,
       "The image's NCCL does not search for a GID index, and the policy counts on that: it takes row 0 of "
       "each port, mostly RoCE v1 or link-local.",
       "Write gidIndex: Pin in the policy and create the pod anew, or take an image with NCCL 2.21.5 or "
       "later."},
      {FellBack, "FellBack", PodAnew, "NCCL or UCX runs over sockets, though nobody turned the fabric off.",
       "Look for /dev/infiniband in the pod, its RDMA resource, the memory lock limit, and the ports' "
       "state."},
      {EmptyGid, "EmptyGid", PodAnew, "That GID index is an empty row on that port.",
       "Leave the index to NCCL (unset, or -1, from 2.21.5 on), or name the row that the pod has there: "
       "show_gids, run inside the pod."},
      {GidVanished, "GidVanished", PodAnew,
       "The row of that GID index is gone: the index drifted, as after a link flap or a new address.",
       "Create the pod anew, so that it gets today's index; nccl-env explain pod/NAME tells whether it "
       "changed."},
      {NoRoute, "NoRoute", Node,
       "The other end is not reached on that rail: no ARP or neighbour entry, no route, or rails that are "
       "not connected with each other.",
       "Check address, VLAN and route of the rail on both nodes; where rails are not connected with each "
       "other, set NCCL_CROSS_NIC=0."},
      {NoNetdev, "NoNetdev", PodAnew,
       "The row's interface is not in the pod's network namespace, as with a shared device plugin without a "
       "secondary network.",
       "Attach the rail's secondary network to the pod, run it with hostNetwork, or name only HCAs that have "
       "a GID in it (show_gids) in NCCL_IB_HCA."},
      {RoceV1Gid, "RoceV1Gid", PodAnew,
       "The row of the GID index is RoCE v1, which is not routed and does not meet v2; the port has rows of "
       "v2.",
       "Leave the index and NCCL_IB_ROCE_VERSION_NUM out, or take the row of v2 (show_gids)."},
      {LinkLocalGid, "LinkLocalGid", Node,
       "A link-local row, which is not routed, is that of the GID index: the rail has no address, or the "
       "index names the wrong row.",
       "Leave the index out, or take that of a row with a routed address (show_gids); if the rail has none, "
       "give its interface one."},
      {ConnectFailed, "ConnectFailed", Node,
       "The device refuses the queue pair: most often the GID index is an empty row, or the two ends differ "
       "in link layer or MTU.",
       "Compare show_gids and the MTU of both ends; NCCL 2.24 and later name the port and both GIDs here."},
      {NoAnswer, "NoAnswer", Node,
       "The peer did not acknowledge within all retries: its process or host ended, or the way there fails "
       "(priority flow control, a wrong GID index, a cable).",
       "Look for the rank that failed first; else compare NCCL_IB_TC and NCCL_IB_SL with what the switches "
       "expect, and look at the port's error counters."},
      {TransferFailed, "TransferFailed", None, "A transfer between two ranks failed.",
       "Look for the rank that failed first: this line mostly appears because another rank ended."},
      {GidTableChanged, "GidTableChanged", PodAnew,
       "The port's GID table changed under the running job: an index may name another row than at the start. "
       "NCCL 2.31 and later find the row again, unless an index is set.",
       "Look for link flaps and new addresses on that port, and create the pod anew if the job hangs."},
      {DeviceNotOpened, "DeviceNotOpened", PodAnew,
       "NCCL sees a device that the pod may not open: it was given fewer than NCCL_IB_HCA names, or none.",
       "Request the RDMA resource of every HCA in NCCL_IB_HCA, or name fewer. Ranks with unequal numbers of "
       "HCAs may wait for each other for ever."},
      {GidTypeUnreadable, "GidTypeUnreadable", PodAnew,
       "The type of a GID cannot be read inside the pod; without it, NCCL 2.21 to 2.25 finds no row.",
       "Use NCCL 2.26.2 or later, or set NCCL_IB_GID_INDEX to the pod's row."},
      {MixedLinks, "MixedLinks", Policy,
       "NCCL uses HCAs of both kinds, InfiniBand and RoCE, which cannot connect with each other.",
       "Name HCAs of one kind: in NCCL_IB_HCA, or by spec.fabric of the policy (linkLayer; hcas, where more "
       "than the fabric is of that kind)."},
      {NoInterface, "NoInterface", PodAnew,
       "The pod has no interface that NCCL may take for its sockets: no interface of that name is up and has "
       "an address.",
       "Name one that the pod has, as ip address shows inside the pod."},
      {NoVerbsLibrary, "NoVerbsLibrary", PodAnew,
       "The image has no libibverbs, so NCCL sees no HCA: no device and no resource helps.",
       "Install libibverbs1 and ibverbs-providers (rdma-core) in the image."},
      {NetworkNotFound, "NetworkNotFound", PodAnew,
       "The network that NCCL is told to use is not there: no plugin has that name, or the plugin found no "
       "device.",
       "Install the plugin in the image or remove NCCL_NET; if NCCL_NET is IB, the pod has no usable HCA."},
      {PartlyUsed, "PartlyUsed", PodAnew,
       "NCCL uses fewer HCAs than the list names: the others are down, not in the pod, or misspelt.",
       "Correct the list, or give the pod all of its devices. Ranks with unequal numbers of HCAs hang."},
      {UnreachableInterface, "UnreachableInterface", PodAnew,
       "NCCL took an interface that no other host reaches.",
       "Name one that hosts reach each other by: spec.socketInterface of the policy, or NCCL_SOCKET_IFNAME. "
       "Where the list excludes names (^docker0), lo has to be among them."},
      {NoConnection, "NoConnection", Node,
       "No TCP connection to the other rank: it gave the address of a wrong interface, a firewall or proxy "
       "(a service mesh's sidecar) is between them, or it ended before.",
       "Connect by hand from pod to pod on a random port; exclude the pods from the mesh; look for the rank "
       "that failed first."},
      {LinkDown, "LinkDown", Node,
       "A port's link went down under the running job: cable, transceiver or switch port.",
       "Look at dmesg and the port's link_downed counter on that node, and at the switch; `nccl-env doctor` "
       "tells ports that are down now."},
      {DeviceLost, "DeviceLost", Node, "The adapter itself failed: a fatal event of the device.",
       "Look at dmesg on that node (`firmware internal error`, `health recovery`, PCIe errors), and take it "
       "out of use until the adapter is reset or replaced. No value of NCCL's mends it."},
      {MemoryLock, "MemoryLock", PodAnew,
       "Memory cannot be pinned for the HCA: most often the memory lock limit is too low.",
       "Look at `ulimit -l` in the container: raise the runtime's memlock limit (RLIMIT_MEMLOCK, "
       "LimitMEMLOCK), or add the capability IPC_LOCK to a root container."},
      {SharedMemory, "SharedMemory", PodAnew,
       "NCCL's segments in /dev/shm need more space than there is (64 MiB by default), or a right.",
       "Mount an emptyDir with medium Memory at /dev/shm. Its sizeLimit and the memory limit of the pod "
       "count."},
      {GpuMemory, "GpuMemory", Node,
       "The HCA may not access the memory that it was given: peer memory (nvidia-peermem, DMA-BUF), a GPU "
       "without GPUDirect RDMA (GeForce), PCIe ACS or the IOMMU, or the memory lock limit.",
       "Try NCCL_NET_GDR_LEVEL=LOC once: if the job runs, load nvidia-peermem on the node, and turn ACS and "
       "the IOMMU off for these devices."},
      {RemoteAccess, "RemoteAccess", Node,
       "One end refused the other's access to its memory, and the log does not tell why: a rank freed it or "
       "ended, the two ports differ in MTU, or peer memory.",
       "Read the other rank's log of that second, and compare the MTU of both ports; else try "
       "NCCL_NET_GDR_LEVEL=LOC once, as for GpuMemory."},
      {SegmentMissing, "SegmentMissing", PodAnew,
       "A segment of another rank on this node is not in this rank's /dev/shm: they do not share one, or "
       "that rank ended.",
       "Run the node's ranks in one pod, or with hostIPC, or set NCCL_SHM_DISABLE=1; look for a rank that "
       "failed before."},
      {StrangerConnected, "StrangerConnected", Node,
       "Something that is not a rank of this job connected to NCCL's port: a port scanner, a health check, "
       "or another job.",
       "Keep scanners and probes off the pods' ports. NCCL drops such connections from 2.27.3 on."},
      {ConnectionBroken, "ConnectionBroken", Node,
       "An established TCP connection was dropped on its way: a firewall or NAT that ends idle connections, "
       "or a host or link that is gone.",
       "Look for the idle timeouts of what stands between the nodes, and whether the peer's host lives."},
      {DeviceNotAvailable, "DeviceNotAvailable", PodAnew,
       "UCX or NVSHMEM is told to use a device or transport that is not there or not active, and goes on "
       "without it.",
       "Correct UCX_NET_DEVICES, UCX_TLS or NVSHMEM_HCA_LIST (names without '='), or give the pod all of its "
       "devices; in its log UCX names what it has."},
      {NoTransport, "NoTransport", PodAnew,
       "UCX or NVSHMEM finds no transport to another process: devices of its list are not there or not "
       "active, or do not reach each other.",
       "Look at its list (UCX_NET_DEVICES, UCX_TLS, NVSHMEM_HCA_LIST), and for /dev/infiniband and active "
       "ports in the pod."},
      {NcclVersionsDiffer, "NcclVersionsDiffer", PodAnew, "Ranks of one job run several versions of NCCL.",
       "Use one image for all ranks, and look for an LD_LIBRARY_PATH or LD_PRELOAD that brings another."},
      {InitNotEnded, "InitNotEnded", None,
       "NCCL began to initialise, and the log does not tell that it finished.",
       "If the job hangs: `nccl-env verify job/NAME` tells which rank is missing or odd. Without a restart, "
       "from 2.24 on: `ncclras -v` in a pod of the job."},
      {MixedNetworks, "MixedNetworks", PodAnew,
       "Ranks of the job use unlike networks or plugins, which do not understand each other.",
       "Give all nodes the same image, plugin (LD_LIBRARY_PATH) and devices; NCCL_NET on all ranks names one "
       "network, NCCL_NET_PLUGIN=none leaves plugins out."},
      {EndedElsewhere, "EndedElsewhere", None,
       "A rank ended by an error that is not the network's; what NCCL tells of the other ranks follows from "
       "it.",
       "Read that error first, and the lines above it."},
      {UnknownWarning, "UnknownWarning", None, "The log warns of something that is not known here.",
       "Read that line and those around it; it may be the cause."},
      {PeerClosed, "PeerClosed", None,
       "Another rank or thread of the job ended first, and its connection with it (`Connection reset by "
       "peer`, ECONNRESET): a consequence, whose cause is in that rank's log.",
       "Look for the rank that failed first, in the logs of all ranks (`nccl-env verify` takes them "
       "together)."},
      {TimedOut, "TimedOut", None,
       "A collective did not end in time: a rank hangs, is late or calls another.",
       "Find the rank that is behind: `nccl-env verify job/NAME`; in a job that hangs now, from NCCL 2.24 "
       "on, `ncclras -v` in one of its pods."},
      {GaveUp, "GaveUp", None, "A call of NCCL's ended with an error.",
       "Read the warnings before that line (NCCL_DEBUG=WARN or INFO prints them), and the logs of the other "
       "ranks: the log of the rank that failed first names the cause. In containers see df -h /dev/shm, "
       "too."},
      {PodFailed, "PodFailed", None,
       "The pod or a container of it has failed, fails again and again (CrashLoopBackOff), or cannot start.",
       "`kubectl describe pod NAME` tells more, and `nccl-env verify pod/NAME` reads its log."},
      {NetworkBroken, "NetworkBroken", Node,
       "No packet passes inside a network, or between two, whichever nodes and rails were tried.",
       "Inside one: look at its switch, VLAN and, on InfiniBand, partition. Between two: a route, a gateway "
       "or an ACL is missing; NCCL pairs rails by their order, so that rail n of all nodes needs to be in "
       "one network or in networks that reach each other."},
      {RailCutOff, "RailCutOff", Node, "A rail of a node reaches none of the peers that it was tried with.",
       "Look at this port's cable, transceiver and switch port (VLAN, port ACL), then at its address: "
       "another device may have the same. Cordon the node until then."},
      {LongPacketsLost, "LongPacketsLost", Node,
       "A short packet passes, and packets of the path's MTU do not.",
       "Compare the MTU of both netdevs with that of every switch port between them: RoCE with 4096 bytes "
       "needs 4200 or more on all of them."},
      {LinkFails, "LinkFails", Node,
       "Two rails do not reach each other. If both reach others, the fault lies between them; else it may be "
       "either end.",
       "Of two nodes alone, test a third with them: it tells which end. Else look at what lies between the "
       "two: an uplink, one path of several (ECMP), a route, an ACL; and try once more, because a queue that "
       "is full loses packets, too."},
      {NotTested, "NotTested", None, "A node, or a part of the test, was not tested: nothing is known of it.",
       "Busy: wait for the job that has the devices, or leave the node out with --nodes. Held: the sentence "
       "names the quota, gate or taint. Else look at the pod, or try once more."},
      {ApiServer, "ApiServer", None,
       "Agents need an API server of a version that names nodes in their tokens."},
      {Crds, "Crds", None, "A CRD of nccl-env is missing, or does not serve this version."},
      {Hooks, "Hooks", None,
       "A hook for pods or Bindings is missing, leads elsewhere, or is called for other objects or "
       "namespaces than it should."},
      {Validator, "Validator", None, "The hook that refuses wrong policies is missing."},
      {CaBundle, "CaBundle", None, "The API server knows no CA for a hook, so it cannot call the webhook."},
      {Service, "Service", None,
       "The Service that the hooks call is missing, or leads to other ports or pods."},
      {Certificate, "Certificate", None,
       "The webhook's certificate is missing, over, for another name, or not trusted by the hooks."},
      {Webhook, "Webhook", None, "Replicas of the webhook are not ready, or not of the newest roll-out."},
      {Agents, "Agents", Node, "Agents are not ready on some nodes, or not of the newest roll-out."},
      {Tables, "Tables", Node, "Nodes that have an agent have no table."},
      {Versions, "Versions", None,
       "Webhook, init container, agent and this program are of several versions."},
      {Answers, "Answers", Policy,
       "A pod that is tried in an opted-in namespace does not get what its policy wants."},
      {Rights, "Rights", None,
       "The caller may not create all that the manifests have, or webhook or agents lack their rights."},
      {Namespace, "Namespace", None,
       "A namespace of nccl-env's is not there, is going, or enforces another Pod Security level."},
      {AgentPod, "AgentPod", None, "The cluster refuses a pod with the host's network and /sys."},
  });
}();

static_assert(in_order(kRows, &Row::code));
static_assert(static_cast<std::size_t>(Code::AgentPod) + 1 == kRows.size());

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

std::span<const Code> all_codes() {
  return kCodes;
}

}  // namespace nccl_env
