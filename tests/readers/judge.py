# SPDX-License-Identifier: Apache-2.0
"""Asks each reader what it makes of a process with us and without us, and says what is worse."""
import pathlib
import sys
from dataclasses import dataclass

import containers
import devices
import readers
import rules
import vectors
import wheels

# As KServe's LLMInferenceService copies the index to UCX (KSERVE_INFER_ROCE), which parses it.
KSERVE = ('if [ -n "$NCCL_IB_GID_INDEX" ]; then export UCX_IB_GID_INDEX=${UCX_IB_GID_INDEX:-$NCCL_IB_GID_INDEX}; fi\n'
          "found=$(ucx_info -c | sed -n 's/^UCX_IB_GID_INDEX=//p')\n"
          'echo "index $found"; [ -n "$found" ] && [ "$found" != inf ]')
# As entrypoints look for the first device of the list.
PROBER = 'first=${NCCL_IB_HCA%%,*}; first=${first%%:*}; [ -z "$first" ] || [ -e "/sys/class/infiniband/$first" ]'
# As trainers set a default of their own, and extensions read a number.
DEFAULTS = ('import os; os.environ.setdefault("NCCL_IB_GID_INDEX", "3"); os.environ.setdefault("NCCL_SOCKET_IFNAME", "eth0")\n'
            'print("index", int(os.environ["NCCL_IB_GID_INDEX"])); assert os.environ["NCCL_SOCKET_IFNAME"]')

COMMANDS = {
    "UCX by KServe": readers.Command(("NCCL_IB_GID_INDEX",), "sh", "-c", KSERVE),
    "entrypoint: first HCA": readers.Command(("NCCL_IB_HCA",), "sh", "-c", PROBER),
    "entrypoint: setdefault": readers.Command(("NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME"), sys.executable, "-ISc",
                                              DEFAULTS),
}
NEWEST = f"NCCL {wheels.NEWEST}"
NODE_INTERFACE = "eth0"
IFNAME = "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"
LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,BOOTSTRAP"}

IMAGES = {
    "plain": containers.Image(),
    "image's ENV": containers.Image(env=(("NCCL_SOCKET_IFNAME", "lo"),)),
    "image's nccl.conf": containers.Image(conf="NCCL_SOCKET_IFNAME=lo\n"),
    "user's NVSHMEM_HCA_PE_MAPPING": containers.Image(pod=(
        ("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1"), ("NVSHMEM_HCA_PE_MAPPING", "mlx5_1:1:1"))),
    "user's MC_GID_INDEX": containers.Image(pod=(("MC_GID_INDEX", "3"),)),
    "VLLM_NIC_SELECTION_VARS": containers.Image(pod=(("VLLM_NIC_SELECTION_VARS", "NCCL_IB_HCA"),)),
}


def of_nccl(env):
    return {name: value for name, value in env.items() if name.startswith("NCCL_")}


def of_nvshmem(env):
    return {name: value for name, value in env.items()
            if name.startswith("NVSHMEM_") and name != IFNAME}


class Ended:
    """What a reader ended up with. `rows`: device -> GID row; `choice`: whatever else it chose."""

    def __init__(self, code, rows=None, choice=None):
        self.code = code
        self.rows = rows or {}
        self.choice = choice

    def __str__(self):
        if self.code:
            return f"fails ({self.code})"
        rows = " ".join(f"{name}@{row}" for name, row in sorted(self.rows.items()))
        return " ".join(part for part in (rows, str(self.choice) if self.choice is not None else "") if part) or "well"


def worse(node, image, alone, ours):
    """What is worse with us; "" for nothing. Right devices are those that the user names, else the node's fabric."""
    if alone.code or None in (alone.code, ours.code):
        return ""  # it did not work without us, or nothing is known
    if ours.code:
        return f"fails ({ours.code})"
    own = dict(image.pod).get("NVSHMEM_HCA_PE_MAPPING")
    right = {own.split(":")[0]} & set(alone.rows) if own else set(devices.fabric_of(node))
    lost = right & set(alone.rows) - set(ours.rows)
    if lost:
        return "lost " + " ".join(sorted(lost))
    strange = set(ours.rows) - right - set(alone.rows)
    if strange:
        return "took " + " ".join(sorted(strange))
    local = [name for name, row in ours.rows.items() if devices.is_link_local(node, name, row)
             and not devices.is_link_local(node, name, alone.rows.get(name, row))]
    if local:
        return "link-local row on " + " ".join(sorted(local))
    if ours.choice in (alone.choice, NODE_INTERFACE):
        return ""
    return f"{ours.choice} in place of {alone.choice}"


@dataclass
class Case:
    node: str
    process: containers.Process
    driver: containers.Process  # of the same job, on a node with one port


class Judge:
    def __init__(self, cluster, tree, libraries):
        self.cluster = cluster
        self.tree = tree
        self.libraries = libraries  # name -> reader
        self.known = {}
        self.runs = 0

    def ask(self, reader, node, env, files=None):
        """Remembers answers: many processes have the same environment."""
        key = (reader, node, tuple(sorted(env.items())), tuple(sorted((files or {}).items())))
        if key not in self.known:
            self.runs += 1
            self.tree.show(node)
            for path, text in (files or {}).items():
                pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(path).write_text(text)
            self.known[key] = self.answer(self.libraries[reader], env, node)
            for path in files or {}:
                pathlib.Path(path).unlink()
        return self.known[key]

    @staticmethod
    def answer(reader, env, node):
        return reader.ask(env, node) if isinstance(reader, vectors.Recorded) else reader.ask(env)

    def after_nccl(self, case):
        """The environment once NCCL has started: each line of its file stands in it."""
        return {**case.process.env, **of_nccl(self.nccl(NEWEST, case).env), **of_nvshmem(self.nccl(NEWEST, case).env)}

    def nccl(self, name, case):
        """NCCL looks at no device here."""
        return self.ask(name, "rails", {**LOG, **of_nccl(case.process.env)}, case.process.files)

    def readers(self):
        """Name -> what it ends up with in a case. A reader that copies may do so before NCCL has started or afterwards."""
        known = {name: self.bootstrap(name) for name in self.libraries if name.startswith("NCCL ")}
        for when, env in (("", lambda case: case.process.env), (", after NCCL", self.after_nccl)):
            for name in self.libraries:
                if name.endswith("'s bootstrap"):
                    known[f"{name} by PyTorch{when}"] = self.interface(name, env)
                elif name.startswith("NVSHMEM "):
                    known[f"{name} by PyTorch{when}"] = self.nvshmem(name, env)
            known[f"PyTorch, NICs by distance{when}"] = lambda case, env=env: Ended(
                0, choice=rules.torch(env(case)).get("NVSHMEM_ENABLE_NIC_PE_MAPPING") != "1")
            known[f"Mooncake{when}"] = self.mooncake(env)
            known[f"Mooncake, all devices{when}"] = self.mooncake(env, all_devices=True)
            known[f"Mooncake TENT{when}"] = self.tent(env)
        for name in COMMANDS:
            known[name] = self.command(name)
        known["NCCLX"] = lambda case: Ended(0, choice=rules.ncclx(case.process.env, "NCCL_IB_TIMEOUT", 20))
        known["NCCLX's index"] = lambda case: self.indexed(
            case, str(rules.ncclx(case.process.env, "NCCL_IB_GID_INDEX", -1)))
        known["vLLM's choice"] = self.vllm
        known["worker of a Ray driver"] = self.worker
        return known

    def bootstrap(self, name):
        def ended(case):
            taken = self.nccl(name, case)
            return Ended(taken.code, choice=taken.interface)
        return ended

    def nvshmem(self, name, env):
        def ended(case):
            copied = rules.torch(env(case))
            taken = self.ask(name, case.node, of_nvshmem(copied))
            return Ended(taken.code, taken.rows)
        return ended

    def interface(self, name, env):
        def ended(case):
            value = rules.torch(env(case)).get(IFNAME)
            taken = self.ask(name, "rails", {} if value is None else {IFNAME: value})
            return Ended(taken.code, choice=taken.interface)
        return ended

    def mooncake(self, env, all_devices=False):
        def ended(case):
            read = {n: v for n, v in env(case).items() if n in ("NCCL_IB_GID_INDEX", "MC_GID_INDEX")}
            taken = self.ask("Mooncake 0.3.13.post1", case.node, read)
            return Ended(taken.code, choice=len(taken.rows)) if all_devices else Ended(taken.code, taken.rows)
        return ended

    def tent(self, env):
        def ended(case):
            index = rules.tent(env(case))
            users = "MC_GID_INDEX" in case.process.env
            return Ended(0, choice=index) if users else self.indexed(case, index)
        return ended

    @staticmethod
    def indexed(case, index):
        """A reader that takes this row of each device; one below 0, or a word, is a search, which finds the right one."""
        fabric = devices.fabric_of(case.node)
        return Ended(0, {name: int(index) if index.isdigit() else device.row for name, device in fabric.items()})

    def command(self, name):
        def ended(case):
            read = {n: v for n, v in case.process.env.items() if n in COMMANDS[name].reads}
            taken = self.ask(name, case.node, read)
            return Ended(taken.code) if taken.code or taken.index is None else self.indexed(case, taken.index)
        return ended

    @staticmethod
    def vllm(case):
        env = rules.vllm(case.process.env)
        if "VLLM_NIC_SELECTION_VARS" not in env:
            return Ended(0)
        names = rules.exact_names(env["NCCL_IB_HCA"], devices.fabric_of(case.node))
        return Ended(0, choice=" ".join(sorted(names)))

    def worker(self, case):
        env = rules.torch(rules.launched(case.driver.env, case.process.env))
        taken = self.ask("NVSHMEM 3.2.5", case.node, of_nvshmem(env))
        return Ended(taken.code, taken.rows)
