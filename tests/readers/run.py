# SPDX-License-Identifier: Apache-2.0
"""Asks readers of NCCL's variables what they end up with, in containers without us and with us, by each carrier.

    tests/readers/run.py BIN        BIN holds nccl-env, nccl-env-agent and nccl-env-webhook
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))
# pylint: disable=wrong-import-position
import containers  # noqa: E402
import devices  # noqa: E402
import engines  # noqa: E402
import hazards  # noqa: E402
import judge  # noqa: E402
import process  # noqa: E402
import readers  # noqa: E402
import vectors  # noqa: E402
import wheels  # noqa: E402
import world  # noqa: E402

# Name: project, SHA-256 of the wheel for x86_64 as PyPI names it, the members that are needed.
PARTS = ("*/nvshmem_transport_ibrc.so.*", "*/nvshmem_bootstrap_uid.so.*")
WHEELS = {
    "NVSHMEM 3.2.5": ("nvidia-nvshmem-cu11", "b37f13c8c0fed85ba46cff9aba17e65dacac286dd0066ac21f438491c06cb160", PARTS),
    "NVSHMEM 3.8.0": ("nvidia-nvshmem-cu13", "81a4d1f666543e6d34df6d2ff940c7da1435e34e186aab6f3c2b48861b64ef38", PARTS),
    "Mooncake 0.3.13.post1": (
        "mooncake-transfer-engine-non-cuda", "ca9f668a04ffe648b250fda28b97d0a7da149cb110dec5cf3d166a9e68afc940",
        ("mooncake/engine.so", "mooncake/lib*.so", "*.libs/*")),
    "UCX 1.22.0": ("libucx-cu12", "5cbbef0c140a0a158ae3486089af659b38822b2234cd3dc90ba40a5e6553402a",
                   ("*/bin/ucx_info", "*/lib/lib*.so.0", "*/lib/ucx/*.so.0", "*.libs/*")),
}
TOO_LARGE = ("NVSHMEM 3.8.0", "UCX 1.22.0")  # 182 and 41 MB


def fetched():
    """Name -> the folder of its files, None for what its vectors stand in for."""
    found = {}
    for name, (project, digest, members) in WHEELS.items():
        kind, version = name.split()
        try:
            small = vectors.RECORDS or name not in TOO_LARGE
            found[name] = str(wheels.unpacked(kind.lower(), project, version, digest, *members)) if small else None
        except (subprocess.SubprocessError, OSError) as failure:
            print(f"readers: {name} cannot be had, its recorded answers count: {failure}", flush=True)
            found[name] = None
    return found


def opened(name, folder):
    """The reader, None without its files. Mooncake's wheel is for Python 3.11."""
    if folder is None or (name.startswith("Mooncake") and sys.version_info[:2] != (3, 11)):
        return None
    if name.startswith("Mooncake"):
        return readers.Mooncake(folder)
    if name.startswith("UCX"):
        return engines.Ucx(folder)
    transport, = pathlib.Path(folder).rglob("*ibrc*")
    return readers.Nvshmem(transport, int(transport.suffix[1:]) * 10000)


def compile_verbs(folder):
    path = folder / "libibverbs.so.1"
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libibverbs.so.1", "-o",
                    path, HERE / "verbs.c"], check=True)
    return path


def results(decide):
    """(carrier, state, image, reader) -> what is worse, without us, with us; and the processes by the first three."""
    found, processes = {}, {}
    asked = decide.readers()
    for carrier in (*containers.ONCE, *containers.CARRIERS):
        for state_name, state in containers.STATES.items():
            for image_name, image in judge.IMAGES.items():
                alone = containers.without_us(image)
                ours = decide.cluster.with_us(carrier, state_name, image)
                driver = decide.cluster.with_us(carrier, "values, one port", image)
                processes[carrier, state_name, image_name] = ours
                for reader, ask in asked.items():
                    before = ask(judge.Case(state.devices, alone, alone))
                    after = ask(judge.Case(state.devices, ours, driver))
                    found[carrier, state_name, image_name, reader] = (
                        judge.worse(state.devices, image, before, after), before, after)
    return found, processes


def report(found, processes, others, runs):
    wrong, known = hazards.wrong(found, processes)
    wrong += containers.contradictions(processes) + others
    print("\n".join(hazards.table(found, known)))
    print("in how many cases a reader is worse off than without us; *: known")
    for sentence in wrong[:20]:
        print(sentence)
    print(f"readers: {len(found)} cases compared, {len(engines.questions())} questions about engines' own variables, {runs} processes asked, {len(wrong)} unexpected")
    return 1 if wrong else 0


def inside(binaries, folder, folders):
    known = vectors.Vectors()
    verbs = compile_verbs(folder)
    libraries = {f"NCCL {version}": process.Nccl(wheels.libnccl(version)) for version in wheels.WHEELS}
    world.own_etc(folder)
    world.own("/dev", folder / "dev", ("infiniband",))
    tree = devices.Sys(folder / "sys")
    world.lay_out({"eth1": ["10.2.2.2/24"], "eth0": ["10.1.1.2/24"]})
    readers.Verbs(verbs)
    for name, place in folders.items():
        libraries[name] = known.of(name, opened(name, place))
        if name.startswith("NVSHMEM") and place:
            bootstrap, = pathlib.Path(place).rglob("*bootstrap_uid*")
            libraries[f"{name}'s bootstrap"] = readers.NvshmemBootstrap(bootstrap)
    libraries.update(judge.COMMANDS)
    torch = engines.Torch.is_here()
    libraries["UCX"] = engines.Ucx()
    for kind, name in (("gloo", "Gloo of PyTorch 1.13.1"), ("rpc", "TensorPipe of PyTorch 1.13.1")):
        libraries[name] = known.of(name, engines.Torch(kind) if torch else None)
    agent = binaries / "nccl-env-agent"
    containers.fill_store(folder / "store", agent, tree.roots)
    with containers.Webhook(binaries / "nccl-env-webhook", folder / "store", folder) as webhook:
        decide = judge.Judge(containers.Cluster(webhook, agent, folder, tree.roots), tree, libraries)
        found, processes = results(decide)
        wrong = engines.wrong(decide.ask) + engines.delivered_wrongly(decide.cluster)
        wrong += engines.given_wrongly(binaries / "nccl-env", tree, folder)
    if vectors.RECORDS:
        known.write()
    return report(found, processes, wrong + known.missing, decide.runs)


def main(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]), json.loads(arguments[3]))
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    for version in wheels.WHEELS:
        wheels.libnccl(version)
    folders = json.dumps(fetched())
    with tempfile.TemporaryDirectory() as folder:
        return world.enter([__file__, "--inside", str(pathlib.Path(arguments[0]).resolve()), folder, folders])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
