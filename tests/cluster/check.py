#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pods have on a real node, read from their processes: `make cluster-test` runs it in the cluster.

  check.py [SCENARIO…]

A SCENARIO is the first word of a name. Prints each with ok or FAILED and its seconds; exit code 1 if one failed."""
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
from session import Session  # noqa: E402
from scenarios import (carriers, engines, envfile, events, fabric, figures, full, guides, helm, lost, nccl, older,  # noqa: E402
                       programs, pull, removal, upgrade)

SCENARIOS = [carriers, envfile, engines, guides, older, pull, nccl, programs, events, full, lost, fabric, removal,
             figures, upgrade, helm]


def main(chosen):
    names = {scenario.NAME.split(":")[0]: scenario for scenario in SCENARIOS}
    unknown = set(chosen) - set(names)
    if unknown:
        sys.exit(f"check.py: no scenario {' '.join(sorted(unknown))}; there are {' '.join(names)}")
    session, failed, ran = Session(), [], 0
    for name, scenario in names.items():
        if chosen and name not in chosen:
            continue
        begin, outcome, found = time.monotonic(), "ok", None
        try:
            found = scenario.run(session)
        except Exception as error:  # the next scenario may still hold
            outcome = "FAILED"
            failed.append(f"failed: {name}: {error}")
            traceback.print_exception(error, limit=-3, file=sys.stdout)
        ran += 1
        print(f"{scenario.NAME}{f': {found}' if found else ''} … {outcome} ({time.monotonic() - begin:.1f} s)",
              flush=True)
    for line in failed:
        print(" ".join(line.split())[:500])
    print(f"{ran - len(failed)} of {ran} scenarios ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
