# SPDX-License-Identifier: Apache-2.0
"""Programs that read NCCL's variables, unmodified, each question in a process of its own."""
import ctypes
import os
import re
import signal
import subprocess
import sys

SECONDS = 20
MOST_OUTPUT = 4 << 20
FRESH = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"}


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
            os.environ.update({**FRESH, **env})
            function()
            ctypes.CDLL(None).fflush(None)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        output = stream.read(MOST_OUTPUT)
    os.waitpid(child, 0)
    return output.decode(errors="replace")


def say(text):
    os.write(1, f"\n{text}\n".encode())


class Taken:
    """What a reader ended up with: its code (0: it works), devices with their GID row, and its words."""

    def __init__(self, log, kept):
        self.log = log
        found = re.search(r"^asked (-?\d+)$", log, re.M)
        self.code = int(found[1]) if found else None
        rows = dict(re.findall(r"^verbs: gid (\S+) (\d+)$", log, re.M))
        self.rows = {name: int(rows[name]) for name in kept} if self.code == 0 else {}


class Verbs:
    """Makes the stand-in the process's libibverbs: whoever asks for libibverbs.so.1 later finds it loaded."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


class Nvshmem:
    """NVSHMEM's transport of proxied RDMA, as far as its init: devices, rows, queue pairs for nobody."""

    def __init__(self, path, interface):
        self.transport = ctypes.CDLL(str(path))
        self.interface = interface
        none = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)
        self.none = none
        self.table = (ctypes.c_void_p * 512)(*[ctypes.cast(none, ctypes.c_void_p).value] * 512)

    def ask(self, env):
        def init():
            transport = ctypes.c_void_p()
            say(f"asked {self.transport.nvshmemt_init(ctypes.byref(transport), self.table, self.interface)}")
        log = in_child({"NVSHMEM_DEBUG": "INFO", "NVSHMEM_DISABLE_GDRCOPY": "1", "NVSHMEM_DISABLE_DATA_DIRECT": "1",
                        **env}, init)
        names = dict(re.findall(r"Enumerated IB devices in the system - device id=(\d+) .*name=(\w+)", log))
        kept = re.findall(r"Ordered list of devices for assignment - .*device id=(\d+)", log)
        return Taken(log, [names[number] for number in kept])


class Mooncake:
    """Mooncake's transfer engine, as far as it registers its devices. It reads its environment when it is loaded."""

    def __init__(self, folder):
        self.folder = str(folder)

    def ask(self, env):
        def init():
            sys.path.insert(0, self.folder)
            from mooncake.engine import TransferEngine  # pylint: disable=import-error,import-outside-toplevel
            engine = TransferEngine()
            say(f"asked {engine.initialize('127.0.0.1:17812', 'P2PHANDSHAKE', 'rdma', '')}")
            os._exit(0)  # its end takes seconds
        log = in_child(env, init)
        return Taken(log, re.findall(r"^verbs: domain (\S+) ", log, re.M))


class Nccl:
    """NCCL's unique id: the interface that it offers, and the environment that the process has afterwards."""

    def __init__(self, path):
        self.nccl = ctypes.CDLL(str(path))

    def ask(self, env):
        def init():
            say(f"asked {self.nccl.ncclGetUniqueId(ctypes.create_string_buffer(128))}")
            ctypes.CDLL(None).fflush(None)
            variables = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
            number = 0
            while variables[number]:
                say("has " + variables[number].decode())
                number += 1
        log = in_child({"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,BOOTSTRAP", **env}, init)
        taken = Taken(log, ())
        named = re.search(r"Bootstrap ?: Using ([^:\s]+):", log)
        taken.interface = named[1] if named else None
        has = dict(line.split("=", 1) for line in re.findall(r"^has (.*)$", log, re.M))
        taken.env = {name: value for name, value in has.items()
                     if name not in ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS") and (name not in FRESH or name in env)}
        return taken


class Command:
    """A script of an image; its code, and the GID index that it prints as `index N`."""

    def __init__(self, reads, *command):
        self.reads = reads
        self.command = command

    def ask(self, env):
        ended = subprocess.run(self.command, env={**FRESH, **env}, capture_output=True, text=True, check=False,
                               timeout=SECONDS)
        taken = Taken(f"{ended.stdout}{ended.stderr}\nasked {ended.returncode}\n", ())
        index = re.search(r"^index (.*)$", ended.stdout, re.M)
        taken.index = index[1] if index else None
        return taken
