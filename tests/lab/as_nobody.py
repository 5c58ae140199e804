# SPDX-License-Identifier: Apache-2.0
"""as_nobody.py COMMAND…: runs it as uid 65534, without groups and capabilities, and unable to gain any."""
import ctypes
import os
import sys

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
libc = ctypes.CDLL(None, use_errno=True)
capability = 0
while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
    capability += 1
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
os.execvp(sys.argv[1], sys.argv[1:])
