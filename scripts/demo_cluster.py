# SPDX-License-Identifier: Apache-2.0
"""The parts of a cluster that scripts/demo plays: the API server's calls, Binding, and a container's env."""
import base64
import copy
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

START_SECONDS = 60  # after that it counts as hanging; an early end is seen at once
STOP_SECONDS = 5
RESOLVER_IMAGE = "registry.example/nccl-env-agent@sha256:" + 64 * "a"  # nobody pulls it


class Unexpected(Exception):
    """Something that a cluster would trip over, or that a case does not expect."""


def apply_patch(document, operations):
    """RFC 6902, the operations that a webhook needs; like the API server, fails where one does not apply."""
    document = copy.deepcopy(document)
    for operation in operations:
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")[1:]]
        parent = document
        for token in tokens[:-1]:
            parent = parent[int(token) if isinstance(parent, list) else token]
        last = tokens[-1]
        verb = operation["op"]
        if verb not in ("add", "remove", "replace", "test"):
            raise Unexpected(f"patch operation {verb}")
        if isinstance(parent, list):
            at = len(parent) if last == "-" else int(last)
            if verb == "add" and at <= len(parent):
                parent.insert(at, operation["value"])
                continue
            last = at
        elif verb == "add":
            parent[last] = operation["value"]
            continue
        old = parent[last]  # raises where there is nothing
        if verb == "remove":
            del parent[last]
        elif verb == "replace":
            parent[last] = operation["value"]
        elif old != operation["value"]:
            raise Unexpected(f"patch test of {operation['path']}")
    return document


def expand(text, known):
    """$(NAME) as the kubelet expands it: names set before; others stay as they are; $$ is $."""
    def replaced(match):
        if match[0] == "$$":
            return "$"
        return known.get(match[1], match[0])
    return re.sub(r"\$\$|\$\(([^)]*)\)", replaced, text)


def resolve_env(pod, container, written=None):
    """A container's environment by the kubelet's rules: a fieldRef to a missing annotation or label is "", a fileKeyRef
    to a key that is not in the file, `written`, sets nothing."""
    env = {}
    for entry in container.get("env", []):
        if "fileKeyRef" in entry.get("valueFrom", {}):
            key = entry["valueFrom"]["fileKeyRef"]["key"]
            if key in (written or {}):
                env[entry["name"]] = written[key]
        elif "valueFrom" in entry:
            path = entry["valueFrom"]["fieldRef"]["fieldPath"]
            field, key = re.fullmatch(r"metadata\.(annotations|labels)\['(.*)'\]", path).groups()
            env[entry["name"]] = pod["metadata"].get(field, {}).get(key, "")
        else:
            env[entry["name"]] = expand(entry.get("value", ""), env)
    return env


def volume_text(pod, volume, path, written=None):
    """A file of a volume: what the Binding brought, "" where that is missing, or what an init container has `written`."""
    for item in volume.get("downwardAPI", {}).get("items", []):
        if item["path"] == path:
            return pod["metadata"].get("annotations", {}).get(item["fieldRef"]["fieldPath"].split("'")[1], "")
    return (written or {}).get(path, "")


def lines_of(text):
    """The variables that NCCL takes from a text of nccl.conf."""
    return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))


def file_of(pod, container):
    """The lines of the container's nccl.conf, as a Binding brought them: name -> value."""
    if not any(mount["mountPath"] == "/etc/nccl.conf" for mount in container.get("volumeMounts", [])):
        return {}
    for volume in pod["spec"].get("volumes", []):
        if volume["name"] == "nccl-env-conf" and "downwardAPI" in volume:
            text = volume_text(pod, volume, volume["downwardAPI"]["items"][0]["path"])
            return lines_of(text)
    return {}


def bind(pod, binding):
    """Writes an admitted Binding to the pod, as the API server does: annotations and node name in one write."""
    bound = copy.deepcopy(pod)
    bound["metadata"].setdefault("annotations", {}).update(binding["metadata"].get("annotations", {}))
    bound["spec"]["nodeName"] = binding["target"]["name"]
    return bound


class Webhook:
    """The real program over a store directory; a context that leaves nothing behind."""

    def __init__(self, program, store, scratch):
        self.pki = scratch / "pki"
        self.log = scratch / "webhook.log"
        self.requests = 0
        arguments = [program, "--store", f"dir:{store}", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
                     "--self-signed", self.pki, "--drain-grace", "0s", "--resolver-image", RESOLVER_IMAGE,
                     "--carrier", "EnvFile"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)

    def __enter__(self):
        try:
            ports = self.wait_for_ports()
        except BaseException:
            self.__exit__()
            raise
        self.admission, self.ops = ports["admission_port"], ports["ops_port"]
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def log_lines(self, message):
        for line in self.log.read_text().splitlines():
            if line.startswith("{"):
                entry = json.loads(line)
                if entry["msg"] == message:
                    yield entry

    def wait_for_ports(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            for entry in self.log_lines("listening"):
                return entry
            time.sleep(0.01)
        raise Unexpected("the webhook does not start:\n" + self.log.read_text())

    def curl(self, *arguments, body=None):
        done = subprocess.run(["curl", "-q", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*",
                               "--max-time", "5", *map(str, arguments)], input=body, capture_output=True, check=False)
        if done.returncode:
            raise Unexpected(f"curl: {done.stderr.decode().strip()} {done.stdout.decode()}")
        return done.stdout

    def metrics(self):
        return self.curl(f"http://127.0.0.1:{self.ops}/metrics").decode()

    def admit(self, review):
        """The response of an AdmissionReview and the object after its patch."""
        review = copy.deepcopy(review)
        review["request"]["uid"] = str(uuid.uuid4())
        self.requests += 1
        answer = json.loads(self.curl("--cacert", self.pki / "ca.crt", "-H", "Content-Type: application/json",
                                      "--data-binary", "@-", f"https://127.0.0.1:{self.admission}/admit?timeout=10s",
                                      body=json.dumps(review).encode()))
        response = answer["response"]
        if response["uid"] != review["request"]["uid"] or not response["allowed"]:
            raise Unexpected(f"the answer is {answer}")
        patch = []
        if "patch" in response:
            patch = json.loads(base64.b64decode(response["patch"]))
        if (response.get("patchType") == "JSONPatch") != bool(patch):
            raise Unexpected(f"the answer is {answer}")
        return response, patch, apply_patch(review["request"]["object"], patch)


def recorded(name):
    """A request as a real API server sent it."""
    path = pathlib.Path(__file__).parent.parent / "tests/data/admission" / f"{name}.json"
    return json.loads(path.read_text())
