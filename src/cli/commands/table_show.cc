// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/program/table_view.h"

namespace nccl_env::app {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct ShowArguments {
  std::vector<std::string> files;
  PolicyArguments policy;
  std::string at;  // RFC 3339; "": now
  std::string output = "text";
};

void print(const std::vector<TableView>& views, const std::string& form, std::ostream& out) {
  if (is_document(form)) {
    OrderedJson all = OrderedJson::array();
    for (const TableView& view : views) all.push_back(to_json(view));
    return print_documents(all, form, out);
  }
  for (const TableView& view : views) out << (&view == &views.front() ? "" : "\n") << render_text(view);
}

int show_tables(const ShowArguments& arguments, const Terminal& terminal) {
  const auto now = read_moment(arguments.at);
  if (!now) return stop(terminal, kUsage, now.error().message);
  auto policy = std::make_shared<const NcclPolicy>();
  if (!arguments.policy.file.empty()) {
    if (const Failure failure = read_chosen_policy(arguments.policy, terminal.in, policy))
      return stop(terminal, failure);
  }
  const auto tables = read_tables(arguments.files, terminal.in);
  if (!tables) return stop(terminal, kNotSeen, tables.error().message);
  std::vector<TableView> views;
  bool any_port = false;
  for (const auto& table : *tables) {
    views.push_back(view_table(*table, *policy, *now));
    any_port = any_port || !table->ports.empty();
  }
  print(views, arguments.output, terminal.out);
  return any_port ? kDone : stop(terminal, kNothing, "the table holds no port");
}

}  // namespace

void add_table_show(CommandLine& line, CLI::App& parent) {
  auto [app, to] =
      line.command(parent,
                   {"show",
                    "Tell of each port whether it is fabric, of each GID row whether it is usable, and "
                    "why; then what hostNetwork pods get. Exit 3 if there is no port.",
                    "nccl-env table show gpu-1.yaml"},
                   show_tables);
  add_policy_options(app, to.policy);
  add_moment(app, to.at);
  add_output(app, to.output, {"text"});
  app.add_option("FILE", to.files, "Files with NodeFabrics; - is the standard input")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::app
