// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
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

// A name, and what it means.
struct Told {
  std::string kind, names, meaning, more, document;  // names: with ", " between; more: the remedy, or a note
  std::optional<Impact> impact = {};
  std::string terms = {};  // what a section quotes, with | between
};
using Book = std::vector<Told>;

Told told_of(const char* kind, const Named& words) {
  const bool differs = words.remedy.empty() && kind == std::string_view("finding");
  return {kind,
          std::string(words.name),
          std::string(words.meaning),
          differs ? "Each one that is told says what to do, or what is expected." : std::string(words.remedy),
          std::string(words.document),
          words.impact};
}

void add_pages(const char* kind, std::string_view text, Book& into) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Told& told = into.emplace_back(Told{kind, {}, {}, {}, {}});
    for (std::string Told::*field : {&Told::document, &Told::names, &Told::meaning, &Told::terms})
      std::getline(fields, told.*field, '\t');
  }
}

// All that has a name. A word has one meaning, a reason's before a finding's.
Book all_told() {
  Book all;
  for (const Reason reason : all_reasons()) all.push_back(told_of("reason", words_of(reason)));
  for (const Code code : all_codes()) {
    if (!parse_reason(to_string(code))) all.push_back(told_of("finding", words_of(code)));
  }
  for (const Variable* variable : all_variables())
    all.push_back({"variable", std::string(variable->name),
                   "Takes " + takes(*variable) + ". " + ranks_text(variable->ranks),
                   std::string(variable->note), "docs/reference/variables.md"});
  described::each_field<NcclPolicy>([&](const auto& field) {
    all.push_back(told_of(
        "field", {field.name, field.means, {}, Impact::Policy, "docs/reference/policy-reference.md"}));
  });
  add_pages("word", kWords, all);
  add_pages("section", kSections, all);
  return all;
}

OrderedJson to_json(const Book& found) {
  OrderedJson names = OrderedJson::array();
  for (const auto& [kind, name, meaning, more, document, impact, terms] : found) {
    names.push_back({{"name", name}, {"kind", kind}, {"meaning", meaning}, {"document", document}});
    names.back()[kind == "variable" ? "note" : "remedy"] = text_or_null(more);
    if (impact) names.back()["impact"] = to_string(*impact);
  }
  return {{"names", names}};
}

// `list`: names and meanings alone.
void print(Book found, bool list, const Console& terminal) {
  if (is_document(terminal.form)) return print_document(to_json(found), terminal.form, terminal.out);
  TextColumns columns(0);
  for (Told& each : found) {
    for (const std::string& sentence : {each.meaning, list ? "" : each.more}) {
      if (!sentence.empty()) columns.add({std::exchange(each.names, ""), sentence});
    }
    if (!list || !each.names.empty()) columns.add({each.names, "(" + each.kind + ", " + each.document + ")"});
  }
  terminal.out << columns.render();
}

// The names in what a person pastes: "! gpu-3 PortDown", "NCCL_IB_TC=106".
// At most 64.
std::vector<std::string> names_in(std::string text) {
  constexpr std::size_t kMost = 64;
  const auto is_other = [](char c) { return !is_alphanumeric(c) && c != '_' && c != '.' && c != '-'; };
  std::ranges::replace_if(text, is_other, ' ');
  std::istringstream words(text);
  std::vector<std::string> names;
  for (std::string name; names.size() < kMost && words >> name;) {
    name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
    name.erase(name.find_last_not_of(".-") + 1);
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::istringstream parts(text);
  std::vector<std::string> all;
  for (std::string part; std::getline(parts >> std::ws, part, at);) all.push_back(part);
  return all;
}

// Returns what verify finds in the line, or in such a part of one: "error 12", "via NET/Socket".
std::string code_of_line(const std::string& asked) {
  const bool end = asked.starts_with("error ") || asked.starts_with("status=");
  const std::string mark = "gpu-1:1:1 [0] NCCL ";
  for (const std::string& line : {asked, mark + "INFO " + asked, mark + "INFO Channel 00 : 0 -> 1 " + asked,
                                  mark + "WARN " + (end ? "Got completion with " : "") + asked}) {
    NcclLogReader reader;
    reader.read_line(line, false);
    for (const Finding& finding : verify_log(reader.log(), {}).findings) {
      if (finding.code != Code::UnknownWarning) return std::string(to_string(finding.code));
    }
  }
  return {};
}

// The ways to what was asked for, each tried where those before found nothing.
class Asked {
 public:
  explicit Asked(std::string text) : text_(std::move(text)), words_(names_in(lower_case(text_))) {}

  [[nodiscard]] bool is_code(const Told& told) const {  // "": all reasons and findings
    return text_.empty() ? told.impact && told.kind != "field" : is_of_code(told) && has_name(told, text_);
  }
  [[nodiscard]] bool is_word(const Told& told) const { return told.kind == "word" && has_name(told, text_); }
  // The failure that the line tells; sections whose heading is asked for, or stands in the line.
  [[nodiscard]] bool is_line(const Told& told) const {
    if (told.kind != "section") return told.kind == "finding" && has_name(told, line_);
    const auto held = names_in(lower_case(told.names));
    const auto at = std::search(words_.begin(), words_.end(), held.begin(), held.end());
    return words_ == held || (held.size() > 1 && at != words_.end());
  }
  // A field, also by a word that it takes: "Auto" of gidIndex.
  [[nodiscard]] bool is_field(const Told& told) const {
    const auto takes = [&](const std::string& word) {
      return word.front() >= 'A' && word.front() <= 'Z' && equal_ignoring_case(word, text_);
    };
    return told.kind == "field" &&
           (has_name(told, text_) || std::ranges::any_of(names_in(told.meaning), takes));
  }
  // A name in the text that is no word of the language.
  [[nodiscard]] bool is_inside(const Told& told) const {
    return std::ranges::any_of(names_in(text_), [&](const std::string& name) {
      const bool joined = name.find('_') != name.npos;
      return ((is_of_code(told) && (joined || name != lower_case(name))) ||
              (told.kind == "word" && joined)) &&
             has_name(told, name);
    });
  }
  [[nodiscard]] bool is_heading(const Told& told) const {
    return told.kind == "section" && are_in(names_in(lower_case(told.names)));
  }
  [[nodiscard]] bool is_part(const Told& told) const {
    constexpr std::size_t kLeast = 4;
    return text_.size() >= kLeast && told.kind != "field" &&
           lower_case(told.names).find(lower_case(text_)) != std::string::npos;
  }
  [[nodiscard]] bool is_quoted(const Told& told) const {
    return std::ranges::any_of(split(lower_case(told.terms), '|'), [&](const std::string& term) {
      const bool phrase = term.find_first_of(" /") != term.npos && lower_case(text_).find(term) != term.npos;
      return phrase || are_in(names_in(term));
    });
  }

 private:
  static bool is_of_code(const Told& told) {
    return told.kind == "reason" || told.kind == "finding" || told.kind == "variable";
  }
  static bool has_name(const Told& told, const std::string& name) {
    return std::ranges::any_of(split(told.names, ','),
                               [&](const std::string& each) { return equal_ignoring_case(each, name); });
  }
  [[nodiscard]] bool are_in(const std::vector<std::string>& others) const {
    return !words_.empty() && std::ranges::all_of(words_, [&](const std::string& word) {
      return std::ranges::find(others, word) != others.end();
    });
  }

  const std::string text_;
  const std::vector<std::string> words_;
  const std::string line_ = code_of_line(text_);
};

std::string not_found(const std::string& asked, const Book& all) {
  std::vector<std::string_view> names;
  for (const Told& told : all) names.push_back(std::string_view(told.names).substr(0, told.names.find(',')));
  const std::string_view near = nearest(asked, names, asked.size() / 5 + 1);
  return "what: " + asked + ": neither nccl-env nor a failure of NCCL's network is called so" +
         (near.empty() ? "." : ": do you mean " + std::string(near) + "?") +
         " For a log: nccl-env verify FILE; for a pod: nccl-env explain pod/NAME; for what is not the "
         "network's: "
         "docs/use/troubleshooting.md#three-questions-first";
}

int tell_what(const WhatArguments& arguments, const Console& terminal) {
  constexpr std::size_t kMostParts = 9;
  const std::string text = join(arguments.words, " ");
  const Book all = all_told();
  const Asked asked(text);
  for (const auto is_asked : {&Asked::is_code, &Asked::is_word, &Asked::is_line, &Asked::is_field,
                              &Asked::is_inside, &Asked::is_heading, &Asked::is_part, &Asked::is_quoted}) {
    Book found;
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const Told& told) { return (asked.*is_asked)(told); });
    const bool parts = is_asked == &Asked::is_part;
    if (found.empty() || (parts && found.size() > kMostParts)) continue;
    print(std::move(found), text.empty() || parts, terminal);
    return program::kDone;
  }
  return stop(terminal, program::kUsage, not_found(text, all));
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
