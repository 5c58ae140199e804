# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that are told theirs. The kernel gives outgoing connections any port of its range, also one that was
free a moment ago; so these lie below that range."""
import pathlib
import random
import socket

LOWEST = 10000
HIGHEST = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]) - 1


def free_ports(count):
    """Ports that nobody has, held together while they are chosen."""
    candidates = random.SystemRandom().sample(range(LOWEST, HIGHEST + 1), 1000 + count)
    probes, ports = [], []
    try:
        while len(ports) < count:
            probes.append(socket.socket())
            try:
                probes[-1].bind(("127.0.0.1", candidates.pop()))
            except OSError:
                continue
            ports.append(probes[-1].getsockname()[1])
        return ports
    finally:
        for probe in probes:
            probe.close()


def free_port():
    return free_ports(1)[0]
