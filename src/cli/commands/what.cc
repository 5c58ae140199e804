// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "commands/sections.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/nccl_log/log_verify.h"
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

struct PageRow {
  std::string document, names, meaning, terms;
};

// The rows of kSections or kWords.
std::vector<PageRow> rows_of(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::vector<PageRow> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    PageRow& row = rows.emplace_back();
    for (std::string PageRow::*field :
         {&PageRow::document, &PageRow::names, &PageRow::meaning, &PageRow::terms})
      std::getline(fields, row.*field, '\t');
  }
  return rows;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::istringstream parts(text);
  std::vector<std::string> all;
  for (std::string part; std::getline(parts >> std::ws, part, at);) all.push_back(part);
  return all;
}

// Adds the word of the glossary, the metric or the annotation.
void look_up_word(std::string_view name, Answer& into) {
  for (const PageRow& row : rows_of(kWords)) {
    const auto is_asked = [&](const std::string& word) { return equal_ignoring_case(word, name); };
    if (std::ranges::any_of(split(row.names, ','), is_asked))
      into.add("word", row.names, row.meaning, row.document);
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

// Adds what verify finds in the line, or in such a part of one: "error 12", "via NET/Socket".
void read_line(const std::string& asked, Answer& into) {
  const bool end = asked.starts_with("error ") || asked.starts_with("status=");
  const std::string mark = "gpu-1:1:1 [0] NCCL ";
  for (const std::string& line : {asked, mark + "INFO " + asked, mark + "INFO Channel 00 : 0 -> 1 " + asked,
                                  mark + "WARN " + (end ? "Got completion with " : "") + asked}) {
    NcclLogReader reader;
    reader.read_line(line, false);
    for (const Finding& finding : verify_log(reader.log(), {}).findings) {
      if (finding.code != Code::UnknownWarning) return into.add("finding", words_of(finding.code));
    }
  }
}

// How a section may be found. Whole: its heading is asked for, or stands in the line. Heading: that has all
// the words. Terms: what it quotes is the text, or is in it.
enum class Match { Whole, Heading, Terms };

bool is_found(const PageRow& section, const std::string& asked, Match match) {
  constexpr std::size_t kLeast = 4;  // of a phrase that is quoted
  const std::string text = lower_case(asked);
  const std::vector<std::string> words = names_in(text), held = names_in(lower_case(section.names));
  const auto all_in = [&](const std::vector<std::string>& others) {
    return std::ranges::all_of(
        words, [&](const std::string& word) { return std::ranges::find(others, word) != others.end(); });
  };
  if (words.empty()) return false;
  if (match == Match::Whole)
    return words == held || (held.size() > 1 && std::search(words.begin(), words.end(), held.begin(),
                                                            held.end()) != words.end());
  if (match == Match::Heading) return all_in(held);
  return std::ranges::any_of(split(lower_case(section.terms), '|'), [&](const std::string& term) {
    const bool phrase = term.size() >= kLeast && term.find_first_of(" /") != term.npos;
    return (phrase && text.find(term) != text.npos) || all_in(names_in(term));
  });
}

// Adds sections of pages: alerts, symptoms, subjects.
void find_sections(const std::string& asked, Match match, Answer& into) {
  for (const PageRow& row : rows_of(kSections)) {
    if (is_found(row, asked, match)) into.add("section", row.names, row.meaning, row.document);
  }
}

std::set<std::string> all_names() {
  std::set<std::string> names;
  for (const Reason reason : all_reasons()) names.emplace(to_string(reason));
  for (const Code code : all_codes()) names.emplace(to_string(code));
  for (const Variable* variable : all_variables()) names.emplace(variable->name);
  for (const PageRow& row : rows_of(kSections)) names.insert(row.names);
  for (const PageRow& row : rows_of(kWords)) names.insert(split(row.names, ',').front());
  return names;
}

// Adds what has the text in its name, in a line for each: "stale". False if there is none, or are too many.
bool look_up_parts(const std::string& asked, Answer& into) {
  constexpr std::size_t kLeast = 4, kMost = 9;
  std::set<std::string> names = all_names();
  std::erase_if(names, [part = lower_case(asked)](const std::string& name) {
    return lower_case(name).find(part) == std::string::npos;
  });
  if (asked.size() < kLeast || names.size() > kMost) return false;
  for (const std::string& name : names) {
    look_up(name, into);
    look_up_word(name, into);
    find_sections(name, Match::Whole, into);
  }
  return !names.empty();
}

std::string not_found(const std::string& asked) {
  const std::set<std::string> names = all_names();
  const std::string_view near =
      nearest(asked, std::vector<std::string_view>(names.begin(), names.end()), asked.size() / 5 + 1);
  return "what: " + asked + ": neither nccl-env nor a failure of NCCL's network is called so" +
         (near.empty() ? "." : ": do you mean " + std::string(near) + "?") +
         " For a log: nccl-env verify FILE; for a pod: nccl-env explain pod/NAME; for what is not the "
         "network's: "
         "docs/use/troubleshooting.md#three-questions-first";
}

// The whole text first, then names in it, then what it may tell.
int tell_what(const WhatArguments& arguments, const Console& terminal) {
  const std::string asked = join(arguments.words, " ");
  bool list = asked.empty();
  Answer answer;
  look_up(asked, answer);
  if (answer.empty()) look_up_word(asked, answer);
  if (answer.empty()) {
    read_line(asked, answer);
    find_sections(asked, Match::Whole, answer);
  }
  if (answer.empty()) look_up_field(asked, answer);
  for (const std::string& name : answer.empty() ? names_in(asked) : std::vector<std::string>()) {
    const bool is_code = name.find('_') != name.npos;  // else a word of the language, in small letters
    if (is_code || name != lower_case(name)) look_up(name, answer);
    if (is_code) look_up_word(name, answer);
  }
  if (answer.empty()) find_sections(asked, Match::Heading, answer);
  if (answer.empty()) list = look_up_parts(asked, answer);
  if (answer.empty()) find_sections(asked, Match::Terms, answer);
  if (answer.empty()) return stop(terminal, program::kUsage, not_found(asked));
  answer.print(list, terminal);
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
