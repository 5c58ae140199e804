// SPDX-License-Identifier: Apache-2.0
// nccl-env table import
#include <algorithm>
#include <filesystem>
#include <ostream>

#include "commands/commands.h"
#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/listing/import.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {
namespace {

// baidu-roce-a100.show_gids.txt -> baidu-roce-a100; "" if nothing of it can be a node's name.
std::string node_name_of(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  name.resize(std::min(name.find('.'), name.size()));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) c = '-';
  }
  const std::size_t begin = name.find_first_not_of('-');
  if (begin == std::string::npos) return {};
  return name.substr(begin, std::min<std::size_t>(name.find_last_not_of('-') + 1 - begin, 63));
}

void tell_skipped(const ImportReport& report, std::ostream& err) {
  if (report.skipped_lines == 0) return;
  err << "nccl-env: " << report.skipped_lines << (report.skipped_lines == 1 ? " line is" : " lines are")
      << " of no listing and skipped\n";
  for (const SkippedLine& line : report.samples)
    err << "  " << printable(line.file) << ':' << line.line << ": " << printable(line.text) << '\n';
}

}  // namespace

int import_tables(const ImportArguments& arguments, const Terminal& terminal) {
  ImportOptions options;
  options.node = arguments.node.empty() ? node_name_of(arguments.files.front()) : arguments.node;
  if (options.node.empty()) return stop(terminal, kUsage, "table import: name the node with --node");
  if (!arguments.node_interface.empty()) options.node_interface = arguments.node_interface;
  options.format = parse_listing_format(arguments.format).value_or(ListingFormat::Auto);
  std::vector<ListingFile> files;
  for (const std::string& name : arguments.files) {
    Result<std::string> text = read_text(name, terminal.in);
    if (!text) return stop(terminal, kRefused, text.error().message);
    files.push_back({name, std::move(*text)});
  }
  const ImportOutcome outcome = import_listings(files, options);
  for (const ImportProblem& problem : outcome.problems) {
    if (problem.file.empty()) return stop(terminal, kUsage, "table import: " + problem.message);
    terminal.err << printable(to_string(problem)) << '\n';
  }
  if (!outcome.report) return kRefused;
  tell_skipped(*outcome.report, terminal.err);
  const auto table = to_json(outcome.report->table);
  terminal.out << (arguments.output == "json" ? table.dump(2) + "\n" : to_yaml(table));
  return kDone;
}

}  // namespace nccl_env::app
