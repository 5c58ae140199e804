// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct WhatArguments {
  std::vector<std::string> words;  // as they were pasted; none: all reasons and findings
};

std::string takes(const Variable& variable) {
  const std::string kind(to_string(variable.kind));
  switch (variable.kind) {
    case ValueKind::Integer:
      return kind + " from " + std::to_string(variable.min) + " to " + std::to_string(variable.max) +
             (variable.choices.empty() ? "" : ", or " + join(variable.choices));
    case ValueKind::Enum:
    case ValueKind::WordList:
      return kind + ": " + join(variable.choices);
    default:
      return kind + (variable.max > 0 ? ", at most " + std::to_string(variable.max) : "");
  }
}

std::string ranks_text(Ranks ranks) {
  constexpr std::array<std::string_view, 4> kTexts{
      "Each node may need another value.", "All ranks on one fabric should have the same value.",
      "All ranks have to have the same value.", "Ranks may have different values."};
  return std::string(name_in(kTexts, ranks));
}

// The words of the program that have one of the names, in the form of each.
class Answer {
 public:
  void add(std::string_view kind, const Named& words) {
    add(std::string(kind), words, {std::string(words.meaning), std::string(words.remedy)});
    found_.back()["remedy"] = text_or_null(std::string(words.remedy));
    found_.back()["impact"] = to_string(words.impact);
  }
  void add(const Variable& variable) {
    const std::string meaning = "Takes " + takes(variable) + ". " + ranks_text(variable.ranks);
    add("variable", {variable.name, meaning, {}, Impact::None, "docs/reference/variables.md"},
        {meaning, std::string(variable.note)});
    found_.back()["note"] = text_or_null(std::string(variable.note));
  }
  [[nodiscard]] bool empty() const { return found_.empty(); }
  void print(const Console& terminal) const {
    if (is_document(terminal.form)) return print_document({{"names", found_}}, terminal.form, terminal.out);
    terminal.out << columns_.render();
  }

 private:
  void add(const std::string& kind, const Named& words, const std::vector<std::string>& sentences) {
    std::string name(words.name);
    for (const std::string& sentence : sentences) {
      if (sentence.empty()) continue;
      columns_.add({name, sentence});
      name.clear();
    }
    columns_.add({"", "(" + kind + ", " + std::string(words.document) + ")"});
    found_.push_back(
        {{"name", words.name}, {"kind", kind}, {"meaning", words.meaning}, {"document", words.document}});
  }

  TextColumns columns_{0};
  OrderedJson found_ = OrderedJson::array();
};

// Adds everything that has the name, in any case; "": all reasons and findings.
void look_up(std::string_view name, Answer& into) {
  const auto is_asked = [&](std::string_view word) {
    return name.empty() || equal_ignoring_case(name, word);
  };
  for (const Reason reason : all_reasons()) {
    if (is_asked(to_string(reason))) into.add("reason", words_of(reason));
  }
  for (const Code code : all_codes()) {
    if (is_asked(to_string(code))) into.add("finding", words_of(code));
  }
  if (name.empty()) return;
  for (const Variable* variable : all_variables()) {
    if (is_asked(variable->name)) into.add(*variable);
  }
}

bool is_of_name(char c) {
  return is_alphanumeric(c) || c == '_' || c == '.' || c == '-';
}

// The names in what a person pastes: "! gpu-3 PortDown", "NCCL_IB_TC=106".
// At most 64.
std::vector<std::string> names_in(std::string_view pasted) {
  constexpr std::size_t kMost = 64;
  std::string text(pasted);
  std::ranges::replace_if(
      text, [](char c) { return !is_of_name(c); }, ' ');
  std::istringstream words(text);
  std::vector<std::string> names;
  for (std::string name; names.size() < kMost && words >> name;) {
    name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
    name.erase(name.find_last_not_of(".-") + 1);
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::string near_to(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Reason reason : all_reasons()) names.push_back(to_string(reason));
  for (const Code code : all_codes()) names.push_back(to_string(code));
  for (const Variable* variable : all_variables()) names.push_back(variable->name);
  const std::string_view found = nearest(name, names, name.size() / 5 + 1);
  return found.empty() ? "; without a name it lists all reasons and findings"
                       : ": do you mean " + std::string(found) + "?";
}

// The whole text first, then names in it.
int tell_what(const WhatArguments& arguments, const Console& terminal) {
  const auto& [words] = arguments;
  const std::string asked = join(words, " ");
  Answer answer;
  look_up(asked, answer);
  if (answer.empty()) {
    for (const std::string& name : names_in(asked)) look_up(name, answer);
  }
  if (answer.empty())
    return stop(terminal, program::kUsage,
                "what: " + asked + " is neither a reason nor a finding or a variable" + near_to(asked));
  answer.print(terminal);
  return program::kDone;
}

}  // namespace

void add_what(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(parent,
                                {"what", "Tell what a reason, a finding or a variable means, and what to do.",
                                 "nccl-env what GidNotUniform"},
                                tell_what);
  app.add_option("NAME", to.words,
                 "In any case: NoTable, PortDown, NCCL_IB_TC; default: all reasons and findings")
      ->type_name("");
}

}  // namespace nccl_env::cli
