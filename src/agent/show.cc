// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/choose/summary.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/program/inputs.h"
#include "nccl_env/program/table_view.h"
#include "probe.h"

namespace nccl_env::agent {

int show_node(const AgentShowArguments& arguments, node::Verbs& verbs, const program::Terminal& terminal) {
  auto policy = std::make_shared<const NcclPolicy>(program::policy_of_nobody());
  if (const program::Failure failure =
          program::read_chosen_policy({arguments.policy_file, {}, false}, terminal.in, policy))
    return stop(terminal, failure);
  const Timestamp now = *program::read_moment("");
  const NodeProbe probe(arguments.probe, verbs);
  const node::ProbeResult read = probe.read(now);
  for (const std::string& problem : read.problems)
    terminal.err << "nccl-env-agent: " << printable(problem) << '\n';
  if (!read.sysfs_alone.empty())
    terminal.err << "nccl-env-agent: read from sysfs alone: " << printable(read.sysfs_alone) << '\n';

  const program::TableView view = program::view_table(read.table, *policy, now);
  const auto json =
      arguments.policy_file.empty() ? to_json(read.table, summarize(read.table, now)) : to_json(view);
  if (arguments.output == "json") {
    terminal.out << json.dump(2, ' ', true) << '\n';
  } else if (arguments.output == "yaml") {
    terminal.out << to_yaml(json);
  } else {
    terminal.out << render_text(view);
  }
  if (!read.table.ports.empty()) return program::kDone;
  terminal.err
      << "nccl-env-agent: this node has no RDMA devices: is there a card (lspci | grep -i -e mellanox -e "
         "infiniband), and its driver (modprobe mlx5_ib)?\n";
  return program::kNothing;
}

}  // namespace nccl_env::agent
