# SPDX-License-Identifier: Apache-2.0
"""A mutating hook that was built long ago: it reads a pod into the types of its time and writes it anew, so that fields it
does not know are gone (a patch of `replace`, as controllers make that marshal what they have read)."""
from hook import Hook

CONTAINER = ("name image command args workingDir ports envFrom env resources volumeMounts livenessProbe readinessProbe "
             "lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin tty").split()
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
VOLUMES = ("name", "hostPath", "emptyDir", "secret", "configMap", "downwardAPI", "projected", "persistentVolumeClaim")


def known(some, names):
    return {name: value for name, value in some.items() if name in names}


def entry_of(entry):
    entry = known(entry, ("name", "value", "valueFrom"))
    return {**entry, "valueFrom": known(entry["valueFrom"], SOURCES)} if "valueFrom" in entry else entry


def container_of(some):
    some = known(some, CONTAINER)
    return {**some, "env": [entry_of(entry) for entry in some["env"]]} if "env" in some else some


def rewritten(spec):
    for kind in ("initContainers", "containers"):
        if kind in spec:
            yield {"op": "replace", "path": f"/spec/{kind}", "value": [container_of(some) for some in spec[kind]]}
    if "volumes" in spec:
        yield {"op": "replace", "path": "/spec/volumes", "value": [known(some, VOLUMES) for some in spec["volumes"]]}


class OlderHook(Hook):
    def __init__(self, pki):
        super().__init__(pki, lambda some: rewritten(some["spec"]))

    def of(self, name, namespace):
        """Its configuration for the pods of a namespace."""
        return self.configuration(name, reinvocationPolicy="IfNeeded",
                                  namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": namespace}})
