// SPDX-License-Identifier: Apache-2.0
// The catalogue's rows for sockets, network choice, topology, tuning, files and logs.
#pragma once

#include "nccl/variables_rows.h"

namespace nccl_env::catalogue {

inline constexpr Variable kSocketRows[] = {
    list(ValueKind::InterfaceList, "NCCL_SOCKET_IFNAME", 16, Node,
         "NCCL ignores one character, trims nothing, reads at most 16 entries, takes names by prefix unless "
         "the list starts with '=', and fails if none matches"),
    one_of("NCCL_SOCKET_FAMILY", kFamilies, Equal, "case counts: any other text means either family"),
    integer("NCCL_SOCKET_NTHREADS", 1, 16, Any, "NCCL cuts more than 16 threads to 16"),
    integer("NCCL_NSOCKS_PERTHREAD", 1, 64, Any, "threads times sockets is cut to 64"),
    integer("NCCL_SOCKET_RETRY_CNT", 1, kLarge, Any, "how often a refused connection is tried again"),
    integer("NCCL_SOCKET_RETRY_SLEEP_MSEC", 1, kLarge, Any, "milliseconds between these tries"),
    integer("NCCL_SOCKET_POLL_TIMEOUT_MSEC", 0, kLarge, Any, "milliseconds; 0 does not wait"),
    integer("NCCL_SOCKET_RCVBUF", 1, kLarge, Any, "bytes of the socket's receive buffer"),
    integer("NCCL_SOCKET_SNDBUF", 1, kLarge, Any, "bytes of the socket's send buffer"),
    integer("NCCL_SOCKET_INLINE", 0, kLarge, Fabric, "bytes that travel with the message's header"),
    integer("NCCL_SOCKET_MIN_TASKSIZE", 0, kLarge, Fabric, "bytes below which a message is not divided"),
    integer("NCCL_SOCKET_MAGIC", 1, std::numeric_limits<std::int64_t>::max(), Equal,
            "a number that all ranks of a job share; NCCL takes its default for bad text"),
    empty_counts(text("NCCL_COMM_ID", Equal,
                      "HOST:PORT, IPv4:PORT or [IPv6]:PORT; anything else, also empty, stops NCCL")),
    flag("NCCL_OOB_NET_ENABLE", Equal, "bootstrap over the network plugin instead of sockets"),
    list(ValueKind::HcaList, "NCCL_OOB_NET_IFNAME", 16, Node,
         "the plugin's devices for bootstrap; NCCL reads at most 16 entries and stops if none matches"),
    integer("NCCL_UID_STAGGER_THRESHOLD", 1, kLarge, Fabric,
            "ranks from which connecting to the root is spread"),
    integer("NCCL_UID_STAGGER_RATE", 1, kLarge, Fabric, "connections per second while it is spread"),
};

inline constexpr Variable kNetRows[] = {
    empty_counts(
        text("NCCL_NET", Equal, "IB, Socket or a plugin's name in any case; NCCL stops if it is not there")),
    loads_code(empty_counts(text("NCCL_NET_PLUGIN", Equal,
                                 "the network plugin that NCCL loads; empty turns it off from 2.27 on"))),
    flag("NCCL_NET_PLUGIN_REF_COUNT", Any, "whether the plugin is unloaded with its last communicator"),
    empty_counts(one_of("NCCL_NET_MERGE_LEVEL", kMergeLevels, Fabric,
                        "case counts: NCCL takes other text, also empty, as LOC, which merges nothing")),
    empty_counts(ignoring_case(one_of("NCCL_NET_MERGE_POLICY", kMergePolicies, Fabric,
                                      "NCCL takes other text as ALL; RAIL needs rails in NCCL_IB_HCA"))),
    of_kind(
        ValueKind::HcaGroups, "NCCL_NET_FORCE_MERGE", Fabric,
        "exact names; a group without a name makes NCCL loop for ever, one with an absent device stops it"),
    empty_counts(text("NCCL_NETDEVS_POLICY", Fabric, "AUTO, ALL or MAX:N; NCCL takes other text as AUTO")),
    one_of("NCCL_NET_GDR_LEVEL", kLevels, Node, "case counts: NCCL drops other text without saying so"),
    flag("NCCL_NET_GDR_READ", Node, "whether sends read GPU memory directly"),
    flag("NCCL_NET_GDR_C2C", Node, "whether GPUDirect goes over the link between CPU and GPU"),
    flag("NCCL_NET_FORCE_FLUSH", Node, "whether receives are always flushed"),
    flag("NCCL_GDR_FLUSH_DISABLE", Node, "whether receives are never flushed"),
    flag("NCCL_NET_SHARED_BUFFERS", Equal, "whether connections share their buffers"),
    flag("NCCL_NET_SHARED_COMMS", Equal, "whether channels share connections"),
    flag("NCCL_NET_DISABLE_INTRA", Fabric, "whether the network is kept out of a node"),
    flag("NCCL_NET_OPTIONAL_RECV_COMPLETION", Equal, "whether receives may go unannounced"),
    flag("NCCL_DMABUF_ENABLE", Node, "whether GPU memory is registered by DMA-BUF"),
    integer("NCCL_CROSS_NIC", 0, 2, Equal, "never, always, or where it helps; NCCL takes others as 0"),
    flag("NCCL_PXN_DISABLE", Equal, "whether sending through another GPU's NIC is off"),
    integer("NCCL_P2P_PXN_LEVEL", 0, 2, Equal, "never, where it helps, or always"),
    one_of("NCCL_P2P_LEVEL", kLevels, Fabric, "case counts: NCCL drops other text without saying so"),
    flag("NCCL_P2P_DISABLE", Fabric, "only 1 turns direct transfers between GPUs off"),
    flag("NCCL_IGNORE_NET_MISMATCH", Fabric, "0 fails when ranks see different numbers of networks"),
    flag("NCCL_IGNORE_COLLNET_MISMATCH", Fabric, "whether ranks may differ in collective offload"),
};

inline constexpr Variable kTuningRows[] = {
    integer("NCCL_P2P_NET_CHUNKSIZE", 1, kLarge, Equal, "bytes; a power of two is advised"),
    integer("NCCL_BUFFSIZE", 1, kLarge, Equal, "bytes per channel"),
    integer("NCCL_MIN_NCHANNELS", 1, 64, Equal, "NCCL has 64 channels, 32 before 2.25"),
    integer("NCCL_MAX_NCHANNELS", 1, 64, Equal, "NCCL has 64 channels, 32 before 2.25"),
    integer("NCCL_MIN_CTAS", 1, 64, Equal, "NCCL has 64 channels, 32 before 2.25"),
    integer("NCCL_MAX_CTAS", 1, 64, Equal, "NCCL has 64 channels, 32 before 2.25"),
    integer("NCCL_NCHANNELS_PER_NET_PEER", 1, kLarge, Equal, "channels to one peer; at least one"),
    empty_counts(
        text("NCCL_ALGO", Equal,
             "a list of algorithms; from 2.24 on an unknown one stops NCCL, and empty loses NVLS before")),
    empty_counts(
        text("NCCL_PROTO", Equal, "a list of LL, LL128, Simple; from 2.24 on an unknown one stops NCCL")),
    flag("NCCL_COLLNET_ENABLE", Equal, "only 1 turns it on"),
};

inline constexpr Variable kFileRows[] = {
    empty_counts(
        path("NCCL_TOPO_FILE", Node, "a topology to read; an empty name also hides the default file")),
    empty_counts(path("NCCL_TOPO_DUMP_FILE", Any, "a file that one rank writes")),
    empty_counts(path("NCCL_GRAPH_FILE", Fabric, "a channel search result to read")),
    empty_counts(text("NCCL_HOSTID", Node,
                      "has to differ on every node: equal ones make NCCL take them for one host")),
    loads_code(path("NCCL_CONF_FILE", Any,
                    "a file of variables, plugins among them, of which a missing one still hides "
                    "~/.nccl.conf; '~' is not expanded")),
    loads_code(text("NCCL_ENV_PLUGIN", Any, "the plugin that NCCL loads and asks for every variable")),
    loads_code(text("NCCL_TUNER_PLUGIN", Fabric, "the tuner that NCCL loads")),
    loads_code(text("NCCL_PROFILER_PLUGIN", Fabric, "the profiler that NCCL loads")),
    empty_counts(ignoring_case(one_of("NCCL_DEBUG", kDebugLevels, Any,
                                      "with other text NCCL logs nothing; empty hides what a file says"))),
    empty_counts(text("NCCL_DEBUG_SUBSYS", Any, "subsystem names; empty hides everything, warnings too")),
    path("NCCL_DEBUG_FILE", Any, "%h is the host, %p the process; the pod's log then misses NCCL's lines"),
    empty_counts(text("NCCL_DEBUG_TIMESTAMP_FORMAT", Any, "strftime's format for the prefix of log lines")),
    empty_counts(text("NCCL_DEBUG_TIMESTAMP_LEVELS", Any, "the levels whose log lines carry the time")),
    text("NCCL_NO_CACHE", Any, "variable names, or ALL, that NCCL reads anew each time"),
    flag("NCCL_RAS_ENABLE", Fabric, "whether the RAS service runs"),
    empty_counts(
        text("NCCL_RAS_ADDR", Fabric, "HOST:PORT of the RAS service; the listener fails on an empty one")),
};

}  // namespace nccl_env::catalogue
