// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/listing/import.h"

namespace nccl_env::cli {
namespace {

// Problems of one cause look alike.
constexpr std::size_t kMostTold = 10;

struct ImportArguments {
  std::string node;
  std::string node_interface;
  std::string file;
};

// baidu-roce-a100.show_gids.txt -> baidu-roce-a100; "" if nothing of it can be a node's name.
std::string node_name_of(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  name.resize(std::min(name.find('.'), name.size()));
  for (char& c : name) {
    c = is_alphanumeric(c) ? lower(c) : '-';
  }
  const std::size_t begin = name.find_first_not_of('-');
  if (begin == std::string::npos) return {};
  return name.substr(begin, std::min<std::size_t>(name.find_last_not_of('-') + 1 - begin, 63));
}

// A listing has no line like this.
bool is_table(std::string_view text) {
  constexpr std::string_view kOfTable = "kind: NodeFabric";
  return text.starts_with(kOfTable) || text.find("\n" + std::string(kOfTable)) != text.npos;
}

void tell_skipped(const ImportReport& report, std::ostream& err) {
  if (report.skipped_lines == 0) return;
  err << "nccl-env: skipped " << count_of(report.skipped_lines, "line")
      << (report.skipped_lines == 1 ? " that belongs" : " that belong") << " to no listing\n";
}

// Says where no port has the interface that is given as the node's own: it may be misspelt.
void tell_strange(const std::string& own, const NodeFabric& table, std::ostream& err) {
  const std::string below = own.substr(0, own.rfind('.'));  // of a VLAN
  const auto has_it = [&](const Port& port) {
    const auto netdevs = netdevs_of(port);
    return std::ranges::count(netdevs, own) + std::ranges::count(netdevs, below) > 0;
  };
  if (own.empty() || std::ranges::any_of(table.ports, has_it)) return;
  err << "nccl-env: no port of the listing has the netdev " << printable(own)
      << ": none is taken for the node's own\n";
}

int import_tables(const ImportArguments& arguments, const Console& terminal) {
  const auto& [node, node_interface, name] = arguments;
  ImportOptions options;
  options.node = node.empty() ? node_name_of(name) : node;
  if (options.node.empty()) return stop(terminal, program::kUsage, "table import: name the node with --node");
  if (!node_interface.empty()) options.node_interface = node_interface;
  Result<std::string> text = program::read_text(name, terminal.in);
  if (!text) return stop(terminal, program::kNotSeen, text.error().message);
  if (is_table(*text))
    return stop(terminal, program::kUsage, name + " is a NodeFabric already: nothing to import");
  const ImportOutcome outcome = import_listing({name, std::move(*text)}, options);
  std::size_t told = 0;
  for (const Finding& finding : outcome.findings) {
    if (finding.subject.name.empty())
      return stop(terminal, program::kUsage, "table import: " + finding.sentence);
    if (told++ < kMostTold) terminal.err << printable(line_of(finding)) << '\n';
  }
  if (told > kMostTold) terminal.err << "and " << told - kMostTold + outcome.more << " more\n";
  if (!outcome.report) return program::code_of(outcome.findings);
  tell_strange(node_interface, outcome.report->table, terminal.err);
  tell_skipped(*outcome.report, terminal.err);
  const auto table = to_json(outcome.report->table);
  terminal.out << (terminal.form == "json" ? table.dump(2, ' ', true) + "\n" : to_yaml(table));
  return program::kDone;
}

}  // namespace

void add_table_import(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"import",
       "Turn what show_gids, ibv_devinfo or rdma link printed on a node into a NodeFabric. A listing of no "
       "known form, or with a row that cannot be read, is refused, FILE:LINE, exit 1.",
       "nccl-env table import --node gpu-1 --node-interface eth0 gids.txt",
       {"yaml"}},
      import_tables);
  app.add_option("--node", to.node, "Name of the node; default: the file's, up to its first dot");
  app.add_option("--node-interface", to.node_interface,
                 "The netdev of the node's own address, which a listing doesn't tell");
  app.add_option("FILE", to.file, "A listing; - is the standard input")->required()->type_name("");
}

}  // namespace nccl_env::cli
