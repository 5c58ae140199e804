// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/program/clock.h"
#include "nccl_env/program/table_view.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct ShowArguments {
  std::vector<std::string> files;
  program::PolicyArguments policy;
};

void print(const std::vector<program::TableView>& views, const std::string& form, std::ostream& out) {
  if (is_document(form)) {
    OrderedJson all = OrderedJson::array();
    for (const program::TableView& view : views) all.push_back(to_json(view));
    return print_documents(all, form, out);
  }
  for (const program::TableView& view : views)
    out << (&view == &views.front() ? "" : "\n") << render_text(view);
}

int show_tables(const ShowArguments& arguments, const Console& terminal) {
  const auto& [files, of_policy] = arguments;
  auto policy = std::make_shared<const NcclPolicy>();
  if (!of_policy.file.empty()) {
    if (const program::Failure failure = program::read_chosen_policy(of_policy, terminal.in, policy))
      return stop(terminal, failure);
  }
  const auto tables = program::read_tables(files, terminal.in);
  if (!tables) return stop(terminal, program::kNotSeen, tables.error().message);
  std::vector<program::TableView> views;
  bool any_port = false;
  for (const auto& table : *tables) {
    views.push_back(program::view_table(*table, *policy, program::clock_now()));
    any_port = any_port || !table->ports.empty();
  }
  print(views, terminal.form, terminal.out);
  return any_port ? program::kDone : stop(terminal, program::kNothing, "the table holds no port");
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
  app.add_option("FILE", to.files, "Files with NodeFabrics; - is the standard input")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::cli
