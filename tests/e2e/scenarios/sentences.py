# SPDX-License-Identifier: Apache-2.0
"""What people see: explanations, columns, and refusals that say what to do."""
import json
import re

from objects import expect, expect_in, policy, table
from process import Failed, eventually

NAME = "7 sentences: kubectl explain, kubectl get nf,ncclp, and a refused policy"


def refuse(cluster, what, manifest, *parts, verb="create"):
    code, said = cluster.kubectl(verb, "-f", "-", check=False, stdin=json.dumps(manifest))
    if code == 0:
        raise Failed(f"{what} was accepted: {said}")
    expect_in(what, said, *parts)


def check_columns(cluster):
    cluster.api.apply(table("node-a", ["mlx5_1", "mlx5_2"], seconds_ago=20 * 86400))  # what is younger is told in hours
    cluster.put_policy(policy("shown", mode="DryRun"))
    shown = eventually("policy shown as accepted",
                       lambda: (rows := cluster.kubectl("get", "ncclp", "shown")) and "True" in rows and rows)
    columns = [re.split(r" {2,}|(?<=\S) +(?=\S+$)", line.strip()) for line in shown.splitlines()]
    expect("columns of ncclp", columns[0], ["NAME", "MODE", "ACCEPTED", "PODSWITHOUT", "AGE"])
    expect("row of ncclp", columns[1][:3], ["shown", "DryRun", "True"])
    rows = [re.split(r" {2,}", line.strip()) for line in cluster.kubectl("get", "nf", "node-a").splitlines()]
    expect("columns of nf", rows[0], ["NAME", "ACTIVE PORTS", "LINK LAYER", "HCAS", "OBSERVED", "AGE"])
    expect("row of nf", rows[1][:5], ["node-a", "2", "Ethernet", "=mlx5_1,mlx5_2", "20d"])
    both = cluster.kubectl("get", "nf,ncclp")
    expect_in("kubectl get nf,ncclp", both, "nodefabric.nccl-env.io/node-a", "ncclpolicy.nccl-env.io/shown")
    expect_in("kubectl get nccl-env", cluster.kubectl("get", "nccl-env"), "node-a", "shown")


def check_refusals(cluster):
    refuse(cluster, "a value of three bits", policy("bad", env={"NCCL_IB_RETRY_CNT": "10"}),
           'spec.env.NCCL_IB_RETRY_CNT: "10" is outside 0..7, and mlx5 makes 2 of it: the queue pair\'s field has three bits')
    refuse(cluster, "a node value as a constant", policy("bad", env={"NCCL_IB_HCA": "mlx5_0"}),
           "set spec.hca instead of NCCL_IB_HCA")
    refuse(cluster, "a misspelt field", policy("bad", gidIndx="Omit"), 'unknown field "spec.gidIndx"')
    refuse(cluster, "a misspelt word", policy("bad", mode="Dryrun"), 'supported values: "Enforce", "DryRun"')
    refuse(cluster, "an index beyond tables", policy("bad", gidIndex=256), "spec.gidIndex", "less than or equal to 255")
    refuse(cluster, "a name out of NCCL's", policy("bad", env={"LD_PRELOAD": "x.so"}), "names begin with NCCL_")
    refuse(cluster, "an unquoted number", policy("bad", env={"NCCL_IB_TIMEOUT": 22}), "must be of type string")
    twice = table("bad", ["mlx5_1"])
    twice["observed"]["ports"][0]["gidRows"] = ["3 RoCEv2 25.11.0.2 dev rail0"]
    refuse(cluster, "rows in both forms", twice, "has gidRows or gids, its older form, but not both")
    nobody = policy("bad")
    nobody["spec"]["match"] = {}
    refuse(cluster, "a policy for nobody", nobody,
           "needs at least one of resources, deviceClasses, networks and hostDevices: true")

    cluster.put_policy(policy("ranks", env={"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_IB_TIMEOUT": "20"}))
    cluster.put_policy(policy("ranks", env={"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_IB_TIMEOUT": "22"}))
    sentence = "must be equal on all ranks of a job"
    refuse(cluster, "another number of queue pairs", policy("ranks", env={"NCCL_IB_QPS_PER_CONNECTION": "8"}),
           "NCCL_IB_QPS_PER_CONNECTION " + sentence, "make a new policy", verb="replace")
    refuse(cluster, "no number of queue pairs", policy("ranks", env={}), "NCCL_IB_QPS_PER_CONNECTION " + sentence,
           verb="replace")
    refuse(cluster, "an algorithm", policy("ranks", env={"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_ALGO": "Ring"}),
           "NCCL_ALGO " + sentence, verb="replace")


def run(cluster):
    fields = eventually("kubectl explain has the schema", lambda: "gidIndex" in (
        text := cluster.kubectl("explain", "ncclpolicy.spec", check=False)[1]) and text)
    expect_in("kubectl explain", fields, "match\t", "gidIndex\t", "onUnresolved\t", "enum: Enforce, DryRun",
              "Which pods are meant")
    expect_in("kubectl explain", cluster.kubectl("explain", "nodefabric.observed.ports.gidRows"), "ADDRESS", "NETDEV")
    check_columns(cluster)
    check_refusals(cluster)
