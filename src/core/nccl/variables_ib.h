// SPDX-License-Identifier: Apache-2.0
// The catalogue's rows for the InfiniBand and RoCE transport.
#pragma once

#include "nccl/variables_rows.h"

namespace nccl_env::catalogue {

inline constexpr Variable kIbRows[] = {
    // Which devices and addresses.
    list(ValueKind::HcaList, "NCCL_IB_HCA", 32, Node,
         "NCCL trims nothing, reads at most 32 entries and takes names by prefix unless the list starts with "
         "'='"),
    integer("NCCL_IB_GID_INDEX", -1, 255, Node,
            "one index for every HCA of a process; 2.21 keeps eight bits of it, and a negative one (choose "
            "by itself) stops NCCL up to 2.20"),
    one_of("NCCL_IB_ADDR_FAMILY", kFamilies, Fabric, "case counts: NCCL takes any other text as AF_INET"),
    of_kind(ValueKind::Cidr, "NCCL_IB_ADDR_RANGE", Node,
            "exactly one ADDRESS/PREFIX: NCCL 2.21 and 2.22 crash without the '/', and of a list only the "
            "first counts"),
    integer("NCCL_IB_ROCE_VERSION_NUM", 1, 2, Fabric,
            "RoCE has versions 1 and 2; with another number no row fits and NCCL falls to index 0"),
    integer("NCCL_IB_ROUTABLE_FLID_GID_INDEX", 0, 255, Fabric,
            "a row of the port's GID table; a negative one makes the query fail (InfiniBand only)"),
    integer("NCCL_IB_PKEY", 0, 65535, Fabric, "an index into the port's table, not the key itself (0x8001)"),
    flag("NCCL_IB_MERGE_NICS", Fabric, "whether the ports of one card may act as one device"),
    flag("NCCL_IB_MERGE_VFS", Node, "whether virtual functions of one card count as one PCI device"),
    integer("NCCL_IB_DATA_DIRECT", 0, 2, Node, "three modes; the log then names devices NAME_dma"),
    flag("NCCL_IB_DEVICE_PCI_ORDER", Equal, "1: devices in PCI order, 0: as the verbs library lists them"),
    flag("NCCL_IB_QUERY_PORT_SPEED", Node, "whether the driver is asked for the port's speed"),
    integer("NCCL_IB_DISABLE", 0, kLarge, Equal, "0 keeps the transport, everything else turns it off"),

    // What a queue pair gets.
    integer("NCCL_IB_TIMEOUT", 1, 31, Any,
            "4.096 us times two to this power in a field of five bits: 0 waits for ever, mlx5 turns 32 into "
            "0 and 33 into 8 microseconds"),
    integer(
        "NCCL_IB_RETRY_CNT", 0, 7, Any,
        "the queue pair's field has three bits: mlx5 turns 8 into 0 and 10 into 2, less than the default 7"),
    integer("NCCL_IB_SL", 0, 15, Fabric, "a service level has four bits; RoCE uses 0..7 as the priority"),
    integer("NCCL_IB_TC", 0, 255, Fabric,
            "one byte: four times the DSCP value that the switches expect; NCCL keeps eight bits"),
    integer("NCCL_IB_FIFO_TC", 0, 255, Fabric, "one byte, as NCCL_IB_TC, for control messages"),
    integer("NCCL_GIN_IB_TC", 0, 255, Fabric, "one byte, as NCCL_IB_TC, for GPU-initiated traffic"),
    integer("NCCL_IB_QPS_PER_CONNECTION", 1, 128, Equal,
            "NCCL has room for 128 queue pairs and checks nothing: more overruns it, 0 divides by zero; "
            "merged devices share the 128"),
    flag("NCCL_IB_SPLIT_DATA_ON_QPS", Equal, "0: messages take turns on the queue pairs, 1: each is split"),
    integer("NCCL_IB_AR_THRESHOLD", 0, kLarge, Any, "bytes from which adaptive routing is used"),
    flag("NCCL_IB_ADAPTIVE_ROUTING", Any, "unset means 1 on InfiniBand and 0 on RoCE"),
    integer("NCCL_IB_PCI_RELAXED_ORDERING", 0, 2, Node, "off, on, or on where possible; NCCL treats 1 as 2"),
    flag("NCCL_IB_USE_INLINE", Any, "whether small messages travel inside the work request"),
    flag("NCCL_IB_ECE_ENABLE", Any, "whether enhanced connection establishment is used"),
    flag("NCCL_IB_OOO_RQ", Equal, "receive out of order; the connection fails if one side lacks it"),
    flag("NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", Fabric, "whether receives are posted ahead"),
    flag("NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", Equal, "how the receiver matches; both sides the same"),
    flag("NCCL_IB_SUBNET_AWARE_ROUTING", Fabric, "RoCE over several subnets: take the device on the peer's"),
    integer("NCCL_IB_SUBNET_PREFIX_LEN", 1, 32, Fabric, "the length of an IPv4 prefix; NCCL refuses others"),

    // What happens on errors.
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
};

}  // namespace nccl_env::catalogue
