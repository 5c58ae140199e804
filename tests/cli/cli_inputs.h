// SPDX-License-Identifier: Apache-2.0
// A table, a policy, a pod and a listing, as files of the test's directory.
#pragma once

#include "cli/cli_run.h"

namespace nccl_env::tests {

inline const std::string kTable = R"(
apiVersion: nccl-env.io/v1alpha1
kind: NodeFabric
metadata: {name: gpu-1}
observed:
  nodeInterface: eth0
  ports:
  - hca: mlx5_0
    port: 1
    linkLayer: Ethernet
    transport: RoCE
    state: Active
    rateGbps: 200
    gids:
    - {index: 0, gid: "fe80::1", type: RoCEv2, netdev: eth1}
    - {index: 3, gid: "::ffff:25.11.128.2", type: RoCEv2, address: 25.11.128.2, netdev: eth1}
)";
inline const std::string kPolicy = R"(
apiVersion: nccl-env.io/v1alpha1
kind: NcclPolicy
metadata: {name: p}
spec:
  match: {resources: [{name: rdma/hca}]}
  gidIndex: Pin
)";
inline const std::string kPod = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"},
  "spec": {"hostNetwork": true, "containers": [{"name": "c", "resources": {"limits": {"rdma/hca": 1}}}]}})";
inline const std::string kListing =
    "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4\t\tVER\tDEV\n"
    "---\t----\t-----\t---\t\t\t\t\t----\t\t---\t---\n"
    "mlx5_1\t1\t3\t0000:0000:0000:0000:0000:ffff:190b:8002\t25.11.128.2\tv2\teth1\n";

inline std::string named(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

class Cli : public CliTest {
 protected:
  const std::string table = write("gpu-1.yaml", kTable);
  const std::string policy = write("p.yaml", kPolicy);
  const std::string pod = write("pod.yaml", kPod);

  [[nodiscard]] CliResult explain(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"explain", "--policy", policy, "-f", pod});
    return run_cli(more);
  }
  [[nodiscard]] nlohmann::json explain_json(std::vector<std::string> more = {}, int code = 0) const {
    more.insert(more.end(), {"-o", "json"});
    const CliResult result = explain(more);
    EXPECT_EQ(result.code, code) << result.err;
    return nlohmann::json::parse(result.out);
  }
};

}  // namespace nccl_env::tests
