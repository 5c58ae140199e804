#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Include rules that folders of headers cannot enforce: which layer may use which library, and what the
pure core may not touch. Prints FILE:LINE: rule and exits 1 if a rule is broken."""
import pathlib
import re
import sys

# Library headers by prefix -> where they may be included. Everything else that is not a standard header
# is free outside the core.
LIBRARIES = {
    "boost/": ["src/net/", "src/kube/", "src/store/", "src/app/", "include/nccl_env/net/",
               "include/nccl_env/kube/", "include/nccl_env/store/", "include/nccl_env/app/"],
    "openssl/": ["src/net/", "include/nccl_env/net/"],
    "spdlog/": ["src/base/log"],
    "yaml-cpp/": ["src/base/"],
    "prometheus/": ["src/base/"],
    "CLI/": ["src/app/"],
    "simdjson": ["src/core/review"],
    "infiniband/": ["src/verbs/libibverbs/"],
    "rdma/": ["src/verbs/"],
}
# Beast costs 20 s per translation unit.
BEAST_UNITS = 2

# Text conversions that need no kernel: inet_pton and inet_ntop.
CORE_C_HEADERS = {"arpa/inet.h", "fnmatch.h"}
CORE_NOT = {"fstream", "filesystem", "iostream", "thread", "mutex", "shared_mutex", "condition_variable",
            "future", "random", "syncstream", "csignal", "coroutine"}
CORE_CALLS = {
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
    if header == "infiniband/verbs.h" and not path.startswith("src/verbs/libibverbs/"):
        yield "includes infiniband/verbs.h outside src/verbs/libibverbs"
    elif not path.startswith("tests/"):
        for prefix, allowed in LIBRARIES.items():
            if header.startswith(prefix) and not any(path.startswith(place) for place in allowed):
                yield f"includes {header}, which only {', '.join(allowed)} may"
    if header.startswith("boost/beast") and path.endswith(".h"):
        yield f"includes {header} in a header"
    if path.startswith(("src/core/", "include/nccl_env/core/")):
        yield from check_core_include(path, quoted, header)


def check_core_include(path, quoted, header):
    if quoted:
        own = header.startswith("nccl_env/core/") or header == "nccl_env/base/result.h" or "/" not in header
        if not own:
            yield f"the core includes {header}"
    elif header in CORE_NOT:
        yield f"the core includes <{header}>: files, clocks, threads and randomness belong to the shells"
    elif "/" in header or header.endswith(".h"):
        known = header in CORE_C_HEADERS or header.startswith(("nlohmann/", "simdjson"))
        if not known:
            yield f"the core includes <{header}>: only std and JSON"


def check_file(root, path):
    text = (root / path).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            for problem in check_include(path, found[1] == '"', found[2]):
                yield f"{path}:{number}: {problem}"
    if path.startswith(("src/core/", "include/nccl_env/core/")):
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            for what, pattern in CORE_CALLS.items():
                if re.search(pattern, line):
                    yield f"{path}:{number}: the core touches {what}: {line.strip()}"


def check_tree(root):
    files = sorted(str(p.relative_to(root)) for folder in ("include", "src", "tests")
                   for p in (root / folder).rglob("*") if p.suffix in (".h", ".cc"))
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
