# SPDX-License-Identifier: Apache-2.0
"""Programs that read NCCL's variables, unmodified, each question in a process of its own."""
import ctypes
import os
import re
import subprocess
import sys

from process import SECONDS, code_in, fresh, in_child, say


class Taken:
    """What a reader ended up with: its code (0: it works), devices with their GID row, and its words."""

    def __init__(self, log, kept):
        self.log = log
        self.code = code_in(log)
        rows = dict(re.findall(r"^verbs: gid (\S+) (\d+)$", log, re.M))
        self.rows = {name: int(rows[name]) for name in kept} if self.code == 0 else {}


class Verbs:
    """Makes the stand-in the process's libibverbs: whoever asks for libibverbs.so.1 later finds it loaded."""

    def __init__(self, path):
        self.loaded = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


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
        log = in_child({**fresh(), "NVSHMEM_DEBUG": "INFO", "NVSHMEM_DISABLE_GDRCOPY": "1",
                        "NVSHMEM_DISABLE_DATA_DIRECT": "1", **env}, init)
        names = dict(re.findall(r"Enumerated IB devices in the system - device id=(\d+) .*name=(\w+)", log))
        kept = re.findall(r"Ordered list of devices for assignment - .*device id=(\d+)", log)
        return Taken(log, [names[number] for number in kept])


class NvshmemBootstrap:
    """The interface of NVSHMEM's bootstrap by unique id: its grammar is NCCL's, its variable its own."""

    def __init__(self, path):
        self.find = ctypes.CDLL(str(path))["_Z18ncclFindInterfacesPcP17ncclSocketAddressiiS_S_S_"]

    def ask(self, env):
        def find():
            names, value = ctypes.create_string_buffer(16), env.get("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME")
            found = self.find(names, ctypes.create_string_buffer(64), 16, 1, value and value.encode(), None, None)
            say(f"asked {0 if found == 1 else 1}")
            say(f"interface {names.value.decode()}")
        taken = Taken(in_child({**fresh(), **env}, find), ())
        taken.interface = re.search(r"^interface (.*)$", taken.log, re.M)[1]
        return taken


class Mooncake:
    """Mooncake's transfer engine, as far as it registers its devices. It reads its environment when it is loaded, and takes
    `device_name` by argument."""

    def __init__(self, folder):
        self.folder = str(folder)

    def ask(self, env):
        device_name = env.get("device_name", "")
        def init():
            sys.path.insert(0, self.folder)
            from mooncake.engine import TransferEngine  # pylint: disable=import-error,import-outside-toplevel
            engine = TransferEngine()
            say(f"asked {engine.initialize('127.0.0.1:17812', 'P2PHANDSHAKE', 'rdma', device_name)}")
            os._exit(0)  # its end takes seconds
        log = in_child({**fresh(), **env}, init)
        return Taken(log, re.findall(r"^verbs: domain (\S+) ", log, re.M))


class Command:
    """A script of an image; its code, and the GID index that it prints as `index N`."""

    def __init__(self, reads, *command):
        self.reads = reads
        self.command = command

    def ask(self, env):
        ended = subprocess.run(self.command, env={**fresh(), **env}, capture_output=True, text=True, check=False,
                               timeout=SECONDS)
        taken = Taken(f"{ended.stdout}{ended.stderr}\nasked {ended.returncode}\n", ())
        index = re.search(r"^index (.*)$", ended.stdout, re.M)
        taken.index = index[1] if index else None
        return taken
