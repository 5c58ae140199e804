// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "commands/sections.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/nccl_log/log_verify.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct WhatArguments {
  std::vector<std::string> words;  // as they were pasted; none: all reasons and findings
};

std::string takes(const Variable& variable) {
  const std::string kind(to_string(variable.kind)), choices = join(variable.choices);
  if (variable.kind == ValueKind::Integer)
    return kind + " from " + std::to_string(variable.min) + " to " + std::to_string(variable.max) +
           (choices.empty() ? "" : ", or " + choices);
  if (!choices.empty()) return kind + ": " + choices;
  return kind + (variable.max > 0 ? ", at most " + std::to_string(variable.max) : "");
}

constexpr std::array<std::string_view, 4> kRanksTexts{
    "Each node may need another value.", "All ranks on one fabric should have the same value.",
    "All ranks have to have the same value.", "Ranks may have different values."};

// A name, and what it means.
struct Told {
  std::string kind, names, meaning, more, document;  // names: with ", " between; more: the remedy, or a note
  std::optional<Impact> impact = {};
  std::string terms = {}, symptoms = {};  // what a section quotes and is for, with | between
};
using Book = std::vector<Told>;

using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  std::istringstream parts(text);
  Words all;
  for (std::string part; std::getline(parts >> std::ws, part, at);) all.push_back(part);
  return all;
}

Told told_of(const char* kind, const Named& words) {
  const bool differs = words.remedy.empty() && kind == std::string_view("finding");
  std::string terms;
  const Words parts = split(std::string(words.meaning) + " " + std::string(words.remedy), '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) terms += parts[i] + "|";
  return {kind,
          std::string(words.name),
          std::string(words.meaning),
          differs ? "Each one that is told says what to do, or what is expected." : std::string(words.remedy),
          std::string(words.document),
          words.impact,
          terms};
}

void add_pages(Book& into) {
  std::istringstream lines{std::string(kPages)};
  for (std::string line; std::getline(lines >> std::ws, line);) {
    std::istringstream fields(line);
    Told& told = into.emplace_back();
    for (std::string Told::*field :
         {&Told::kind, &Told::document, &Told::names, &Told::meaning, &Told::terms, &Told::symptoms})
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
                   "Takes " + takes(*variable) + ". " + std::string(name_in(kRanksTexts, variable->ranks)),
                   std::string(variable->note), "docs/reference/variables.md"});
  add_pages(all);
  return all;
}

OrderedJson to_json(const Book& found) {
  OrderedJson names = OrderedJson::array();
  for (const auto& [kind, name, meaning, more, document, impact, terms, symptoms] : found) {
    names.push_back({{"name", name}, {"kind", kind}, {"meaning", meaning}, {"document", document}});
    names.back()[kind == "variable" ? "note" : "remedy"] = text_or_null(more);
    if (impact) names.back()["impact"] = to_string(*impact);
  }
  return {{"names", names}};
}

// `list`: names and meanings alone. Else the first in full, the others by their names.
void print(Book found, bool list, const Console& terminal) {
  if (is_document(terminal.form)) return print_document(to_json(found), terminal.form, terminal.out);
  TextColumns first(0), others(0);
  for (Told& each : found) {
    const bool whole = !list && &each == &found.front();
    TextColumns& columns = whole ? first : others;
    if ((list || whole) && !each.meaning.empty()) columns.add({std::exchange(each.names, ""), each.meaning});
    if (whole && !each.more.empty()) columns.add({"", each.more});
    if (!list) columns.add({each.names, "(" + each.kind + ", " + each.document + ")"});
  }
  terminal.out << first.render() << others.render();
}

// The names in what a person pastes: "! gpu-3 PortDown", "NCCL_IB_TC=106".
constexpr std::size_t kMostWords = 128;  // the longest row of the catalogue has 83
Words names_in(std::string text) {
  const auto is_other = [](char c) { return !is_alphanumeric(c) && c != '_' && c != '.' && c != '-'; };
  std::ranges::replace_if(text, is_other, ' ');
  std::istringstream words(text);
  Words names;
  for (std::string name; names.size() < kMostWords && words >> name;) {
    name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
    name.erase(name.find_last_not_of(".-") + 1);
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

// The words of a text that matter, in small letters and without a plural's s. `parted`: TimedOut is two.
Words words_in(std::string text, bool parted = false) {
  constexpr std::string_view kLittle =
      " a an the my our i it is are was has do does how to job nccl not stuck using training ";
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool begins = text[i] >= 'A' && text[i] <= 'Z' && text[i - 1] >= 'a' && text[i - 1] <= 'z';
    if (parted && begins) text.insert(i++, " ");
    if (text[i] == '_' || text[i] == '-') text[i] = ' ';
  }
  Words words;
  for (std::string word : names_in(lower_case(text))) {
    if (word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
    if (kLittle.find(" " + word + " ") == kLittle.npos) words.push_back(word);
  }
  return words;
}

// Whether the words stand there side by side.
bool runs(const Words& all, const Words& words) {
  return !words.empty() && std::search(all.begin(), all.end(), words.begin(), words.end()) != all.end();
}

bool holds(const Words& all, const Words& words) {
  const auto is_there = [&](const std::string& word) { return std::ranges::count(all, word) > 0; };
  return !words.empty() && std::ranges::all_of(words, is_there);
}

// The lines of a log that the text may be, or be a part of: "error 12" of a completion, 110 of ibv_modify_qp.
Words lines_of(const std::string& text) {
  const std::string small = lower_case(text), mark = "gpu-1:1:1 [0] NCCL ";
  const std::size_t begin = small.starts_with("error ") ? 6 : small.starts_with("status") ? 7 : text.size();
  const std::string end = text.substr(std::min(begin, text.size()));
  constexpr int kMostStatus = 18;  // that users of NCCL see; above it more often an errno
  if (small[0] == 'e' && plain_decimal(end).value_or(0) > kMostStatus)
    return {mark + "WARN Call to ibv_modify_qp failed with " + end};
  if (is_digit(end[0]) || end[0] == 'I') return {mark + "WARN Got completion with status=" + end};
  Words lines{text};
  for (std::string form :
       {"INFO %", "INFO Channel 00 : 0 -> 1 %", "WARN Got async event: %", "WARN %",
        "WARN Call to ibv_alloc_pd failed with error %", "WARN Call to % failed", "Test NCCL failure '%'"})
    lines.push_back(mark + form.replace(form.find('%'), 1, text));
  return lines;
}

// Returns what verify finds in the line, or in such a part of one; "": nothing.
std::string code_of_line(std::string asked, bool of_two = false) {
  while (asked.ends_with('.')) asked.pop_back();
  for (const std::string& line : lines_of(asked)) {
    NcclLogReader reader;
    reader.read_line(line, false);
    if (of_two && line.starts_with("gpu-1:"))
      reader.read_line("gpu-2" + line.substr(5), false);  // between two nodes
    for (const Finding& finding : verify_log(reader.log(), {}).findings) {
      const bool of_a_word = finding.code == Code::EndedElsewhere && asked.find(' ') == asked.npos;
      if (finding.code != Code::UnknownWarning && !of_a_word) return std::string(to_string(finding.code));
    }
  }
  return {};
}

// Ranks what is told by how near it is to what was asked for.
class Asked {
 public:
  static constexpr int kNone = 16, kWeak = 13;  // a word of many remedies or quotes tells nothing
  Asked(std::string text, const Book& all) : text_(std::move(text)) {
    for (const std::string& each : split(join(all, "|", [](const Told& told) { return told.symptoms; }), '|'))
      if (symptom_.empty() && holds(words_in(each), words_)) symptom_ = code_of_line(each);
  }

  // The first way in which it is near, the nearest first; kNone: it is not.
  [[nodiscard]] std::ptrdiff_t rank(const Told& told) const {
    const bool named = has_name(told, text_), field = told.kind == "field", section = told.kind == "section";
    const bool finding = told.kind == "finding" || told.kind == "reason";
    const bool coded = finding || told.kind == "variable";
    const Words held = words_in(told.names);               // by a heading
    const auto is_inside = [&](const std::string& name) {  // and is no word of the language
      const bool special = coded || name.starts_with("NcclEnv");
      return (name.find('_') != name.npos || (special && name != lower_case(name))) && has_name(told, name);
    };
    const bool ways[kNone] = {
        named && coded,
        told.kind == "answer" && std::ranges::count(split(told.names, ','), text_) > 0,
        named && told.kind == "word",
        named && field,
        finding && has_phrase(told.terms),
        finding && has_name(told, line_),
        has_phrase(told.terms),
        section && holds(words_, held) && words_.size() <= held.size() + (held.size() > 1 ? 2 : 0),
        std::ranges::any_of(names_in(text_), is_inside),
        (finding || section) && holds(words_in(told.names, true), words_),
        finding && has_name(told, symptom_),
        is_quoted(told.symptoms, kMostWords),
        (finding || field) && runs(words_in(told.meaning), words_),
        finding && runs(words_in(told.meaning + " " + told.more), words_),
        told.kind == "word" ? runs(words_in(told.names + " " + told.meaning), words_)
                            : has_phrase(told.terms, true) || is_quoted(told.terms, 1),
        !field && text_.size() > 3 && lower_case(told.names).find(lower_case(text_)) != text_.npos};
    const auto first = std::ranges::find(ways, true) - std::begin(ways);
    const bool misspelt = first > 0 && text_.starts_with("NCCL_") && names_in(text_).size() == 1;
    return misspelt ? kNone : first;
  }

 private:
  static bool has_name(const Told& told, const std::string& name) {
    return holds(split(lower_case(told.names), ','), {lower_case(name)});
  }
  // Whether it holds a quote of several words, or also a dotted name or a path, but no command.
  [[nodiscard]] bool has_phrase(const std::string& terms, bool also_names = false) const {
    const Words all = names_in(lower_case(text_));
    return std::ranges::any_of(split(lower_case(terms), '|'), [&](const std::string& term) {
      const Words words = names_in(term);
      const bool several = words.size() > 1 && term.find(' ') != term.npos,
                 name = words.size() > 1 || term.find('.') < term.size() - 1;
      return (several || (also_names && name && term.back() != '/')) && !term.starts_with("kubectl ") &&
             !term.starts_with("nccl-env ") && runs(all, words);
    });
  }
  // `more`: words that a quote may have beside those asked for.
  [[nodiscard]] bool is_quoted(const std::string& terms, std::size_t more) const {
    return std::ranges::any_of(split(terms, '|'), [&](const std::string& term) {
      const Words words = words_in(term);
      return words.size() <= words_.size() + more && holds(words, words_);
    });
  }

  const std::string text_;
  const Words words_ = words_in(text_);
  const std::string line_ = code_of_line(text_);
  // Told by two nodes; else what the first symptom that has the words tells as a line.
  std::string symptom_ = code_of_line(text_, true);
};

// The section whose heading or symptoms have the rarest of the words; the index where none has one.
std::string page_near(const std::string& asked, const Book& all) {
  std::map<std::size_t, std::string> by_use{{9, "docs/README.md"}};
  for (const std::string& word : words_in(asked)) {
    std::map<std::size_t, std::string> with;  // those that say least first
    for (const Told& told : all) {
      const Words own = told.kind == "section" ? words_in(told.names + " " + told.symptoms, true) : Words();
      if (holds(own, {word})) with.emplace(own.size(), told.document);
    }
    if (!with.empty() && word.size() > 2) by_use.emplace(with.size(), with.begin()->second);
  }
  return by_use.begin()->second;
}

std::string not_found(const std::string& asked, const Book& all) {
  std::vector<std::string_view> names;
  for (const Told& told : all) names.push_back(std::string_view(told.names).substr(0, told.names.find(',')));
  const std::string_view near = nearest(asked, names, asked.size() / 5 + 1);
  return "what: " + asked + ": neither nccl-env nor a failure of NCCL's network is called so" +
         (near.empty() ? "." : ": do you mean " + std::string(near) + "?") +
         " For a log: nccl-env verify FILE; for a pod: nccl-env explain pod/NAME; for what is not the "
         "network's: docs/use/troubleshooting.md#not-the-network; nearest: " +
         page_near(asked, all);
}

int tell_what(const WhatArguments& arguments, const Console& terminal) {
  std::string text = join(arguments.words, " ");
  const Book all = all_told();
  const std::string key = text.substr(0, text.find_first_of(":=")),
                    last = key.substr(key.rfind('.') + 1);  // "spec.hcas: x"
  if (std::ranges::find(all, last, &Told::names) != all.end()) text = last;
  Book found;
  const Asked asked(text, all);
  std::multimap<std::ptrdiff_t, const Told*> ranked;
  for (const Told& told : all) {
    if (text.empty() && told.impact) found.push_back(told);
    if (!text.empty()) ranked.emplace(asked.rank(told), &told);
  }
  for (std::ptrdiff_t weak = Asked::kWeak; weak < Asked::kNone; ++weak)
    if (ranked.count(weak) > 4) ranked.erase(weak);
  const auto least = ranked.empty() ? Asked::kNone : ranked.begin()->first;
  const std::size_t most = least < 3 ? 1 : 4;
  for (const auto& [rank, told] : ranked) {
    const bool tells = rank < Asked::kWeak || (rank == least && rank < Asked::kNone);
    if (tells && found.size() < most) found.push_back(*told);
  }
  if (found.empty()) return stop(terminal, program::kUsage, not_found(text, all));
  print(std::move(found), text.empty(), terminal);
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
