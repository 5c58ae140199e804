// SPDX-License-Identifier: Apache-2.0
// Nodes with four rails each, as a directory of manifests and a file.
#pragma once

#include <algorithm>

#include "cli/cli_inputs.h"

namespace nccl_env::tests {

inline std::string node_yaml(const std::string& name, int number, double rate = 200) {
  std::string text = "---\napiVersion: nccl-env.io/v1alpha1\nkind: NodeFabric\nmetadata: {name: " + name +
                     "}\nobserved:\n  time: \"2026-11-20T07:00:00Z\"\n  nodeInterface: eth0\n  ports:\n";
  for (int rail = 1; rail <= 4; ++rail) {
    const std::string r = std::to_string(rail);
    const std::string address = "10." + r + ".0." + std::to_string(number);
    text += "  - {hca: mlx5_" + r +
            ", port: 1, linkLayer: Ethernet, transport: RoCE, state: Active, rateGbps: " +
            std::to_string(rail == 3 ? rate : 200) +
            ", driver: mlx5_core, boardId: B, gids: [{index: 3, gid: \"::ffff:" + address +
            "\", type: RoCEv2, address: " + address + ", netdev: eth" + r + "}]}\n";
  }
  return text;
}

class Fleet : public Cli {
 protected:
  void SetUp() override { write_fleet(200); }
  // `rate`: of the third rail of gpu-10.
  void write_fleet(double rate) const {
    std::filesystem::create_directories(path("fleet"));
    write("fleet/a.yaml", node_yaml("gpu-1", 1) + node_yaml("gpu-2", 2) + node_yaml("gpu-10", 10, rate));
  }
  [[nodiscard]] CliResult run(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{command};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto given = [&](const std::string& option) {
      return std::find(more.begin(), more.end(), option) != more.end();
    };
    if (!given("--at")) arguments.insert(arguments.end(), {"--at", "2026-11-20T08:00:00Z"});
    if (!given("--store") && !given(path("fleet/a.yaml")))
      arguments.insert(arguments.end(), {"--store", "dir:" + path("fleet")});
    return run_cli(arguments);
  }
};

}  // namespace nccl_env::tests
