# SPDX-License-Identifier: Apache-2.0
"""Processes that ask NCCL for a unique id: what that needs neither GPU nor driver for."""
import ctypes
import ipaddress
import os
import re
import signal

SECONDS = 20  # a process takes a tenth of one
MOST_OUTPUT = 1 << 20


class Answer:
    """What one process learnt: NCCL's code, its log, and the interface and address that it offers to its peers."""

    def __init__(self, output):
        self.log = output
        found = re.search(r"^asked (\d+) ([0-9a-f]*)$", output, re.M)
        self.code = int(found[1]) if found else None
        named = re.search(r"Bootstrap ?: Using ([^:\s]+):", output)
        self.interface = named[1] if named else None
        self.address = address_in(bytes.fromhex(found[2])) if found and self.code == 0 else None

    def value_of(self, name):
        found = re.search(rf"{name} set by environment to (.*?)\.?$", self.log, re.M)
        return found[1] if found else None


def address_in(unique_id):
    """The id begins with eight bytes of magic; the address of the root follows."""
    family = int.from_bytes(unique_id[8:10], "little")
    if family == 2:
        return ipaddress.ip_address(unique_id[12:16])
    return ipaddress.ip_address(unique_id[16:32])


class Nccl:
    """The library, loaded once. Each question has a process of its own, because NCCL reads its environment once."""

    def __init__(self, path):
        self.nccl = ctypes.CDLL(str(path))

    def ask(self, env):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            signal.alarm(SECONDS)
            for name in [name for name in os.environ if name.startswith("NCCL_")]:
                del os.environ[name]
            os.environ.update(env)
            unique_id = ctypes.create_string_buffer(128)
            code = self.nccl.ncclGetUniqueId(unique_id)
            ctypes.CDLL(None).fflush(None)
            os.write(1, f"\nasked {code} {unique_id.raw.hex()}\n".encode())
            os._exit(0)
        os.close(writer)
        with open(reader, "rb") as stream:
            output = stream.read(MOST_OUTPUT)
        os.waitpid(child, 0)
        return Answer(output.decode(errors="replace"))
