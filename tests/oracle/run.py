# SPDX-License-Identifier: Apache-2.0
"""Compares what nccl-env says about NCCL with what NCCL does: unmodified libraries, asked without a GPU.

    tests/oracle/run.py BIN        BIN holds nccl-env
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import cases
import process
import wheels
import world

HERE = pathlib.Path(__file__).resolve().parent
CATALOGUE = HERE.parent.parent / "docs" / "reference" / "variables.md"
LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,BOOTSTRAP"}


class Oracle:
    def __init__(self, program):
        self.program = program
        self.checked = 0
        self.wrong = []

    def hold(self, right, what):
        self.checked += 1
        if not right:
            self.wrong.append(what)

    def select(self, table, version, env):
        """Returns what `nccl-env nodes` says that NCCL takes with this table and environment."""
        options = [part for name, value in env.items() for part in ("--env", f"{name}={value}")]
        name = json.loads(table.read_text())["metadata"]["name"]
        ended = subprocess.run([self.program, "nodes", name, table, "--nccl-version", version, "-o", "json", *options],
                               capture_output=True, text=True, check=False)
        if ended.returncode not in (0, 1, 3):  # the doctor found something; the table has no port
            raise SystemExit(f"oracle: nccl-env nodes: {ended.stderr}")
        return json.loads(ended.stdout)["ncclAlone"]

    def compare(self, what, table, version, env, answer):
        """Bootstrap takes the first interface that it names; without any, NCCL fails as select says."""
        said = self.select(table, version, env)
        expected = said["interfaces"][0] if said["interfaces"] else None
        self.hold(answer.interface == expected,
                  f"NCCL {version}, {what}, {env}: takes {answer.interface}, nccl-env says {expected}\n{answer.log}")
        if expected is None:
            notes = " ".join(said["notes"])
            code = {"ncclInternalError": 3, "ncclInvalidUsage": 5}[re.search(r"nccl(?:Internal|Invalid)\w+", notes)[0]]
            self.hold(answer.code == code, f"NCCL {version}, {what}, {env}: code {answer.code}, nccl-env says {code}")
            return
        of_it = [a.split("/")[0] for i in json.loads(table.read_text())["observed"]["interfaces"]
                 if i["name"] == expected for a in i["addresses"]]
        self.hold(str(answer.address) in of_it,
                  f"NCCL {version}, {what}, {env}: its id has {answer.address}, {expected} has {of_it}")


def check_interfaces(oracle, libraries, folder):
    table = folder / "table.json"
    for what, layout in cases.LAYOUTS.items():
        world.lay_out(layout)
        table.write_text(json.dumps(world.table()))
        for version, nccl in libraries.items():
            for env in cases.ENVIRONMENTS:
                oracle.compare(what, table, version, env, nccl.ask({**LOG, **env}))


def check_files(oracle, libraries, folder, home):
    """Files of variables: the effective ones, by the rules of docs/internals/nccl-rules.md, decide as if they were the env."""
    world.lay_out(cases.THREE)
    table = folder / "table.json"
    table.write_text(json.dumps(world.table()))
    places = {"etc": pathlib.Path("/etc/nccl.conf"), "home": home / ".nccl.conf", "named": folder / "named.conf"}
    for case in cases.FILES:
        for place, path in places.items():
            path.unlink(missing_ok=True)
            if place in case:
                path.write_text(case[place])
        env = dict(case.get("env", {}))
        if "named" in case or case.get("absent"):
            env["NCCL_CONF_FILE"] = str(places["named"])
        for version, nccl in libraries.items():
            wanted = case["then"] if isinstance(case["then"], str) else case["then"][version]
            answer = nccl.ask({**LOG, **env})
            effective = {"NCCL_SOCKET_IFNAME": wanted} if wanted else {}
            oracle.compare(f"files {case}", table, version, effective, answer)
    for path in places.values():
        path.unlink(missing_ok=True)


def check_explain(oracle, libraries, folder):
    """What explain says of a pod with hostNetwork is what a process with these variables does, by env and by file."""
    world.lay_out(cases.THREE)
    table = folder / "table.json"
    table.write_text(json.dumps(world.table()))
    policy, pod = folder / "policy.json", folder / "pod.json"
    pod.write_text(json.dumps(cases.POD))
    for literal in ("=eth1", "eth2,eth1", "^lo,eth0"):
        policy.write_text(json.dumps(cases.policy(literal)))
        for version, nccl in libraries.items():
            told = json.loads(subprocess.run(  # 1: it finds fault with what the pod gets
                [oracle.program, "explain", "--policy", policy, "--table", table, "-f", pod, "--nccl-version",
                 version, "-o", "json"], stdout=subprocess.PIPE, check=False).stdout)
            etc = pathlib.Path("/etc/nccl.conf")
            etc.write_text(cases.line(literal))
            answers = {"ncclWithUs by file": nccl.ask(LOG)}
            etc.unlink()
            answers["ncclWithUs by env"] = nccl.ask({**LOG, "NCCL_SOCKET_IFNAME": literal})
            answers["ncclAlone"] = nccl.ask(LOG)
            for what, answer in answers.items():
                said = told[what.split()[0]]["interfaces"][:1]
                oracle.hold(said == [answer.interface],
                            f"NCCL {version}, {literal}, {what}: takes {answer.interface}, explain says {said}")


def check_log(oracle, libraries, folder):
    """The library's own lines are read: of the values that a pod was given, verify says which are used."""
    world.lay_out(cases.THREE)
    given, log = folder / "given.json", folder / "log"
    given.write_text(json.dumps(cases.GIVEN))
    for version, nccl in libraries.items():
        for value, verdict in (("=eth1", "used"), ("=eth2", "overridden")):
            log.write_text(nccl.ask({**LOG, "NCCL_SOCKET_IFNAME": value}).log)
            ended = subprocess.run([oracle.program, "verify", "-f", given, "-o", "json", log], capture_output=True,
                                   text=True, check=False)
            verdicts = [v["verdict"] for v in json.loads(ended.stdout)["values"]] if ended.stdout else ended.stderr
            oracle.hold(verdicts == [verdict], f"NCCL {version}, given =eth1, has {value}: verify says {verdicts}")


def left_out():
    """Lines of left_out.txt: names behind a reason, which begins with #."""
    names = {}
    reason = None
    for line in (HERE / "left_out.txt").read_text().splitlines():
        if line.startswith("#"):
            reason = line
        elif line and reason:
            names.update(dict.fromkeys(line.split(), reason))
    return names


def check_names(oracle, paths):
    """Every name that a library looks up is in the catalogue, or left out for a reason; no reason outlives its name."""
    constants = {version: wheels.texts(path) for version, path in paths.items()}
    known = set(re.findall(r"^\| `(NCCL_\w+)`", CATALOGUE.read_text(), re.M))
    names = set().union(*(wheels.variable_names(text) for text in constants.values()))
    reasons = left_out()
    for name in sorted(names):
        oracle.hold(name in known or name in reasons, f"{name}: neither in the catalogue nor in left_out.txt")
    for name in sorted(reasons):
        oracle.hold(name in names and name not in known, f"{name}: stands in left_out.txt, and should not")
    newest = constants[wheels.NEWEST]
    for line in cases.LINES:
        oracle.hold(line.encode() in newest, f"NCCL {wheels.NEWEST} has no text {line!r}, which verify looks for")
    return len(names)


def inside(program, folder):
    paths = {version: wheels.libnccl(version) for version in wheels.WHEELS}  # the cache is in the user's home
    home = world.own_etc(folder)
    libraries = {version: process.Nccl(path) for version, path in paths.items()}
    oracle = Oracle(program)
    check_interfaces(oracle, libraries, folder)
    check_files(oracle, libraries, folder, home)
    check_explain(oracle, libraries, folder)
    check_log(oracle, libraries, folder)
    names = check_names(oracle, paths)
    for sentence in oracle.wrong[:20]:
        print(sentence)
    print(f"oracle: {oracle.checked} answers of NCCL {' and '.join(wheels.WHEELS)} and {names} names compared, "
          f"{len(oracle.wrong)} differ")
    return 1 if oracle.wrong else 0


def main(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    for version in wheels.WHEELS:
        wheels.libnccl(version)
    with tempfile.TemporaryDirectory() as folder:
        return world.enter([__file__, "--inside", str(pathlib.Path(arguments[0]).resolve() / "nccl-env"), folder])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
