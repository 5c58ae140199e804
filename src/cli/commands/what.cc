// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "commands/sections.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/nccl_log/failure_line.h"
#include "nccl_env/core/policy/description.h"
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

// A meaning of the words that were asked for.
struct Told {
  std::string kind, name, meaning, more, document;  // more: the remedy, of a variable its note
  std::optional<Impact> impact = {};
};

class Answer {
 public:
  void add(const Variable& variable) {
    found_.push_back({"variable", std::string(variable.name),
                      "Takes " + takes(variable) + ". " + ranks_text(variable.ranks),
                      std::string(variable.note), "docs/reference/variables.md"});
  }
  void add(const char* kind, const Named& words) {
    const std::string_view more = words.remedy.empty() && kind == std::string_view("finding")
                                      ? "Each one that is told says what to do, or what is expected."
                                      : words.remedy;
    found_.push_back({kind, std::string(words.name), std::string(words.meaning), std::string(more),
                      std::string(words.document), words.impact});
  }
  void add(const char* kind, std::string name, std::string meaning, std::string document) {
    found_.push_back({kind, std::move(name), std::move(meaning), {}, std::move(document)});
  }
  [[nodiscard]] bool empty() const { return found_.empty(); }
  // `list`: names and meanings alone.
  void print(bool list, const Console& terminal) const {
    if (is_document(terminal.form)) return print_document(document(), terminal.form, terminal.out);
    TextColumns columns(0);
    for (Told each : found_) {
      for (const std::string& sentence : {each.meaning, list ? "" : each.more}) {
        if (!sentence.empty()) columns.add({std::exchange(each.name, ""), sentence});
      }
      if (!list) columns.add({each.name, "(" + each.kind + ", " + each.document + ")"});
    }
    terminal.out << columns.render();
  }

 private:
  [[nodiscard]] OrderedJson document() const {
    OrderedJson names = OrderedJson::array();
    for (const auto& [kind, name, meaning, more, document, impact] : found_) {
      names.push_back({{"name", name}, {"kind", kind}, {"meaning", meaning}, {"document", document}});
      names.back()[kind == "variable" ? "note" : "remedy"] = text_or_null(more);
      if (impact) names.back()["impact"] = to_string(*impact);
    }
    return {{"names", names}};
  }

  std::vector<Told> found_;
};

// Adds what has the name, in any case: a word has one meaning, a reason's before a finding's. "": all reasons
// and findings.
void look_up(std::string_view name, Answer& into) {
  const auto is_asked = [&](std::string_view word) {
    return name.empty() || equal_ignoring_case(name, word);
  };
  for (const Reason reason : all_reasons()) {
    if (is_asked(to_string(reason))) into.add("reason", words_of(reason));
  }
  for (const Code code : all_codes()) {
    if (is_asked(to_string(code)) && !parse_reason(to_string(code))) into.add("finding", words_of(code));
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

// Adds the word of the glossary.
void look_up_word(std::string_view name, Answer& into) {
  std::istringstream lines{std::string(kWords)};
  for (std::string words, meaning; std::getline(lines, words, '\t') && std::getline(lines, meaning);) {
    std::istringstream each(words);
    for (std::string word; std::getline(each >> std::ws, word, ',');) {
      if (equal_ignoring_case(word, name)) into.add("word", words, meaning, "docs/start/concepts.md#words");
    }
  }
}

// Adds the fields of a policy that have the name, or among whose words it is: "Auto" of gidIndex.
void look_up_field(std::string_view name, Answer& into) {
  const auto is_word = [&](const std::string& word) {
    return word.front() >= 'A' && word.front() <= 'Z' && equal_ignoring_case(word, name);
  };
  described::each_field<NcclPolicy>([&](const auto& field) {
    if (equal_ignoring_case(field.name, name) || std::ranges::any_of(names_in(field.means), is_word))
      into.add("field", {field.name, field.means, {}, Impact::Policy, "docs/reference/policy-reference.md"});
  });
}

// Adds the failure that a line of NCCL's log tells, or its end: "error 12", "status=12".
void read_line(const std::string& asked, Answer& into) {
  const bool end = asked.starts_with("error ") || asked.starts_with("status=");
  const auto failure = read_nccl_failure((end ? "Got completion with " : "") + asked, true);
  if (failure && failure->code != Code::UnknownWarning) into.add("finding", words_of(failure->code));
}

// Adds the sections of pages whose headings have all the words, or stand in them: alerts, symptoms, subjects.
void find_sections(const std::string& asked, Answer& into) {
  std::istringstream lines{std::string(kSections)};
  const std::vector<std::string> words = names_in(lower_case(asked));
  for (std::string document, heading; lines >> document && std::getline(lines >> std::ws, heading);) {
    const std::size_t tab = std::min(heading.find('\t'), heading.size());
    const std::string meaning = heading.substr(std::min(tab + 1, heading.size()));
    heading.resize(tab);
    const std::vector<std::string> held = names_in(lower_case(heading));
    const auto is_held = [&](const std::string& word) { return std::ranges::find(held, word) != held.end(); };
    const bool in_line =
        held.size() > 1 && std::search(words.begin(), words.end(), held.begin(), held.end()) != words.end();
    if (!words.empty() && (in_line || std::ranges::all_of(words, is_held)))
      into.add("section", heading, meaning, document);
  }
}

std::string near_to(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Reason reason : all_reasons()) names.push_back(to_string(reason));
  for (const Code code : all_codes()) names.push_back(to_string(code));
  for (const Variable* variable : all_variables()) names.push_back(variable->name);
  for (std::string_view rest = kSections; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    const std::string_view line = rest.substr(0, rest.find_first_of("\t\n"));
    names.push_back(line.substr(line.find(' ') + 1));
  }
  for (std::string_view rest = kWords; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    names.push_back(rest.substr(0, rest.find_first_of(",\t")));
  const std::string_view found = nearest(name, names, name.size() / 5 + 1);
  return found.empty() ? "; without a name it lists all reasons and findings"
                       : ": do you mean " + std::string(found) + "?";
}

// The whole text first, then names in it, then what it may tell.
int tell_what(const WhatArguments& arguments, const Console& terminal) {
  const auto& [words] = arguments;
  const std::string asked = join(words, " ");
  Answer answer;
  look_up(asked, answer);
  if (answer.empty()) look_up_word(asked, answer);
  if (answer.empty()) look_up_field(asked, answer);
  if (answer.empty()) {
    for (const std::string& name : names_in(asked)) look_up(name, answer);
  }
  if (answer.empty()) {
    read_line(asked, answer);
    find_sections(asked, answer);
  }
  if (answer.empty())
    return stop(terminal, program::kUsage,
                "what: " + asked +
                    " is neither a reason, a finding, a variable, a word of a policy or of "
                    "docs/start/concepts.md, an alert nor in a heading of docs" +
                    near_to(asked));
  answer.print(asked.empty(), terminal);
  return program::kDone;
}

}  // namespace

void add_what(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(parent,
                                {"what",
                                 "Tell what a reason, a finding, a variable or a line of NCCL's log means, "
                                 "and what to do; of an alert, a symptom or a subject which section tells.",
                                 "nccl-env what GidNotUniform"},
                                tell_what);
  app.add_option("NAME", to.words,
                 "In any case: NoTable, PortDown, NCCL_IB_TC, error 12, strict; default: all reasons and "
                 "findings, in a line")
      ->type_name("");
}

}  // namespace nccl_env::cli
