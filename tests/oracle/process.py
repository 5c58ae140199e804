# SPDX-License-Identifier: Apache-2.0
"""Processes that ask a library one question, NCCL for a unique id: what that needs neither GPU nor driver for."""
import ctypes
import ipaddress
import os
import re
import signal

SECONDS = 20  # a process takes a tenth of one
MOST_OUTPUT = 4 << 20


def in_child(env, function):
    """Calls the function in a process that has this environment and no other; returns what it wrote."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            signal.alarm(SECONDS)
            os.environ.clear()
            os.environ.update(env)
            function()
            ctypes.CDLL(None).fflush(None)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        output = stream.read(MOST_OUTPUT)
    os.waitpid(child, 0)
    return output.decode(errors="replace")


def fresh():
    """An environment without a variable of any engine."""
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}


def say(text):
    """Writes a line that stands alone, whatever the library has in its buffers."""
    ctypes.CDLL(None).fflush(None)
    os.write(1, f"\n{text}\n".encode())


def code_in(log):
    found = re.search(r"^asked (-?\d+)", log, re.M)
    return int(found[1]) if found else None


class Answer:
    """What one process learnt: NCCL's code, its log, the interface and address that it offers to its peers, and the
    environment that the process has afterwards."""

    def __init__(self, output):
        self.log = output
        self.code = code_in(output)
        named = re.search(r"Bootstrap ?: Using ([^:\s]+):", output)
        self.interface = named[1] if named else None
        found = re.search(r"^asked 0 ([0-9a-f]*)$", output, re.M)
        self.address = address_in(bytes.fromhex(found[1])) if found else None
        self.env = dict(line.split("=", 1) for line in re.findall(r"^has (.*)$", output, re.M))

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
        def get():
            unique_id = ctypes.create_string_buffer(128)
            say(f"asked {self.nccl.ncclGetUniqueId(unique_id)} {unique_id.raw.hex()}")
            variables = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
            number = 0
            while variables[number]:
                say("has " + variables[number].decode())
                number += 1
        return Answer(in_child({**fresh(), **env}, get))
