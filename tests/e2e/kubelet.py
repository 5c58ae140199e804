# SPDX-License-Identifier: Apache-2.0
"""Plays the kubelet that starts a pod, as far as NCCL sees it: environment, /etc/nccl.conf, order of starts."""
import json
import re

from objects import resolve_env
from process import Failed

CONF, RCCL_CONF = "/etc/nccl.conf", "/etc/rccl.conf"


def containers(pod):
    """Init containers first, as they start."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def container(pod, name):
    return next(some for some in containers(pod) if some["name"] == name)


def arguments(some, **known):
    """Expands $(NAME) by the container's env, as the kubelet does; `known`: values from fields of the pod, by name."""
    env = {entry["name"]: entry["value"] for entry in some.get("env", []) if "value" in entry} | known
    return [re.sub(r"\$\((\w+)\)", lambda found: env.get(found[1], found[0]), argument) for argument in some["args"]]


def environment(pod, some, config_maps=None):
    """envFrom first, env over it."""
    env = {}
    for source in some.get("envFrom", []):
        values = (config_maps or {})[source["configMapRef"]["name"]]
        env.update({source.get("prefix", "") + key: value for key, value in values.items()})
    return {**env, **resolve_env(pod, some)}


def volume_file(pod, volume, path):
    """The text of a downward API volume's file: "" where the annotation is missing. None for a file of another volume."""
    for item in volume.get("downwardAPI", {}).get("items", []):
        if item["path"] == path:
            key = re.fullmatch(r"metadata\.annotations\['(.*)'\]", item["fieldRef"]["fieldPath"])[1]
            return pod["metadata"].get("annotations", {}).get(key, "")
    return None


def conf_mount(some):
    """The mount from which NCCL reads its file; RCCL has to read the same file if it is ours."""
    found = {path: [mount for mount in some.get("volumeMounts", []) if mount["mountPath"] == path]
             for path in (CONF, RCCL_CONF)}
    nccl, rccl = found[CONF], found[RCCL_CONF]
    if len(nccl) > 1 or len(rccl) > 1:
        raise Failed(f"{some['name']} has {len(nccl)} mounts at {CONF} and {len(rccl)} at {RCCL_CONF}")
    if nccl and nccl[0]["name"] == "nccl-env-conf" and rccl != [{**nccl[0], "mountPath": RCCL_CONF}]:
        raise Failed(f"{some['name']}: RCCL reads {rccl}, and NCCL {nccl}")
    return nccl[0] if nccl else None


def conf(pod, some, written=None):
    """The lines of /etc/nccl.conf as a container of ours sees it, None without one. `written`: what an init container
    has written into an emptyDir."""
    mount = conf_mount(some)
    if not mount:
        return None
    volume = next(entry for entry in pod["spec"]["volumes"] if entry["name"] == mount["name"])
    text = written if "emptyDir" in volume else volume_file(pod, volume, mount.get("subPath"))
    if text is None:
        raise Failed(f"{some['name']}: nothing fills {CONF}: {json.dumps(volume)}")
    return dict(line.split("=", 1) for line in text.splitlines())


def nccl_sees(pod, some, config_maps=None):
    """Names and values of NCCL_*: the environment, even an empty one, beats the file (setEnvFile, src/misc/param.cc)."""
    both = {**(conf(pod, some) or {}), **environment(pod, some, config_maps)}
    return {name: value for name, value in both.items() if name.startswith("NCCL_")}
