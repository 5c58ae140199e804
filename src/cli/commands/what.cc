// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct WhatArguments {
  std::string name;  // "": all words, without the variables
};

std::string takes(const Variable& variable) {
  const std::string kind(to_string(variable.kind));
  switch (variable.kind) {
    case ValueKind::Integer:
      return kind + " from " + std::to_string(variable.min) + " to " + std::to_string(variable.max) +
             (variable.choices.empty() ? "" : ", or " + join(variable.choices));
    case ValueKind::Enum:
      return kind + ": " + join(variable.choices);
    default:
      return kind + (variable.max > 0
                         ? ", at most " + count_of(static_cast<std::size_t>(variable.max), "entry")
                         : "");
  }
}

std::string ranks_text(Ranks ranks) {
  switch (ranks) {
    case Ranks::Node:
      return "Each node may need another value.";
    case Ranks::Fabric:
      return "All ranks on one fabric should have the same value.";
    case Ranks::Equal:
      return "All ranks have to have the same value.";
    case Ranks::Any:
      break;
  }
  return "Ranks may have different values.";
}

// The words of the program that have one of the names, in the form of each.
class Answer {
 public:
  void add(std::string_view kind, const Named& words) {
    add(kind, words, {words.meaning, words.remedy});
    found_.back()["remedy"] = text_or_null(std::string(words.remedy));
    found_.back()["impact"] = to_string(words.impact);
  }
  void add(const Variable& variable) {
    const std::string meaning = "Takes " + takes(variable) + ". " + ranks_text(variable.ranks);
    add("variable", {variable.name, meaning, {}, Impact::None, "docs/reference/variables.md"},
        {meaning, variable.note});
    found_.back()["note"] = text_or_null(std::string(variable.note));
  }
  [[nodiscard]] bool empty() const { return found_.empty(); }
  void print(const Console& terminal) const {
    if (is_document(terminal.form)) return print_document({{"names", found_}}, terminal.form, terminal.out);
    terminal.out << columns_.render();
  }

 private:
  void add(std::string_view kind, const Named& words, const std::vector<std::string_view>& sentences) {
    std::string name(words.name);
    for (const std::string_view sentence : sentences) {
      if (sentence.empty()) continue;
      columns_.add({name, std::string(sentence)});
      name.clear();
    }
    columns_.add({"", "(" + std::string(kind) + ", " + std::string(words.document) + ")"});
    found_.push_back(
        {{"name", words.name}, {"kind", kind}, {"meaning", words.meaning}, {"document", words.document}});
  }

  TextColumns columns_{0};
  OrderedJson found_ = OrderedJson::array();
};

std::string near_to(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Reason reason : all_reasons()) names.push_back(to_string(reason));
  for (const Code code : all_codes()) names.push_back(to_string(code));
  for (const Variable* variable : all_variables()) names.push_back(variable->name);
  const std::string_view found = nearest(name, names, 3);
  return found.empty() ? "; without a name it lists all but the variables"
                       : ": do you mean " + std::string(found) + "?";
}

int tell_what(const WhatArguments& arguments, const Console& terminal) {
  const auto& [name] = arguments;
  const auto is_asked = [&asked = name](std::string_view word) {
    return asked.empty() || equal_ignoring_case(asked, word);
  };
  Answer answer;
  for (const Reason reason : all_reasons()) {
    if (is_asked(to_string(reason))) answer.add("reason", words_of(reason));
  }
  for (const Code code : all_codes()) {
    if (is_asked(to_string(code))) answer.add("finding", words_of(code));
  }
  for (const Variable* variable : all_variables()) {
    if (!name.empty() && is_asked(variable->name)) answer.add(*variable);
  }
  if (answer.empty())
    return stop(terminal, program::kUsage,
                "what: " + name + " is neither a reason nor a finding nor a variable" + near_to(name));
  answer.print(terminal);
  return program::kDone;
}

}  // namespace

void add_what(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"what",
       "Tell what a word of nccl-env means, and what to do: a reason, a finding, a variable of NCCL's.",
       "nccl-env what GidNotUniform"},
      tell_what);
  app.add_option("NAME", to.name,
                 "In any case: NoTable, PortDown, NCCL_IB_TC; default: all reasons and findings")
      ->type_name("");
}

}  // namespace nccl_env::cli
