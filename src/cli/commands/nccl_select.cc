// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/spelling.h"

namespace nccl_env::cli {
namespace {

struct SelectArguments {
  std::string table;
  std::string node;  // where the file holds several
  std::string nccl_version;
  std::vector<std::string> env;  // NAME=VALUE
};

Result<NcclEnv> read_env(const std::vector<std::string>& entries) {
  NcclEnv env;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) return Error{"--env " + entry + ": must be NAME=VALUE"};
    env.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

// Remarks on variables that NCCL would not know, and on values that it would read as others.
void remark_on(const NcclEnv& env, std::ostream& err) {
  std::vector<std::string_view> names;
  for (const Variable& known : all_variables()) names.push_back(known.name);
  for (const auto& [name, value] : env) {
    std::optional<std::string> problem;
    if (name.starts_with("NCCL_") && find_variable(name) == nullptr) {
      const std::string_view meant = nearest(name, names);
      problem = "is not in the catalogue of NCCL's variables";
      if (!meant.empty()) problem->append(": do you mean ").append(meant).append("?");
    } else if (!value.empty()) {
      problem = value_problem(name, value);
    }
    if (problem) err << "nccl-env: " << printable("--env " + name + ": " + *problem) << '\n';
  }
}

int select_with_nccl(const SelectArguments& arguments, const Console& terminal) {
  const auto& [file, node, nccl_version, entries] = arguments;
  const auto version = program::read_nccl_version(nccl_version);
  if (!version) return stop(terminal, program::kUsage, version.error().message);
  const auto env = read_env(entries);
  if (!env) return stop(terminal, program::kUsage, env.error().message);
  const auto tables = program::read_tables({file}, terminal.in);
  if (!tables) return stop(terminal, program::kNotSeen, tables.error().message);
  const auto table = program::choose_table(*tables, node);
  if (!table) return stop(terminal, program::kUsage, table.error().message);
  remark_on(*env, terminal.err);
  const NcclSelection selection = nccl_select(**table, *env, *version);
  if (is_document(terminal.form)) {
    print_document(to_json(selection), terminal.form, terminal.out);
  } else {
    terminal.out << "NCCL " << format_nccl_version(*version) << " on " << (*table)->name << '\n'
                 << render_text(selection, 2);
  }
  return (*table)->ports.empty() ? program::kNothing : program::kDone;
}

}  // namespace

void add_nccl_select(CommandLine& line, CLI::App& parent) {
  auto [app, to] =
      line.command(parent,
                   {"select", "Tell which HCAs, GID indexes and interfaces NCCL takes by its own rules.",
                    "nccl-env nccl select --table gpu-1.yaml --nccl-version 2.21.5 --env NCCL_IB_HCA=mlx5"},
                   select_with_nccl);
  app.add_option("--table", to.table, "File with a NodeFabric")->required()->type_name("FILE");
  app.add_option("--node", to.node, "Which node, where the file holds several");
  app.add_option("--env", to.env, "A variable of the process; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace nccl_env::cli
