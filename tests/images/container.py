#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in an image's root the way a container runtime does under manifests/: root read-only, the image's
user, no capability, no way to more. Network and processes are those of this machine. Needs root.

  container.py ROOT UID:GID MOUNTS ENV PROGRAM [ARGUMENT…]

MOUNTS: {"/in/the/image": "/on/this/machine"} as JSON. ENV: the whole environment as JSON. The process is replaced, so
signals reach the program."""
import ctypes
import json
import os
import pathlib
import sys

# linux/sched.h, linux/mount.h, linux/prctl.h
CLONE_NEWNS = 0x20000
MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    converted = [os.fsencode(one) if isinstance(one, (str, pathlib.Path)) else ctypes.c_ulong(one)
                 if isinstance(one, int) else one for one in arguments]
    if getattr(LIBC, name)(*converted):
        number = ctypes.get_errno()
        raise OSError(number, f"{name} {arguments}: {os.strerror(number)}")


def mount(source, target, flags):
    call("mount", source, target, None, flags, None)


def enter(root, mounts):
    call("unshare", CLONE_NEWNS)
    mount("none", "/", MS_REC | MS_PRIVATE)
    mount(root, root, MS_BIND)
    for inside, outside in mounts.items():
        place = root / inside[1:]  # made as runtimes do
        if os.path.isdir(outside):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.touch()
        mount(outside, root / inside[1:], MS_BIND)
    mount(root, root, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID)
    os.chroot(root)
    os.chdir("/")


def become(uid, gid, last_capability):
    for capability in range(last_capability + 1):
        call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main():
    root, user, mounts, environment, *command = sys.argv[1:]
    last_capability = int(pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text())
    enter(pathlib.Path(root), json.loads(mounts))
    become(*map(int, user.split(":")), last_capability)
    os.execve(command[0], command, json.loads(environment))


if __name__ == "__main__":
    main()
