# SPDX-License-Identifier: Apache-2.0
"""An address leaves its GID index, comes back at another, and later at the first again. The table says since when and
how often, but is never written for that alone. The webhook pins no index that moved within a day. `doctor` names the
ports. `explain` tells that the index of a pod bound before is gone, as long as the node does not have that index."""
import json

import compare
import decision
from kernel import need

IMAGE = "stock"
HCAS = ("rxe1", "rxe2")
OWN, OTHER = "10.{}.0.5", "10.{}.0.6"
SPEC = {"fabric": {"hcas": ["rxe*"]}}
# The step that both rails take, and which of the two addresses they have then.
STEPS = {"well": ("true", (OWN,)),
         "own goes": ("ip addr del 10.{}.0.5/24 dev rail{}", ()),
         "other comes": ("ip addr add 10.{}.0.6/24 dev rail{}", (OTHER,)),
         "own comes": ("ip addr add 10.{}.0.5/24 dev rail{}", (OWN, OTHER)),
         "other goes": ("ip addr del 10.{}.0.6/24 dev rail{}", (OWN,)),
         "own goes again": ("ip addr del 10.{}.0.5/24 dev rail{}", ()),
         "own is home": ("ip addr add 10.{}.0.5/24 dev rail{}", (OWN,))}
# Number of times that an address of a port had left its index after each step.
CHANGES = {"well": 0, "own goes": 1, "other comes": 1, "own comes": 1, "other goes": 2, "own goes again": 3,
           "own is home": 3}
HISTORY = {"indexSince", "gidIndexChanges", "gidRowsGone", "stateSince", "maxRateGbps", "time"}


def have(addresses):
    def right(observed):
        return all({row["address"] for row in port["gids"] if row.get("address", "fe80").startswith("10.")} ==
                   {address.format(port["hca"][-1]) for address in addresses} for port in observed["ports"])
    return right


def guest():
    import guest as lab
    from published import Published
    for number, hca in enumerate(HCAS, 1):
        lab.sh(f"ip link add rail{number} type dummy")
        # The second address of a subnet outlives the first.
        lab.sh(f"echo 1 > /proc/sys/net/ipv4/conf/rail{number}/promote_secondaries")
        lab.up(f"rail{number}", OWN.format(number) + "/24")
        lab.rxe(hca, f"rail{number}")
    lab.settle()
    run = Published("run")
    for name, (command, addresses) in STEPS.items():
        run.act(name, "; ".join(command.format(number, number) for number in (1, 2)),
                None if name == "well" else have(addresses))
    run.stop()


def without_history(value):
    if isinstance(value, dict):
        return {key: without_history(entry) for key, entry in value.items() if key not in HISTORY}
    return [without_history(entry) for entry in value] if isinstance(value, list) else value


def row_of_own(port):
    return next(row for row in port["gids"] if row.get("address") == OWN.format(port["hca"][-1]))


def check_history(tables):
    """Checks what the agent remembers, and that it reports no move that it did not see."""
    for name, table in tables.items():
        for hca, port in decision.ports(table).items():
            need(port.get("gidIndexChanges") == CHANGES[name], f"{name}: {hca}: {port.get('gidIndexChanges')} changes")
    first, moved, home = ({hca: row_of_own(port) for hca, port in decision.ports(tables[name]).items()}
                          for name in ("well", "other goes", "own is home"))
    for hca in HCAS:
        need(first[hca]["index"] == home[hca]["index"] != moved[hca]["index"], f"{hca}: {first}, {moved}, {home}")
        need("indexSince" not in first[hca], f"{hca}: had another index before the first look: {first[hca]}")
        need(moved[hca]["indexSince"] <= home[hca]["indexSince"], f"{hca}: {moved[hca]}, then {home[hca]}")
    return first["rxe1"]["index"], moved["rxe1"]["index"]


def warnings(decided):
    answer = json.loads(decided.ask("doctor", decided.path / "table.yaml", "--policy", decided.path / "policy.yaml",
                                    "-o", "json"))
    return [port for found in answer["findings"] if found["code"] == "GidIndexMoved" for port in found["subject"]["parts"]]


def check(results, programs):
    run = json.loads(results["run.json"])
    need(run["code"] == 0, f"the agent ended with {run['code']}\n{results['run.err']}")
    writes = [compare.parsed(write["text"]) for write in run["writes"]]
    for before, after in zip(writes, writes[1:]):
        need(without_history(before) != without_history(after), f"a write for history alone: {before}, then {after}")
    tables = {name: decision.as_hardware(decision.table_after(run, name)) for name in STEPS}
    index, moved = check_history(tables)

    pod = decision.Decision(programs, SPEC, tables["well"], decision.later(decision.moment(writes[0]["time"]))).pod()
    need(decision.values(pod).get("NCCL_IB_GID_INDEX") == str(index), f"pinned before: {decision.values(pod)}")

    for name, at in (("other goes", moved), ("own is home", index)):
        since = max(decision.moment(row_of_own(port)["indexSince"]) for port in decision.ports(tables[name]).values())
        soon = decision.Decision(programs, SPEC, tables[name], decision.later(since, minutes=1))
        fresh = soon.pod()
        given, reasons = decision.values(fresh), decision.reasons(fresh)
        need(given.get("NCCL_IB_HCA") == "=rxe1,rxe2" and "NCCL_IB_GID_INDEX" not in given and
             reasons.get("NCCL_IB_GID_INDEX") == "GidUnstable", f"{name}: given {given}, omitted {reasons}")
        # As imported by hand: a table without a time is never stale.
        timeless = "".join(line for line in tables[name].splitlines(True) if not line.startswith("  time:"))
        given = decision.values(decision.Decision(programs, SPEC, timeless, decision.later(since, hours=25)).pod())
        need(given.get("NCCL_IB_GID_INDEX") == str(at), f"{name}: a day later {given}, and not {at}")
        said = soon.ask("explain", "pod", "-f", soon.write("pod.json.txt", pod), "--table", soon.path / "table.yaml",
                        "--policy", soon.path / "policy.yaml")
        need(len(warnings(soon)) == len(HCAS), f"{name}: doctor does not warn of both ports: {warnings(soon)}")
        need((f"GID index {index} is gone" in said) == (at != index), f"{name}: explain: {said}")
    need("\nnccl_env_agent_gid_index_moved 2\n" in run["metrics"], "the metric does not count both rails")
    return f"index {index} to {moved} and back, {len(writes)} writes for {len(STEPS) - 1} changes of two rails"
