// SPDX-License-Identifier: Apache-2.0
// The options of table import, table show.
#include "command_line.h"

namespace nccl_env::app {
namespace {

void add_import(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<ImportArguments>();
  ImportArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"import",
                    "Turn listings of one node, as tools print them, into a NodeFabric. A line that "
                    "should be understood and is not refuses the import: FILE:LINE, exit 1.",
                    "nccl-env table import --node gpu-1 --node-interface eth0 gids.txt devinfo.txt"},
                   import_tables, arguments);
  app.add_option("--node", to.node, "Name of the node; default: the first file's, up to its first dot");
  app.add_option("--node-interface", to.node_interface,
                 "The netdev of the node's own address, which listings don't tell");
  app.add_option("--format", to.format, "What the files hold; auto: found by headers")
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "show_gids", "ibv_devinfo", "rdma-link",
                                                     "ibstat", "ibstatus", "ibdev2netdev"}))
      ->capture_default_str();
  add_output(app, to.output, {"yaml", "json"});
  app.add_option("FILE", to.files, "Listings; - is the standard input")->required()->type_name("");
}

void add_show(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<ShowArguments>();
  ShowArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"show",
                    "Tell of each port whether it is fabric, of each GID row whether it is usable, and "
                    "why; then what hostNetwork pods get. Exit 3 if there is no port.",
                    "nccl-env table show gpu-1.yaml"},
                   show_tables, arguments);
  add_policy_options(app, to.policy);
  add_moment(app, to.at);
  add_output(app, to.output, {"text", "yaml", "json"});
  app.add_option("FILE", to.files, "Files with NodeFabrics; - is the standard input")
      ->required()
      ->type_name("");
}

}  // namespace

void add_table_commands(CommandLine& line) {
  CLI::App& table = line.group("table", "Tables of a node's HCAs, ports and GIDs (NodeFabric)");
  add_import(line, table);
  add_show(line, table);
}

}  // namespace nccl_env::app
