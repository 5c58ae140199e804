#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Include rules that folders of headers cannot enforce: which layer may use which library, and what the
pure core may not touch. Prints FILE:LINE: rule and exits 1 if a rule is broken."""
import pathlib
import re
import sys

# Parts that call libibverbs, which nccl-env-agent alone links.
VERBS = ["src/node/libibverbs/", "src/packets/libibverbs/"]
# Library headers by prefix -> where they may be included. Everything else that is not a standard header
# is free outside the core.
LIBRARIES = {
    "boost/": ["src/net/", "src/kube/", "src/store/", "src/webhook/", "src/agent/", "src/cli/",
               "include/nccl_env/net/", "include/nccl_env/kube/", "include/nccl_env/store/"],
    "openssl/": ["src/net/", "include/nccl_env/net/"],
    "yaml-cpp/": ["src/base/"],
    "prometheus/": ["src/base/"],
    "CLI/": ["src/program/", "src/webhook/", "src/agent/", "src/cli/", "include/nccl_env/program/"],
    "simdjson": ["src/core/text/", "src/core/fabric/", "src/core/pod/", "src/core/proof/", "src/kube/"],
    "infiniband/": VERBS,
    "rdma/": ["src/node/"],
}
# Beast costs seconds of each unit that includes it.
BEAST_UNITS = 2

PURE = ("core", "judge")  # layers without a kernel: a clock or a file comes to them as an argument

# The rooms of a layer, lowest floor first: a room includes its own headers and those of lower floors. Files
# that stand in the layer's own folder are above all of its rooms.
ROOMS = {
    "core": [["text"], ["described"], ["fabric"], ["engines", "findings"], ["policy"], ["choose", "pod", "proof"], ["command"], ["decide"]],
    "judge": [["cohort"], ["nccl_log"], ["explain", "doctor"]],
    "net": [["tls"], ["server", "client"]],
    "cli": [["cluster", "report"], ["check", "fabric"], ["commands"]],
}

# Text conversions that need no kernel: inet_pton and inet_ntop.
PURE_C_HEADERS = {"arpa/inet.h", "fnmatch.h"}
PURE_NOT = {"fstream", "filesystem", "iostream", "thread", "mutex", "shared_mutex", "condition_variable",
            "future", "random", "syncstream", "csignal", "coroutine"}
PURE_CALLS = {
    "the clock (`now` is an argument)": r"::now\s*\(|\bclock_gettime\b|\bgettimeofday\b|\btime\s*\(\s*(nullptr|NULL|0|&)",
    "a file": r"\bf?open(at)?\s*\(|\bstd::[io]?fstream\b|\bopendir\b|\breaddir\b",
    "a socket": r"\bsocket\s*\(|\bgetaddrinfo\b|\bgetifaddrs\b|\bioctl\b",
    "the process": r"\bgetenv\b|\bfork\s*\(|\bsystem\s*\(|\bexit\s*\(|\bstd::(cout|cerr|clog)\b|\bprintf\s*\(",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def without_comments_and_strings(text):
    """Blanks both, keeping the lines."""
    pattern = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def check_include(path, quoted, header):
    """Yields the rules that this include breaks. `path` is relative to the source tree."""
    if ".." in pathlib.PurePosixPath(header).parts:
        yield f"includes {header}: a path with .. steps around the layers"
    if header == "infiniband/verbs.h" and not path.startswith(tuple(VERBS)):
        yield f"includes infiniband/verbs.h outside {', '.join(VERBS)}"
    elif not path.startswith("tests/"):
        for prefix, allowed in LIBRARIES.items():
            if header.startswith(prefix) and not any(path.startswith(place) for place in allowed):
                yield f"includes {header}, which only {', '.join(allowed)} may"
    if header.startswith("boost/beast") and path.endswith(".h"):
        yield f"includes {header} in a header"
    if quoted and path.startswith(("src/", "include/")):
        yield from check_rooms(path, header)
    if place_of(path)[0] in PURE:
        yield from check_pure_include(place_of(path)[0], quoted, header)


def place_of(path):
    """(layer, room) of src/LAYER/ROOM/x.cc or include/nccl_env/LAYER/ROOM/x.h; the room is None outside of one."""
    parts = pathlib.PurePosixPath(path).parts
    parts = parts[1:] if parts[0] == "src" else parts[2:]
    layer = parts[0] if len(parts) > 1 else None
    room = parts[1] if len(parts) > 2 and any(parts[1] in floor for floor in ROOMS.get(layer, [])) else None
    return layer, room


def check_rooms(path, header):
    layer, room = place_of(path)
    if layer not in ROOMS:
        return
    own = header.startswith(f"nccl_env/{layer}/")
    if header.startswith("nccl_env/") and not own:
        return
    parts = pathlib.PurePosixPath(header).parts[2 if own else 0:]
    floor_of = {name: number for number, floor in enumerate(ROOMS[layer]) for name in floor}
    other = parts[0] if len(parts) > 1 else None
    if other is not None and other not in floor_of:
        yield f"includes {header}: {other} is not a room of {layer} that include_rules.py knows"
    elif room is not None and other is None:
        yield f"includes {header}: the room {room} reaches out of the rooms of {layer}"
    elif room is not None and other != room and floor_of[other] >= floor_of[room]:
        yield f"includes {header}: the room {room} does not stand above {other}"


def is_everybodys(header):
    """nccl_env/x.h, which stands in no layer."""
    return re.fullmatch(r"nccl_env/[^/]+", header) is not None


def check_pure_include(layer, quoted, header):
    if quoted:
        if header.startswith("nccl_env/") and not is_everybodys(header) and header.split("/")[1] not in PURE[:PURE.index(layer) + 1]:
            yield f"{layer} includes {header}"
    elif header in PURE_NOT:
        yield f"{layer} includes <{header}>: files, clocks, threads and randomness belong to the shells"
    elif "/" in header or header.endswith(".h"):
        known = header in PURE_C_HEADERS or header.startswith(("nlohmann/", "simdjson"))
        if not known:
            yield f"{layer} includes <{header}>: only std and JSON"


def check_file(root, path):
    text = (root / path).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            for problem in check_include(path, found[1] == '"', found[2]):
                yield f"{path}:{number}: {problem}"
    if (layer := place_of(path)[0]) in PURE:
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            for what, pattern in PURE_CALLS.items():
                if re.search(pattern, line):
                    yield f"{path}:{number}: {layer} touches {what}: {line.strip()}"


def sources(root, *folders):
    """The headers and sources in these folders, relative to the root."""
    return sorted(str(p.relative_to(root)) for folder in folders
                  for p in (root / folder).rglob("*") if p.suffix in (".h", ".cc"))


def check_tree(root):
    files = sources(root, "include", "src", "tests")
    problems = [] if files else [f"{root}: no sources found"]
    for path in files:
        problems += check_file(root, path)
    beast = [path for path in files if path.startswith("src/") and "<boost/beast" in (root / path).read_text()]
    if len(beast) > BEAST_UNITS:
        problems.append(f"Beast in {len(beast)} files, at most {BEAST_UNITS}: {', '.join(beast)}")
    return problems


if __name__ == "__main__":
    broken = check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(broken) or "include rules hold")
    sys.exit(1 if broken else 0)
