// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"
#include "commands/described_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/findings/glossary.h"
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
  void add(const Engine& engine) {
    const std::string meaning = "In spec.engines: " + std::string(engine.used_by) + ".";
    std::vector<std::string_view> names;
    for (const EngineVariable& variable : engine.variables) {
      if (variable.render) names.push_back(variable.row.name);
    }
    add("engine", {engine.name, meaning, {}, Impact::None, "docs/use/policy.md#engines"},
        {meaning, names.empty() ? std::string() : "Variables: " + join(names) + "."});
  }
  void add(const DescribedField& field) {
    add("field of " + std::string(field.object), {field.path, field.means, {}, Impact::None, field.document},
        {std::string(field.means),
         field.words.empty() ? std::string() : "One of " + join(field.words) + "."});
  }
  void add(const Term& term) {
    std::string sentence = std::string(term.meaning) + ".";
    if (is_lower_letter(sentence.front())) sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
    add("word", {term.words, term.meaning, {}, Impact::None, term.document}, {sentence});
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
void look_up(std::string_view name, bool also_words, Answer& into) {
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
  if (!also_words) return;
  for (const Term& term : glossary()) {
    const auto words = words_in(term);
    if (is_asked(term.words) || std::ranges::any_of(words, is_asked)) into.add(term);
  }
  // A field by the end of its path, or by a word that it takes.
  const auto ends_path = [&](std::string_view path) {
    return is_asked(path) || (path.size() > name.size() && path[path.size() - name.size() - 1] == '.' &&
                              equal_ignoring_case(path.substr(path.size() - name.size()), name));
  };
  for (const Engine* engine : other_engines()) {
    if (is_asked(engine->name)) into.add(*engine);
  }
  for (const DescribedField& field : described_fields()) {
    if (ends_path(field.path) || std::ranges::any_of(field.words, is_asked)) into.add(field);
  }
}

bool is_of_name(char c) {
  return is_alphanumeric(c) || c == '_' || c == '.' || c == '-';
}

// The names in what a person pastes: "NcclEnvPortDown (alert", "! gpu-3 PortDown", "NCCL_IB_TC=106",
// "ports[0].state". At most 64.
std::vector<std::string> names_in(std::string_view pasted) {
  constexpr std::size_t kMost = 64;
  std::vector<std::string> names;
  std::string name;
  const auto end = [&] {
    name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
    while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
    if (!name.empty() && names.size() < kMost) names.push_back(name);
    name.clear();
  };
  for (std::size_t at = 0; at < pasted.size(); ++at) {
    const std::size_t close = pasted[at] == '[' ? pasted.find(']', at) : pasted.npos;
    const bool index = close != pasted.npos && !name.empty() &&
                       std::all_of(pasted.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                   pasted.begin() + static_cast<std::ptrdiff_t>(close), is_digit);
    if (index) {
      at = close;
    } else if (is_of_name(pasted[at])) {
      name += pasted[at];
    } else {
      end();
    }
  }
  end();
  return names;
}

std::string near_to(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Reason reason : all_reasons()) names.push_back(to_string(reason));
  for (const Code code : all_codes()) names.push_back(to_string(code));
  for (const Variable* variable : all_variables()) names.push_back(variable->name);
  const std::vector<DescribedField> fields = described_fields();
  for (const Term& term : glossary()) {
    for (const std::string_view word : words_in(term)) names.push_back(word);
  }
  for (const DescribedField& field : fields)
    names.push_back(std::string_view(field.path).substr(field.path.rfind('.') + 1));
  const std::string last = name.substr(name.rfind('.') + 1);
  const std::string_view found = nearest(last, names, last.size() / 5 + 1);
  return found.empty() ? "; without a name it lists all reasons and findings"
                       : ": do you mean " + std::string(found) + "?";
}

// Several names, each a word of the command line: says which of them are not known. A pasted line has other
// words.
void tell_unknown(const std::vector<std::string>& words, std::ostream& err) {
  const auto is_name = [](const std::string& word) { return std::ranges::all_of(word, is_of_name); };
  if (words.size() < 2 || !std::ranges::all_of(words, is_name)) return;
  std::vector<std::string> unknown;
  for (const std::string& word : words) {
    Answer answer;
    look_up(word, true, answer);
    if (answer.empty()) unknown.push_back(word + near_to(word));
  }
  for (const std::string& each : unknown) {
    if (unknown.size() < words.size()) err << "nccl-env: what: not known: " << each << '\n';
  }
}

// The whole text first, then names in it, words of the glossary last: "alert" or "port" may stand beside one.
int tell_what(const WhatArguments& arguments, const Console& terminal) {
  const auto& [words] = arguments;
  const std::string asked = join(words, " ");
  Answer answer;
  look_up(asked, true, answer);
  if (answer.empty()) {
    std::string apart = asked;  // opt-out
    std::ranges::replace(apart, '-', ' ');
    look_up(apart, true, answer);
  }
  const std::vector<std::string> names = names_in(asked);
  for (const bool also_words : {false, true}) {
    if (!answer.empty()) break;
    for (const std::string& name : names) look_up(name, also_words, answer);
  }
  if (answer.empty())
    return stop(terminal, program::kUsage,
                "what: " + asked +
                    " is neither a reason nor a finding, a variable, a field or a word of ours" +
                    near_to(asked));
  answer.print(terminal);
  tell_unknown(words, terminal.err);
  return program::kDone;
}

}  // namespace

void add_what(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(parent,
                                {"what",
                                 "Tell what a word of nccl-env means, and what to do: a reason, a finding, "
                                 "an alert, a variable, a field "
                                 "of a policy or table, a word such as rail.",
                                 "nccl-env what GidNotUniform"},
                                tell_what);
  app.add_option(
         "NAME", to.words,
         "In any case: NoTable, PortDown, NCCL_IB_TC, spec.delivery, rail; default: all reasons and findings")
      ->type_name("");
}

}  // namespace nccl_env::cli
