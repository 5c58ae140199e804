// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/spelling.h"

namespace nccl_env::cli {
namespace {

struct ReasonsArguments {
  std::string name;  // "": all
};

std::string near_to(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Reason reason : all_reasons()) names.push_back(to_string(reason));
  const std::string_view found = nearest(name, names, 3);
  return found.empty() ? " (without a name it lists all)" : ": do you mean " + std::string(found) + "?";
}

int list_reasons(const ReasonsArguments& arguments, const Console& terminal) {
  const auto& [name] = arguments;
  const auto wanted = parse_reason(name);
  if (!name.empty() && !wanted)
    return stop(terminal, program::kUsage, "reasons: there is no reason " + name + near_to(name));
  TextColumns columns(0);
  auto document = nlohmann::ordered_json::object();
  auto& reasons = document["reasons"] = nlohmann::ordered_json::array();
  for (const Reason reason : all_reasons()) {
    if (wanted && reason != *wanted) continue;
    columns.add({std::string(to_string(reason)), std::string(meaning(reason))});
    columns.add({"", std::string(remedy(reason))});
    reasons.push_back(
        {{"reason", to_string(reason)}, {"meaning", meaning(reason)}, {"remedy", remedy(reason)}});
  }
  if (is_document(terminal.form)) {
    print_document(document, terminal.form, terminal.out);
  } else {
    terminal.out << columns.render();
  }
  return program::kDone;
}

}  // namespace

void add_reasons(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"reasons", "Tell what each reason means, and what to do about it.", "nccl-env reasons GidNotUniform"},
      list_reasons);
  app.add_option("NAME", to.name, "One reason; default: all")->type_name("");
}

}  // namespace nccl_env::cli
