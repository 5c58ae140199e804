# SPDX-License-Identifier: Apache-2.0
"""Which GID NCCL takes by itself: ncclIbGetGidIndex and ncclUpdateGidIndex (net_ib.cc, 2.21.5 and later), told anew
from their source as a second opinion beside src/core."""
import ipaddress

UNSET = ipaddress.ip_address("::")


def gid_index(rows, length, family=4, version="RoCEv2", subnet=None):
    """`rows`: index -> kernel.Row. `subnet`: NCCL_IB_ADDR_RANGE."""
    def gid(index):
        return ipaddress.ip_address(rows[index].gid) if index in rows else UNSET

    def family_of(index):
        return 4 if gid(index).ipv4_mapped else 6

    def version_of(index):
        return rows[index].type if index in rows else None  # the kernel refuses to tell: EINVAL

    def valid(index):
        return gid(index) != UNSET and not gid(index).is_link_local

    def in_range(index):
        address = gid(index).ipv4_mapped or gid(index)
        return subnet is None or address in ipaddress.ip_network(subnet)

    current = 0
    for index in range(1, length):
        if family_of(index) != family or not in_range(index):
            continue
        if family_of(current) != family:
            current = index
        elif valid(index) and version_of(index) == version and (version_of(current) != version or not valid(current)):
            current = index
    return current
