# SPDX-License-Identifier: Apache-2.0
"""Network interfaces and an /etc of our own, in namespaces that end with the process."""
import json
import os
import pathlib
import subprocess
import sys

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--kill-child", "--fork"]


def enter(arguments):
    """Runs this program anew in namespaces of its own, and ends with its code."""
    ended = subprocess.run([*UNSHARE, sys.executable, "-B", *arguments], check=False)
    if ended.returncode != 0 and subprocess.run([*UNSHARE, "true"], check=False).returncode != 0:
        print("oracle: needs namespaces of users, mounts and networks (unshare), which this machine refuses",
              file=sys.stderr)
    sys.exit(ended.returncode)


def run(*command):
    subprocess.run(command, check=True)


def own(place, old, left_out=()):
    """Makes `place` a folder in which files can be written, with what was there, now at `old`, as links."""
    old.mkdir()
    run("mount", "--rbind", place, old)
    run("mount", "-t", "tmpfs", "tmpfs", place)
    for name in os.listdir(old):
        if name not in left_out:
            os.symlink(old / name, pathlib.Path(place) / name)


def own_etc(folder):
    home = folder / "home"
    home.mkdir()
    own("/etc", folder / "etc", ("nccl.conf", "passwd"))
    pathlib.Path("/etc/passwd").write_text(f"root:x:0:0::{home}:/bin/sh\n")  # NCCL up to 2.29 asks it for ~
    os.environ["HOME"] = str(home)
    return home


def lay_out(interfaces):
    """Removes what an earlier layout made and makes these, in this order: NAME -> addresses; None for lo: it is down.

    A name with a '!' behind it is up without a carrier.
    """
    for link in json.loads(subprocess.check_output(["ip", "-j", "link"])):
        if link["ifname"] != "lo" and link.get("link"):
            subprocess.run(["ip", "link", "delete", link["ifname"]], check=False, stderr=subprocess.DEVNULL)
    batch = ["link set lo up" if interfaces.get("lo", True) else "link set lo down"]
    for number, (entry, addresses) in enumerate(interfaces.items()):
        name = entry.rstrip("!")
        if name == "lo":
            continue
        batch.append(f"link add {name} type veth peer name peer{number}")
        batch += [f"link set {end} addrgenmode none" for end in (name, f"peer{number}")]
        batch += [f"address add {address} dev {name}" + (" nodad" if ":" in address else "") for address in addresses]
        batch.append(f"link set {name} up")
        if not entry.endswith("!"):
            batch.append(f"link set peer{number} up")
    subprocess.run(["ip", "-batch", "-"], input="\n".join(batch), text=True, check=True)


def table():
    """Returns the interfaces as a NodeFabric, read of the kernel by a way of its own."""
    interfaces = []
    for link in json.loads(subprocess.check_output(["ip", "-j", "address"])):
        interfaces.append({"name": link["ifname"], "mtu": link["mtu"], "up": "LOWER_UP" in link["flags"],
                           "addresses": [f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"]]})
    return {"apiVersion": "nccl-env.io/v1alpha1", "kind": "NodeFabric", "metadata": {"name": "here"},
            "observed": {"ports": [], "interfaces": interfaces}}
