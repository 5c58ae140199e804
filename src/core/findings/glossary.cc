// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/glossary.h"

#include <array>
#include <cstddef>

namespace nccl_env {
namespace {

constexpr std::array kTerms{
    Term{"HCA",
         "host channel adapter: an RDMA device, such as `mlx5_1`, `rocep1s0f1`, `irdma1`. InfiniBand and "
         "RoCE devices alike"},
    Term{"port",
         "a port of an HCA, numbered from 1. Today's ConnectX have one port per PCI function, so \"HCA\" and "
         "\"port\" often mean the same thing"},
    Term{"link layer", "`InfiniBand` or `Ethernet`"},
    Term{"RoCE",
         "RDMA over Converged Ethernet. v1 lives in one Ethernet segment; v2 is carried by UDP and IP and "
         "can be routed. NCCL wants v2"},
    Term{"GID", "the address of a port, 128 bits. On RoCE it is made of an IP address of the port's netdev"},
    Term{"GID index",
         "the place of a GID in the port's table. A table has rows for v1 and v2, link-local and real "
         "addresses; order and gaps depend on history. One index may be right on one HCA and wrong on the "
         "next"},
    Term{"rail",
         "the HCAs at the same position on all nodes, cabled to one plane of switches: NCCL sends from rail "
         "3 to rail 3"},
    Term{"pool",
         "nodes of one shape: the same number of ports, of the same kinds. The doctor compares the nodes of "
         "a pool"},
    Term{"fabric", "here: the ports that carry NCCL's traffic, without management and storage"},
    Term{"netdev", "a network interface of Linux: `eth1`, `bond0`, `ib0`"},
    Term{"PF, VF", "physical and virtual function of a PCI device (SR-IOV). A VF is an HCA of its own"},
    Term{"LAG, bond", "two ports that act as one; the RDMA device of a bond has the bond's addresses"},
    Term{"macvlan, ipvlan",
         "sub-interfaces of a netdev in a pod's own network namespace; their addresses are rows of the HCA's "
         "table that only the pod can use"},
    Term{"RDMA namespace mode",
         "`shared`: every network namespace sees all HCAs; `exclusive`: each HCA belongs to one"},
    Term{"verbs",
         "the programming interface of RDMA (libibverbs). EFA and TCPXO are reached by plugins instead"},
    Term{"QP",
         "queue pair, an RDMA connection's end. `modify_qp` connects it with its peer; if an address is "
         "wrong, this call fails first"},
    Term{"partition, PKey",
         "a part of an InfiniBand fabric that other ports cannot reach; a port's table lists the keys of its "
         "partitions"},
    Term{"TC, SL",
         "traffic class (RoCE) and service level (InfiniBand): they belong to the switches' configuration"},
    Term{"admission", "the moment when the API server shows a new pod to webhooks, before it stores it"},
    Term{"overlay",
         "a folder with a `kustomization.yaml` that changes other manifests, such as "
         "`manifests/overlays/cert-manager`"},
    Term{"strict namespace",
         "one with the label `nccl-env.io/strict=true`, whose pods wait while no webhook answers",
         "docs/operate/operations.md#strict-namespaces"},
    Term{"rank", "one process of a job, mostly one per GPU"},
    Term{"bootstrap", "how ranks find each other, over TCP, before RDMA: `NCCL_SOCKET_IFNAME`"},
    Term{"listing",
         "what `show_gids`, `ibv_devinfo` and the like print about a node; `nccl-env table import` makes a "
         "table of it",
         "docs/reference/node-fabric.md#tables-from-listings"},
    Term{"NodeFabric, table", "the table of a node: ports, GID rows, interfaces. Written by the agent",
         "docs/reference/node-fabric.md"},
    Term{"NcclPolicy, policy", "which pods get which values. A namespace's label names it",
         "docs/use/policy.md"},
    Term{"opt in, opt out",
         "a namespace opts in by the label `nccl-env.io/policy`; without it nothing of it reaches the "
         "webhook. A pod opts out by its own label `nccl-env.io/inject: \"false\"`",
         "docs/operate/install.md"},
    Term{"carrier, File, EnvFile, Reference",
         "the way by which a node's values reach a container: as lines of `nccl.conf`, as variables that an "
         "init "
         "container finds, or as references to annotations",
         "docs/use/policy.md#carriers"},
    Term{"engine",
         "a library that moves data between ranks and reads variables of its own: NCCL with RCCL, UCX, "
         "NVSHMEM, Gloo, Mooncake",
         "docs/use/policy.md#engines"},
    Term{"exposure", "how much of its node's devices a pod sees: `Host`, `SubInterface` or `PodOwned`"},
    Term{"Binding", "the request by which a scheduler gives a pod its node"},
};

}  // namespace

std::span<const Term> glossary() {
  return kTerms;
}

std::vector<std::string_view> words_in(const Term& term) {
  constexpr std::string_view kComma = ", ";
  std::vector<std::string_view> words;
  std::string_view rest = term.words;
  for (std::size_t comma = rest.find(kComma); comma != rest.npos; comma = rest.find(kComma)) {
    words.push_back(rest.substr(0, comma));
    rest.remove_prefix(comma + kComma.size());
  }
  words.push_back(rest);
  return words;
}

}  // namespace nccl_env
