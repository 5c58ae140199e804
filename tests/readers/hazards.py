# SPDX-License-Identifier: Apache-2.0
"""The ways in which a container was worse off with us than without, where each shows, and what is still known to be."""
from dataclasses import dataclass
from fnmatch import fnmatchcase

ONCE, TODAY = ("references", "references, -1"), ("File", "EnvFile")


def any_of(patterns, text):
    return any(fnmatchcase(text, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Hazard:
    number: int
    sentence: str
    readers: tuple
    images: str = "*"
    states: str = "*"
    harms: tuple = ("?*",)
    once: str = "references"

    def holds(self, key):
        _, state, image, reader = key
        return any_of(self.readers, reader) and fnmatchcase(image, self.images) and fnmatchcase(state, self.states)

    def shows(self, key, what):
        return self.holds(key) and any_of(self.harms, what)


INTERFACES = ("NCCL *", "NVSHMEM *'s bootstrap *")
COPIES = ("NVSHMEM ?.?.? by *", "entrypoint: first HCA")
HAZARDS = (
    Hazard(1, "what an image says is hidden by an empty variable", INTERFACES, "image's *"),
    Hazard(2, "an empty index is row 0", ("Mooncake", "NVSHMEM ?.?.? by *", "NCCLX's index"), "plain", harms=("link-local *",)),
    Hazard(3, "the = of a list is copied", COPIES, "plain", "values*", harms=("lost *", "fails *")),
    Hazard(4, "a copied list ends the choice by distance", ("PyTorch, NICs by distance*",), "plain", "values*"),
    Hazard(5, "a driver's values reach other nodes", ("worker *",), "plain"),
    Hazard(6, "an entrypoint's default is not taken", ("entrypoint: setdefault",), "plain"),
    Hazard(7, "-1 is no index for UCX", ("UCX *",), "plain", once="references, -1"),
    Hazard(8, "one index for devices beyond the list", ("Mooncake, all devices*",), "plain"),
    Hazard(9, "our index beats MC_GID_INDEX", ("Mooncake TENT*",), "user's MC_GID_INDEX"),
    Hazard(10, "a device is put in front of our list", ("vLLM's choice",), "VLLM_*"),
    Hazard(11, "an empty constant is 0", ("NCCLX",), "plain"),
)


@dataclass(frozen=True)
class Known:
    """Worse with us, and said so in the docs. Anything else that is worse by File or EnvFile is an error, and so is an
    entry that no longer shows."""
    sentence: str
    carrier: str
    readers: tuple
    images: str = "*"
    states: str = "*"
    unless: str = ""  # a variable of the process that ends it
    shown: bool = True  # somewhere, or the entry is out of date
    harms: tuple = ("?*",)

    def holds(self, key, what, process):
        carrier, state, image, reader = key
        lines = "\n".join(process.files.values())
        given = self.unless and (self.unless in process.env or f"{self.unless}=" in lines)
        return (not given and any_of(self.harms, what) and fnmatchcase(carrier, self.carrier) and fnmatchcase(image, self.images)
                and fnmatchcase(state, self.states) and any_of(self.readers, reader))


KNOWN = (
    Known("File hides an image's nccl.conf (ImageConfHidden)", "File", INTERFACES, "image's nccl.conf",
          unless="NCCL_CONF_FILE"),
    Known("NCCL older than nccl.minVersion reads no NCCL_CONF_FILE", "File", ("NCCL 2.21.5",), "image's nccl.conf",
          shown=False),
    Known("the file's list has its =, which PyTorch copies once NCCL has started", "File",
          ("NVSHMEM ?.?.? by PyTorch, after NCCL",), states="values*", unless="NVSHMEM_HCA_LIST"),
    Known("beside a longer name the list needs its =", "EnvFile", ("NVSHMEM ?.?.? by *", "entrypoint: first HCA"),
          states="values, beside a longer name"),
    Known("PyTorch copies the list over a user's NVSHMEM_HCA_PE_MAPPING", "*File", ("NVSHMEM ?.?.? by *", "worker *"),
          "user's NVSHMEM_HCA_PE_MAPPING", unless="NVSHMEM_HCA_LIST"),
    Known("a list in env ends the choice by distance", "*File", ("PyTorch, NICs by distance*",), states="*",
          unless="NVSHMEM_HCA_LIST"),
    Known("a pinned index holds for all of Mooncake's devices", "*File", ("Mooncake, all devices*",)),
    Known("launchers copy what a driver has in env", "EnvFile", ("worker *",)),
)


def table(found, known):
    """Lines: in how many of its cases each hazard shows, by carrier. `known`: keys that a Known holds for."""
    lines = [f"{'':4}{'':52}{'once':>10}" + "".join(f"{carrier:>10}" for carrier in TODAY)]
    for hazard in HAZARDS:
        cells = []
        for carrier in (hazard.once, *TODAY):
            keys = [key for key in found if key[0] == carrier and hazard.holds(key)]
            shown = [key for key in keys if hazard.shows(key, found[key][0])]
            mark = "*" if any(key in known for key in shown) else ""
            cells.append(f"{len(shown)}/{len(keys)}{mark}")
        lines.append(f"{hazard.number:>2}  {hazard.sentence:<52}" + "".join(f"{cell:>10}" for cell in cells))
    return lines


def wrong(found, processes):
    """What contradicts this page, as sentences, and the keys of what is known."""
    told, known, seen = [], set(), set()
    for key, (what, alone, ours) in found.items():
        if not what or not key[0].endswith("File"):
            continue
        entries = [entry for entry in KNOWN if entry.holds(key, what, processes[key[:3]])]
        seen.update(entries)
        known.update([key] if entries else [])
        if not entries:
            told.append(f"{' | '.join(key)}: {what}: {alone} without us, {ours} with us")
    told += [f"no longer so: {entry.sentence}" for entry in KNOWN if entry.shown and entry not in seen]
    for hazard in HAZARDS:
        if not any(key[0] == hazard.once and hazard.shows(key, what) for key, (what, _, _) in found.items()):
            told.append(f"hazard {hazard.number}, {hazard.sentence}: does not show in its old form")
    return told, known
