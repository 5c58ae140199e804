// SPDX-License-Identifier: Apache-2.0
// Long because it is a table: an entry for each variable of docs/reference/variables.md.
#include "nccl_env/core/engines/nccl/variables.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {

namespace catalogue {

// How the rows of the catalogue are written. Unless a row says otherwise, empty acts as unset and the
// value names no code.

using enum Ranks;

constexpr std::int64_t kLarge = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

using Name = std::string_view;
using Note = std::string_view;

constexpr Variable integer(Name name, std::int64_t min, std::int64_t max, Ranks ranks, Note note,
                           int bits = 0) {
  return {.name = name,
          .kind = ValueKind::Integer,
          .min = min,
          .max = max,
          .choices = {},
          .empty_is_unset = true,
          .ranks = ranks,
          .bits = bits,
          .note = note};
}

constexpr Variable flag(Name name, Ranks ranks, Note note) {
  return integer(name, 0, 1, ranks, note);
}

constexpr Variable one_of(Name name, std::span<const std::string_view> choices, Ranks ranks, Note note) {
  return {.name = name,
          .kind = ValueKind::Enum,
          .choices = choices,
          .empty_is_unset = true,
          .ranks = ranks,
          .note = note};
}

constexpr Variable of_kind(ValueKind kind, Name name, Ranks ranks, Note note) {
  return {.name = name, .kind = kind, .choices = {}, .empty_is_unset = true, .ranks = ranks, .note = note};
}

constexpr Variable text(Name name, Ranks ranks, Note note) {
  return of_kind(ValueKind::Text, name, ranks, note);
}

constexpr Variable path(Name name, Ranks ranks, Note note) {
  return of_kind(ValueKind::Path, name, ranks, note);
}

constexpr Variable list(ValueKind kind, Name name, std::int64_t most, Ranks ranks, Note note) {
  Variable row = of_kind(kind, name, ranks, note);
  row.max = most;
  return row;
}

constexpr Variable empty_counts(Variable row) {
  row.empty_is_unset = false;
  return row;
}

constexpr Variable ignoring_case(Variable row) {
  row.ignore_case = true;
  return row;
}

constexpr Variable word_list(Name name, std::span<const std::string_view> choices, Ranks ranks, Note note) {
  Variable row = of_kind(ValueKind::WordList, name, ranks, note);
  row.choices = choices;
  return row;
}

constexpr Variable loads_code(Variable row) {
  row.loads_code = true;
  return row;
}

constexpr std::string_view kFamilies[] = {"AF_INET", "AF_INET6"};
// ncclGetLevel compares whole words in exactly this spelling, then takes one leading digit; it drops anything
// else without a line in the log.
constexpr std::string_view kLevels[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN",
                                        "PHB", "SYS", "0",   "1",   "2",   "3",   "4",   "5"};
constexpr std::string_view kMergeLevels[] = {"LOC", "PORT", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS"};
constexpr std::string_view kMergePolicies[] = {"ALL", "RAIL"};
constexpr std::string_view kDebugLevels[] = {"VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE"};
constexpr std::string_view kLaunchModes[] = {"PARALLEL", "GROUP"};
constexpr std::string_view kAlgorithms[] = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                            "NVLSTree", "PAT"};
constexpr std::string_view kProtocols[] = {"LL", "LL128", "Simple"};
constexpr std::string_view kFunctions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
constexpr std::string_view kCheckModes[] = {"DEFAULT", "DEBUG_LOCAL", "DEBUG_GLOBAL"};

constexpr Variable kRows[] = {
    // InfiniBand and RoCE.
    // Which devices and addresses.
    list(ValueKind::HcaList, "NCCL_IB_HCA", 32, Node,
         "the HCA ports that NCCL may use: it trims nothing, reads at most 32 entries and takes names by "
         "prefix unless the list starts with '='"),
    integer("NCCL_IB_GID_INDEX", -1, 255, Node,
            "the row of each port's GID table that RoCE uses; one index for all HCAs of a process; 2.21 "
            "keeps eight bits of it; a negative one leaves the choice to NCCL, and stops NCCL up to 2.20"),
    one_of("NCCL_IB_ADDR_FAMILY", kFamilies, Fabric, "case counts: NCCL takes any other text as AF_INET"),
    of_kind(ValueKind::Cidr, "NCCL_IB_ADDR_RANGE", Node,
            "exactly one ADDRESS/PREFIX: NCCL 2.21 and 2.22 crash without the '/', and of a list only the "
            "first counts"),
    integer("NCCL_IB_ROCE_VERSION_NUM", 1, 2, Fabric,
            "RoCE has versions 1 and 2; with another number no row fits and NCCL falls to index 0"),
    integer("NCCL_IB_ROUTABLE_FLID_GID_INDEX", 0, 255, Fabric,
            "a row of the port's GID table; a negative one makes the query fail (InfiniBand only)"),
    integer("NCCL_IB_PKEY", 0, 65535, Fabric,
            "an index into the port's table, not the key itself (0x8001), which is NCCL_IB_PKEY_VALUE"),
    flag("NCCL_IB_MERGE_NICS", Fabric, "whether the ports of one card may act as one device"),
    flag("NCCL_IB_MERGE_VFS", Node, "whether virtual functions of one card count as one PCI device"),
    integer("NCCL_IB_DATA_DIRECT", 0, 2, Node, "three modes; the log then names devices NAME_dma"),
    flag("NCCL_IB_DEVICE_PCI_ORDER", Equal, "1: devices in PCI order, 0: as the verbs library lists them"),
    flag("NCCL_IB_QUERY_PORT_SPEED", Node, "whether the driver is asked for the port's speed"),
    integer("NCCL_IB_DISABLE", 0, kLarge, Equal, "0 keeps the transport, everything else turns it off"),

    // Attributes of a queue pair.
    integer("NCCL_IB_TIMEOUT", 1, 31, Any,
            "an HCA's wait for an acknowledgement, 4.096 us times two to this power (8: 1 ms, 20: 4 s), in "
            "five bits; 0 waits for ever",
            5),
    integer("NCCL_IB_RETRY_CNT", 0, 7, Any, "the queue pair's field has three bits; the default is 7", 3),
    integer("NCCL_IB_SL", 0, 15, Fabric, "a service level has four bits; RoCE uses 0..7 as the priority"),
    integer("NCCL_IB_TC", 0, 255, Fabric,
            "one byte: four times the DSCP value that the switches expect; NCCL keeps eight bits"),
    integer("NCCL_IB_FIFO_TC", 0, 255, Fabric, "one byte, as NCCL_IB_TC, for control messages"),
    integer("NCCL_GIN_IB_TC", 0, 255, Fabric, "one byte, as NCCL_IB_TC, for GPU-initiated traffic"),
    integer("NCCL_IB_QPS_PER_CONNECTION", 1, 128, Equal,
            "queue pairs between two ranks; NCCL has room for 128 and checks nothing: more overruns it, 0 "
            "divides by zero; merged devices share the 128"),
    flag("NCCL_IB_SPLIT_DATA_ON_QPS", Equal, "0: messages take turns on the queue pairs, 1: each is split"),
    integer("NCCL_IB_AR_THRESHOLD", 0, kLarge, Any, "bytes from which adaptive routing is used"),
    flag("NCCL_IB_ADAPTIVE_ROUTING", Any, "unset means 1 on InfiniBand and 0 on RoCE"),
    integer("NCCL_IB_PCI_RELAXED_ORDERING", 0, 2, Node, "off, on, or on where possible; NCCL treats 1 as 2"),
    flag("NCCL_IB_USE_INLINE", Any, "whether small messages travel inside the work request"),
    flag("NCCL_IB_ECE_ENABLE", Any, "whether enhanced connection establishment is used"),
    flag("NCCL_IB_OOO_RQ", Equal, "receive out of order; the connection fails if one side lacks it"),
    flag("NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", Fabric, "whether receives are posted ahead"),
    flag("NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", Equal, "how the receiver matches; both sides the same"),
    flag("NCCL_IB_SUBNET_AWARE_ROUTING", Fabric,
         "RoCE over several subnets: take the device on the peer's subnet"),
    integer("NCCL_IB_SUBNET_PREFIX_LEN", 1, 32, Fabric, "the length of an IPv4 prefix; NCCL refuses others"),

    // Errors.
    flag("NCCL_IB_RETURN_ASYNC_EVENTS", Any, "whether asynchronous device events become errors"),
    flag("NCCL_IB_MQP_RETRY_ALL", Any, "whether every failed change of a queue pair is tried again"),
    integer("NCCL_IB_MQP_RETRY_CNT", 0, kLarge, Any,
            "how often a change of a queue pair that timed out is tried"),
    integer("NCCL_IB_MQP_RETRY_SLEEP_MSEC", 0, kLarge, Any, "milliseconds between these tries"),
    flag("NCCL_IB_WARN_RAIL_LOCAL", Any, "whether traffic that leaves its rail is logged"),
    flag("NCCL_IB_RESILIENCY_PORT_FAILOVER", Equal, "whether traffic moves off a failed port"),
    integer("NCCL_IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS", 1, kLarge, Fabric,
            "failover needs one attempt or more"),
    flag("NCCL_IB_RESILIENCY_PORT_RECOVERY", Fabric, "whether a failed port is taken back"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX", 1, kLarge, Fabric,
            "recovery needs one attempt or more"),

    // Code, and the settings of HPC-X's plugin.
    loads_code(empty_counts(path(
        "NCCL_IBVERBS_LIB", Node,
        "the verbs library that NCCL loads; empty stands for the program itself and breaks the transport"))),
    flag("NCCL_IBEXT_DISABLE", Equal, "read by HPC-X's plugin, not by NCCL: NCCL_IB_DISABLE for IBext"),
    flag("NCCL_IB_IS_GLOBAL", Fabric,
         "read by HPC-X's plugin, not by NCCL: always use a global route header"),

    // Partitions, rails and lost ports, newer than 2.29.
    integer("NCCL_IB_PKEY_VALUE", 1, 65535, Fabric,
            "the partition's key in decimal (0x8001 is 32769), looked up in each port's table without its "
            "bit 15; it wins over NCCL_IB_PKEY, and a port without the key fails the connection"),
    empty_counts(text(
        "NCCL_IB_RAIL_POLICY", Fabric,
        "CX9:ALT, CX9:BLOCK or CX9:FLIP: how the rails of ConnectX-9 are numbered; NCCL ignores other text")),
    flag("NCCL_IB_EVENT_BASED_LB", Fabric, "whether queue pairs share traffic by how fast they complete"),
    integer("NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY", 0, kLarge, Fabric,
            "milliseconds before a failed port is probed"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_START_DELAY", 0, kLarge, Fabric,
            "milliseconds before recovery of a port begins"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT", 0, kLarge, Fabric, "milliseconds"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL", 0, kLarge, Fabric,
            "milliseconds between batches"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE", 1, kLarge, Fabric,
            "a batch has one message or more"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE", 1, kLarge, Fabric,
            "a sequence has one batch or more"),
    integer("NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT", 0, kLarge, Fabric, "milliseconds"),

    // Sockets.
    list(ValueKind::InterfaceList, "NCCL_SOCKET_IFNAME", 16, Node,
         "the interface of bootstrap and sockets; NCCL ignores a value of one character, trims nothing, "
         "reads at most 16 entries, takes names by prefix unless the list starts with '=', and fails if none "
         "matches"),
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
    integer("NCCL_SOCKET_MAGIC", 1, kAny, Equal,
            "a number that all ranks of a job share; NCCL takes its default for bad text"),
    empty_counts(text("NCCL_COMM_ID", Equal,
                      "HOST:PORT, IPv4:PORT or [IPv6]:PORT; anything else, also empty, stops NCCL")),
    flag("NCCL_OOB_NET_ENABLE", Equal, "bootstrap over the network plugin instead of sockets"),
    list(ValueKind::HcaList, "NCCL_OOB_NET_IFNAME", 16, Node,
         "the plugin's devices for bootstrap; NCCL reads at most 16 entries and stops if none matches"),
    integer("NCCL_UID_STAGGER_THRESHOLD", 1, kLarge, Fabric,
            "number of ranks from which on connecting to the root is spread over time"),
    integer("NCCL_UID_STAGGER_RATE", 1, kLarge, Fabric,
            "connections per second while connecting to the root is spread"),

    // Choice of the network, and topology.
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
    flag("NCCL_NET_DISABLE_INTRA", Fabric, "whether the network is not used within a node"),
    flag("NCCL_NET_OPTIONAL_RECV_COMPLETION", Equal, "whether receives may go unannounced"),
    flag("NCCL_DMABUF_ENABLE", Node, "whether GPU memory is registered by DMA-BUF"),
    integer("NCCL_CROSS_NIC", 0, 2, Equal, "never, always, or where it helps; NCCL takes others as 0"),
    flag("NCCL_PXN_DISABLE", Equal, "whether sending through another GPU's NIC is off"),
    integer("NCCL_P2P_PXN_LEVEL", 0, 2, Equal, "never, where it helps, or always"),
    one_of("NCCL_P2P_LEVEL", kLevels, Fabric, "case counts: NCCL drops other text without saying so"),
    flag("NCCL_P2P_DISABLE", Fabric, "only 1 turns direct transfers between GPUs off"),
    flag("NCCL_IGNORE_NET_MISMATCH", Fabric, "0 fails when ranks see different numbers of networks"),
    flag("NCCL_IGNORE_COLLNET_MISMATCH", Fabric, "whether ranks may differ in collective offload"),

    // Between GPUs, and networks besides verbs.
    loads_code(empty_counts(
        text("NCCL_GIN_PLUGIN", Equal, "the plugins for GPU-initiated networking that NCCL loads"))),
    loads_code(empty_counts(
        text("NCCL_RMA_PLUGIN", Equal, "the plugins for one-sided communication that NCCL loads"))),
    flag("NCCL_RMA_EAGER_INIT", Equal, "whether one-sided communication is set up with the communicator"),
    flag("NCCL_PXN_C2C", Equal, "whether a GPU behind C2C and PCIe may send for another"),
    flag("NCCL_RUNTIME_CONNECT", Equal, "0: peers connect at initialisation, 1: when they are first needed"),
    flag("NCCL_SHM_DISABLE", Fabric, "only 1 turns transfers over shared memory off"),
    flag("NCCL_P2P_DIRECT_DISABLE", Fabric,
         "whether GPUs of one process may not access each other's buffers directly"),
    flag("NCCL_NVB_DISABLE", Fabric, "whether NVLink through another GPU is off"),
    integer("NCCL_MNNVL_ENABLE", 0, 2, Equal,
            "0: never; 1: always, else the initialisation fails; 2: where the system has it"),
    integer("NCCL_MNNVL_UUID", -1, kAny, Fabric,
            "both halves of the domain's UUID; -1 keeps the Fabric Manager's"),
    integer(
        "NCCL_MNNVL_CLIQUE_ID", -1, kLarge, Node,
        "ranks with different numbers are not in one NVLink domain; -1 keeps the Fabric Manager's number"),
    integer("NCCL_NVLS_ENABLE", 0, 2, Equal, "never, or where the system has it"),
    flag("NCCL_IPC_USE_ABSTRACT_SOCKET", Node,
         "0 for containers of one node that have network namespaces of their own"),
    flag("NCCL_SYM_GIN_KERNELS_ENABLE", Equal, "whether symmetric kernels use GPU-initiated networking"),
    flag("NCCL_MULTI_RANK_GPU_ENABLE", Equal, "whether ranks may share a GPU"),
    flag("NCCL_GDRCOPY_ENABLE", Node, "whether GDRCopy is used"),
    flag("NCCL_GDRCOPY_FIFO_ENABLE", Node, "whether the work queue is mapped by GDRCopy"),
    flag("NCCL_GDRCOPY_SYNC_ENABLE", Node, "whether the proxy synchronises through GDRCopy"),
    flag("NCCL_GDRCOPY_FLUSH_ENABLE", Node, "whether receives are flushed by GDRCopy"),

    // Tuning.
    integer("NCCL_P2P_NET_CHUNKSIZE", 1, kLarge, Equal, "bytes; a power of two is advised"),
    integer("NCCL_BUFFSIZE", 1, kLarge, Equal, "bytes per channel"),
    integer("NCCL_MIN_NCHANNELS", 1, 128, Equal, "NCCL has 64 channels, 32 before 2.25; RCCL has 128"),
    integer("NCCL_MAX_NCHANNELS", 1, 128, Equal, "NCCL has 64 channels, 32 before 2.25; RCCL has 128"),
    integer("NCCL_MIN_CTAS", 1, 64, Equal, "NCCL has 64 channels, 32 before 2.25"),
    integer("NCCL_MAX_CTAS", 1, 64, Equal, "NCCL has 64 channels, 32 before 2.25"),
    integer("NCCL_NCHANNELS_PER_NET_PEER", 1, kLarge, Equal, "channels to one peer; at least one"),
    empty_counts(word_list("NCCL_ALGO", kAlgorithms, Equal,
                           "from 2.24 on an unknown word stops NCCL; before 2.24 an empty list loses NVLS")),
    empty_counts(word_list("NCCL_PROTO", kProtocols, Equal, "from 2.24 on an unknown word stops NCCL")),
    flag("NCCL_COLLNET_ENABLE", Equal, "only 1 turns it on"),

    // Memory, kernels and launches.
    integer("NCCL_NTHREADS", 64, 512, Equal, "64, 128, 256 or 512 threads in a block"),
    integer("NCCL_CGA_CLUSTER_SIZE", 0, 8, Equal, "CUDA has clusters of at most eight blocks"),
    integer("NCCL_COLLNET_NODE_THRESHOLD", 0, kLarge, Equal,
            "number of nodes from which on collective offload is used"),
    integer("NCCL_P2P_LL_THRESHOLD", 0, kLarge, Equal, "bytes up to which sends use LL"),
    flag("NCCL_ALLOC_P2P_NET_LL_BUFFERS", Equal, "whether each connection has buffers for LL"),
    empty_counts(
        text("NCCL_CTA_POLICY", Equal,
             "DEFAULT, EFFICIENCY, ZERO, several with |, or 0 to 2; NCCL takes other text as DEFAULT")),
    flag("NCCL_COMM_BLOCKING", Any, "overrides what the program asks for: calls return at once with 0"),
    integer("NCCL_MEM_SYNC_DOMAIN", 0, 1, Any, "one of the two domains of CUDA"),
    integer("NCCL_CUMEM_ENABLE", -2, 1, Node, "CUDA's cuMem allocator: by itself (-2), never, or always"),
    integer("NCCL_CUMEM_HOST_ENABLE", -1, 1, Node, "the same for host memory, by itself at -1"),
    flag("NCCL_GRAPH_REGISTER", Equal, "whether buffers of CUDA graphs are registered"),
    flag("NCCL_LOCAL_REGISTER", Equal, "whether the program's own registrations count"),
    flag("NCCL_LEGACY_CUDA_REGISTER", Equal, "whether cudaMalloc's buffers are registered, which may hang"),
    flag("NCCL_WIN_ENABLE", Equal, "whether windows are registered"),
    flag("NCCL_GRAPH_MIXING_SUPPORT", Any, "whether graphs and other calls may be under way together"),
    flag("NCCL_GRAPH_STREAM_ORDERING", Any, "0 leaves the order of kernels in a graph to the program"),
    flag("NCCL_LAUNCH_ORDER_IMPLICIT", Any,
         "whether communicators of a device keep the order of the program"),
    flag("NCCL_LAUNCH_RACE_FATAL", Any, "whether threads that launch in a race are an error"),
    flag("NCCL_SET_STACK_SIZE", Any, "whether the largest stack is asked for at once"),
    flag("NCCL_IGNORE_CPU_AFFINITY", Any, "whether only the GPU's affinity counts"),
    ignoring_case(one_of("NCCL_LAUNCH_MODE", kLaunchModes, Any, "NCCL takes other text as PARALLEL")),

    // Files and logs.
    empty_counts(
        path("NCCL_TOPO_FILE", Node, "a topology to read; an empty name also hides the default file")),
    empty_counts(path("NCCL_TOPO_DUMP_FILE", Any, "a file that one rank writes")),
    empty_counts(path("NCCL_GRAPH_FILE", Fabric, "a channel search result to read")),
    empty_counts(text("NCCL_HOSTID", Node,
                      "has to differ on every node: NCCL takes nodes with equal values for one host")),
    loads_code(path("NCCL_CONF_FILE", Any,
                    "a file of variables, also those that name plugins; even a missing file hides "
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
    empty_counts(text("NCCL_DEBUG_LEVELS", Any, "levels that are logged besides those of NCCL_DEBUG")),
    ignoring_case(one_of("NCCL_CHECK_MODE", kCheckModes, Any, "NCCL takes other text as DEFAULT")),
    flag("NCCL_CHECK_POINTERS", Any, "the same as NCCL_CHECK_MODE=DEBUG_LOCAL from 2.29.7 on"),
    flag("NCCL_SET_THREAD_NAME", Any, "whether threads have names"),
    integer("NCCL_RAS_TIMEOUT_FACTOR", 1, kLarge, Fabric, "how many times as long the RAS service waits"),
};

}  // namespace catalogue

namespace {

constexpr bool before(const Variable& left, const Variable& right) {
  return left.name < right.name;
}

constexpr auto sorted_rows() {
  auto rows = std::to_array(catalogue::kRows);
  std::sort(rows.begin(), rows.end(), before);
  return rows;
}

constexpr auto kVariables = sorted_rows();
constexpr std::string_view kPrefix = "NCCL_";
static_assert(std::all_of(kVariables.begin(), kVariables.end(),
                          [](const Variable& row) { return row.name.starts_with(kPrefix); }));

constexpr std::size_t kLongestName = 63;     // NCCL up to 2.30.4 copies a list's names into 64 bytes
constexpr std::size_t kLongestValue = 1023;  // NCCL cuts the values of its configuration files there

constexpr std::string_view kNetworks[] = {"IB", "Socket"};

using Problem = std::optional<std::string>;

Problem name_problem(std::string_view name, std::string_view entry) {
  if (name.empty()) return "the list has an empty entry";
  if (name.size() > kLongestName) return "a name has more than 63 bytes, which NCCL has no room for";
  if (name.find_first_of("^=") != std::string_view::npos)
    return in_quotes(entry) + ": '^' and '=' stand once, in this order, before the whole list";
  if (!is_printable_ascii(name) || name.find(' ') != std::string_view::npos) {
    return in_quotes(entry) +
           " holds a blank or an unprintable character, which NCCL takes as part of the name";
  }
  return std::nullopt;
}

// Fields behind a device's name: PORT, RAIL, PLANE.
Problem suffix_problem(std::string_view rest, std::string_view entry) {
  struct Part {
    std::string_view name;
    std::int64_t min, max;
  };
  // Verbs ports are a byte from 1; rails 16 bits; NCCL keeps bit 14 of a plane for itself.
  constexpr Part kParts[] = {{"port", 1, 255}, {"rail", 0, 32767}, {"plane", 0, 16383}};
  bool more = true;
  for (const Part& part : kParts) {
    if (!more) return std::nullopt;
    const auto number = plain_decimal(cut_entry(rest, ':', more));
    if (number && *number >= part.min && *number <= part.max) continue;
    return in_quotes(entry) + ": the " + std::string(part.name) + " is not a number in " +
           std::to_string(part.min) + ".." + std::to_string(part.max);
  }
  if (more) return in_quotes(entry) + " has more parts than NAME:PORT:RAIL:PLANE";
  return std::nullopt;
}

Problem entry_problem(const Variable& variable, std::string_view entry) {
  bool has_suffix = false;
  std::string_view rest = entry;
  const std::string_view name = cut_entry(rest, ':', has_suffix);
  if (auto problem = name_problem(name, entry)) return problem;
  if (!has_suffix) return std::nullopt;
  if (variable.kind == ValueKind::InterfaceList) return in_quotes(entry) + ": an interface has no port";
  return suffix_problem(rest, entry);
}

// The entries of a list, without the prefixes.
Problem entries_problem(const Variable& variable, std::string_view entries) {
  if (variable.kind != ValueKind::HcaGroups && entries.find_first_not_of(',') == entries.npos)
    return "the list names nothing, which NCCL takes as if there were none";
  std::int64_t count = 0;
  for (bool more = true; more; ++count) {
    const std::string_view entry = cut_entry(entries, ',', more);
    if (entry.empty() && variable.kind != ValueKind::HcaGroups) {
      --count;  // NCCL passes over it
      continue;
    }
    if (auto problem = entry_problem(variable, entry)) return problem;
  }
  if (variable.max > 0 && count > variable.max)
    return std::to_string(count) + " entries, of which NCCL reads the first " + std::to_string(variable.max);
  return std::nullopt;
}

Problem list_problem(const Variable& variable, std::string_view value) {
  if (variable.kind == ValueKind::InterfaceList && value.size() < 2)
    return in_quotes(value) + " has one character: NCCL ignores it";
  if (value.starts_with('^')) value.remove_prefix(1);
  if (value.starts_with('=')) value.remove_prefix(1);
  return entries_problem(variable, value);
}

Problem groups_problem(const Variable& variable, std::string_view value) {
  for (bool more = true; more;) {
    const std::string_view group = cut_entry(value, ';', more);
    if (auto problem = entries_problem(variable, group)) return with_note(*problem, variable);
  }
  return std::nullopt;
}

// Says that a word is none of these, whatever its case.
Problem word_problem(std::string_view word, std::span<const std::string_view> words) {
  const auto same = [&](std::string_view one) { return equal_ignoring_case(word, one); };
  if (std::any_of(words.begin(), words.end(), same)) return std::nullopt;
  if (word.find(' ') != word.npos)
    return in_quotes(word) + " holds a blank, which NCCL takes as part of the name";
  const std::string_view meant = nearest(word, words);
  return in_quotes(word) + " is not one of " + join(words) +
         (meant.empty() ? "" : " (do you mean " + std::string(meant) + "?)");
}

// "Ring,Tree;AllReduce:^Ring": for all functions, then for one each (parseList, graph/tuning.cc).
Problem word_list_problem(const Variable& variable, std::string_view value) {
  const std::string_view whole = value;
  for (bool more = true, first = true; more; first = false) {
    std::string_view words = cut_entry(value, ';', more);
    if (const std::size_t colon = words.find(':'); colon != words.npos) {
      if (auto problem = word_problem(words.substr(0, colon), catalogue::kFunctions)) return problem;
      words.remove_prefix(colon + 1);
    } else if (!first) {
      return in_quotes(whole) + ": behind ';' a function has to stand, as in AllReduce:" + std::string(words);
    }
    if (words.starts_with('^')) words.remove_prefix(1);
    if (words.find_first_not_of(',') == words.npos) return in_quotes(whole) + " names nothing";
    for (bool another = true; another;) {
      const std::string_view word = cut_entry(words, ',', another);
      if (word.empty()) continue;  // NCCL passes over it
      if (auto problem = word_problem(word, variable.choices)) return with_note(*problem, variable);
    }
  }
  return std::nullopt;
}

Problem kind_problem(const Variable& variable, std::string_view value) {
  switch (variable.kind) {
    case ValueKind::HcaList:
    case ValueKind::InterfaceList:
      return list_problem(variable, value);
    case ValueKind::HcaGroups:
      return groups_problem(variable, value);
    case ValueKind::WordList:
      return word_list_problem(variable, value);
    default:
      return plain_kind_problem(variable, value, "NCCL");
  }
}

}  // namespace

std::string_view nccl_level_name(std::string_view text) {
  constexpr std::string_view kOldLevels[] = {"LOC", "PIX", "PXB", "PHB", "SYS", "SYS"};
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    const auto last = static_cast<std::int64_t>(std::size(kOldLevels)) - 1;
    return kOldLevels[std::clamp<std::int64_t>(nccl_integer(text).value_or(last), 0, last)];
  }
  const auto* const found = std::find(std::begin(catalogue::kLevels), std::end(catalogue::kLevels), text);
  return found == std::end(catalogue::kLevels) ? std::string_view() : *found;
}

bool is_nccl_level(const Variable& variable) {
  return variable.choices.data() == std::data(catalogue::kLevels);
}

const Variable* find_nccl_variable(std::string_view name) {
  if (!name.starts_with(kPrefix)) return nullptr;  // nearly every variable of a container
  const auto found =
      std::lower_bound(kVariables.begin(), kVariables.end(), name,
                       [](const Variable& row, std::string_view key) { return row.name < key; });
  return found != kVariables.end() && found->name == name ? &*found : nullptr;
}

std::span<const Variable> nccl_variables() {
  return kVariables;
}

bool turns_verbs_off(std::string_view name, std::string_view value) {
  if (name == variable::kIbDisable) return nccl_integer(value).value_or(0) != 0;
  return name == variable::kNet && equal_ignoring_case(value, "Socket");
}

std::optional<std::string> network_problem(std::string_view name) {
  const std::string_view meant = nearest(name, kNetworks);
  const bool known = equal_ignoring_case(name, meant) || equal_ignoring_case(name, "gIB");  // Google's plugin
  if (meant.empty() || known) return std::nullopt;
  return in_quotes(name) + " is not a network of NCCL's own: do you mean " + std::string(meant) + "?";
}

bool is_network_of_nccl(std::string_view name) {
  return equal_ignoring_case(name, "IB") || equal_ignoring_case(name, "Socket") || name.empty();
}

std::string nccl_meaning(const Variable& variable, std::string_view value) {
  // Taken where nothing is set. Sources: NCCL_PARAM of IbDisable, IbQpsPerConn, CrossNic and PxnDisable,
  // NCCL 2.32.3.
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kDefaults{{
      {variable::kIbDisable, 0},
      {"NCCL_IB_QPS_PER_CONNECTION", 1},
      {"NCCL_CROSS_NIC", 2},
      {"NCCL_PXN_DISABLE", 0},
  }};
  for (const auto& [name, by_default] : kDefaults) {
    if (variable.name == name && nccl_integer(value) == by_default) return {};
  }
  const bool words = variable.kind == ValueKind::WordList;
  if (!words && !variable.ignore_case) return std::string(value);
  std::string lower = lower_case(value);
  if (!words || lower.find_first_of("^:;") != lower.npos) return lower;
  std::vector<std::string> sorted;
  std::string_view rest = lower;
  for (bool more = true; more;) {
    if (const std::string_view word = cut_entry(rest, ',', more); !word.empty()) sorted.emplace_back(word);
  }
  std::sort(sorted.begin(), sorted.end());
  return join(sorted);
}

std::optional<std::string> nccl_value_problem(const Variable& variable, std::string_view value) {
  if (value.size() > kLongestValue) return "has more than 1023 bytes, where NCCL cuts the lines of its files";
  if (!is_printable_ascii(value)) return in_quotes(value) + " holds a character that is not printable ASCII";
  return kind_problem(variable, value);
}

}  // namespace nccl_env
