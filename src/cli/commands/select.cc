// SPDX-License-Identifier: Apache-2.0
// nccl-env nccl select
#include <nlohmann/json.hpp>
#include <ostream>

#include "commands/commands.h"
#include "nccl_env/core/explain/preview.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {
namespace {

Result<NcclEnv> read_env(const std::vector<std::string>& entries) {
  NcclEnv env;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) return Error{"--env " + entry + ": must be NAME=VALUE"};
    env.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

}  // namespace

int select_with_nccl(const SelectArguments& arguments, const Terminal& terminal) {
  const auto version = read_nccl_version(arguments.nccl_version);
  if (!version) return stop(terminal, kUsage, version.error().message);
  const auto env = read_env(arguments.env);
  if (!env) return stop(terminal, kUsage, env.error().message);
  const auto tables = read_tables({arguments.table}, terminal.in);
  if (!tables) return stop(terminal, kRefused, tables.error().message);
  const auto table = choose_table(*tables, arguments.node);
  if (!table) return stop(terminal, kUsage, table.error().message);
  const NcclSelection selection = nccl_select(**table, *env, *version);
  if (arguments.output == "json") {
    const auto json = to_ordered_json(selection);
    terminal.out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  } else {
    terminal.out << "NCCL " << format_nccl_version(*version) << " on " << (*table)->name << '\n'
                 << render_text(selection, 2);
  }
  return (*table)->ports.empty() ? kNoDevices : kDone;
}

}  // namespace nccl_env::app
