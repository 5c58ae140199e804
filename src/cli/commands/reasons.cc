// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "nccl_env/core/findings/catalogue.h"
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
  for (const Code code : all_codes()) names.push_back(to_string(code));
  const std::string_view found = nearest(name, names, 3);
  return found.empty() ? " (without a name it lists all)" : ": do you mean " + std::string(found) + "?";
}

int list_reasons(const ReasonsArguments& arguments, const Console& terminal) {
  const auto& [name] = arguments;
  const auto wanted = parse_reason(name);
  const auto code = wanted ? std::nullopt : parse_code(name);
  if (!name.empty() && !wanted && !code)
    return stop(terminal, program::kUsage, "reasons: there is no reason " + name + near_to(name));
  TextColumns columns(0);
  auto document = nlohmann::ordered_json::object();
  auto& reasons = document["reasons"] = nlohmann::ordered_json::array();
  const auto add = [&](const Named& words) {
    columns.add({std::string(words.name), std::string(words.meaning)});
    columns.add({"", std::string(words.remedy)});
    reasons.push_back({{"reason", words.name},
                       {"meaning", words.meaning},
                       {"remedy", words.remedy},
                       {"impact", to_string(words.impact)},
                       {"document", words.document}});
  };
  if (code) add(words_of(*code));
  for (const Reason reason : all_reasons()) {
    if (!code && (!wanted || reason == *wanted)) add(words_of(reason));
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
      {"reasons", "Tell what each reason means, and what to do about it; with a name, also of a finding.",
       "nccl-env reasons GidNotUniform"},
      list_reasons);
  app.add_option("NAME", to.name, "One reason, or the code of a finding; default: all reasons")
      ->type_name("");
}

}  // namespace nccl_env::cli
