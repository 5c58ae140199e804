# SPDX-License-Identifier: Apache-2.0
"""Half of the rails go down, then all, then they come back: by the carrier and by the link. Neither the webhook nor
`resolve` ever names the management NIC instead, and in the end they name what they named before. By a policy that names
the fabric, and by inference."""
import json
import pathlib

import compare
import decision
from kernel import need

IMAGE = "stock"
RAILS = (1, 2)
LIST = "=mlx5_1,mlx5_2"
FLAP_MINUTES, LONG_MINUTES = 5, 20  # a port counts as down after ten
STATES = {"well": ("true", ()),
          "half down": ("ip link set rail1 carrier off", (1,)),
          "all down": ("ip link set rail2 down", RAILS),
          "back": ("ip link set rail1 carrier on; ip link set rail2 up", ())}
NAMED = {"fabric": {"hcas": ["mlx5_[12]"]}}
INFERRED = {}


def are_down(down):
    def right(observed):
        states = {port["hca"]: port["state"] for port in observed["ports"]}
        return states == {f"mlx5_{number}": "Down" if number in down else "Active" for number in (0, *RAILS)}
    return right


def guest():
    import guest as lab
    from published import Published
    lab.sh("hostname lab")  # names the table that `show` prints
    lab.sh("ip netns add pod; ip -n pod link set lo up")
    for number, netdev in enumerate(("mgmt", *(f"rail{rail}" for rail in RAILS))):
        lab.sh(f"ip link add {netdev} type dummy")
        lab.up(netdev, f"10.{number}.0.5/24")
        lab.rxe(f"mlx5_{number}", netdev)
        if number:  # the pod has a network on each rail, and sees all devices
            lab.sh(f"ip link add link {netdev} name new netns pod type macvlan mode bridge && ip -n pod link set new "
                   f"name net{number} up && ip -n pod addr add 10.{number}.0.9/24 dev net{number}")
    lab.sh("ip route add default via 10.0.0.1 dev mgmt")
    lab.settle()
    lab.wait_for(lambda: not lab.sh("ip -n pod -6 addr show tentative"))
    run = Published("run")
    for state, (command, down) in STATES.items():
        run.act(state, command, None if state == "well" else are_down(down))
        resolve_in(lab, f"{state}.pod", (), ("ip", "netns", "exec", "pod", *lab.AS_NOBODY))
        resolve_in(lab, f"{state}.host", ("--host-network",), lab.AS_NOBODY)
        table = pathlib.Path("/tmp/seen.json")
        table.write_text(decision.as_hardware(lab.agent(f"{state}.seen", "show", "-o", "json").stdout))
        resolve_in(lab, f"{state}.inferred", ("--host-network", "--table", str(table)), lab.AS_NOBODY)
    run.stop()


def resolve_in(lab, name, options, wrapper):
    spec = INFERRED if "--table" in options else NAMED
    lab.resolve(name, decision.policy(spec), wrapper, options)


def hcas(rails):
    return "=" + ",".join(f"mlx5_{rail}" for rail in rails)


def check_webhook(state, table, programs):
    _, down = STATES[state]
    since = [decision.moment(port["stateSince"]) for port in decision.ports(table).values() if port["state"] == "Down"]
    need(len(since) == len(down), f"{state}: ports without stateSince: {table}")
    for way, spec in (("named", NAMED), ("inferred", INFERRED)):
        written = decision.as_hardware(table) if way == "inferred" else table
        what = f"{state}, {way}"
        now = decision.moment(compare.parsed(table)["time"])
        soon, long = (min(since), max(since)) if since else (now, now)
        if state != "all down":  # a row whose interface is down, and not only without carrier, is of no use at once
            decided = decision.Decision(programs, spec, written, decision.later(soon, minutes=FLAP_MINUTES))
            given = decision.values(decided.pod())
            need(given.get("NCCL_IB_HCA") == LIST, f"{what}: the webhook gives {given} in a flap, not {LIST}")
        decided = decision.Decision(programs, spec, written, decision.later(long, minutes=LONG_MINUTES))
        pod = decided.pod()
        given, reasons = decision.values(pod), decision.reasons(pod)
        need("mlx5_0" not in json.dumps(pod), f"{what}: the management NIC is in {pod}")
        left = [rail for rail in RAILS if rail not in down]
        if left:
            need(given.get("NCCL_IB_HCA") == hcas(left), f"{what}: the webhook gives {given}, not {hcas(left)}")
            need("NCCL_IB_GID_INDEX" in given, f"{what}: no index: {reasons}")
            continue
        need(not given and reasons.get("NCCL_IB_HCA") == "NoFabricPort", f"{what}: given {given}, omitted {reasons}")
        sentence = decided.explained(pod_without_values(pod))["NCCL_IB_HCA"]
        need(sentence.startswith("NoFabricPort: ") and f"is down: {LIST[1:]}" in sentence, f"{what}: {sentence}")


def pod_without_values(pod):
    return {**pod, "metadata": {"name": "train", "namespace": "ml"},
            "spec": {**pod["spec"], "containers": [{**pod["spec"]["containers"][0], "env": []}]}}


def check_resolver(state, place, results):
    _, down = STATES[state]
    name = f"{state}.{place}"
    said = results[f"{name}.out"] + results[f"{name}.err"]
    conf = dict(line.split("=", 1) for line in results[f"{name}.conf"].splitlines())
    need("mlx5_0" not in results[f"{name}.conf"], f"{name}: the management NIC is in {conf}")
    left = [rail for rail in RAILS if rail not in down]
    if down and place == "inferred":  # one look does not tell what kind of port one is that it sees down
        need(not conf and "AmbiguousFabric" in said and "of which none has been up" in said, f"{name}: {conf}\n{said}")
    elif left:
        need(conf.get("NCCL_IB_HCA") == hcas(left), f"{name}: {conf}\n{said}")
        well = results[f"well.{place}.conf"]
        need(down or results[f"{name}.conf"] == well, f"{name}: {conf}, and before {well}")
    else:
        need(not conf and "NoFabricPort" in said and f"is down: {LIST[1:]}" in said, f"{name}: {conf}\n{said}")


def check(results, programs):
    run = json.loads(results["run.json"])
    need(run["code"] == 0, f"the agent ended with {run['code']}\n{results['run.err']}")
    for state in STATES:
        check_webhook(state, decision.table_after(run, state), programs)
        for place in ("pod", "host", "inferred"):
            check_resolver(state, place, results)
    return f"{len(STATES)} states, {len(run['writes'])} writes"
