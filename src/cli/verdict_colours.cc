// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/cli/verdict_colours.h"

#include <array>
#include <utility>

namespace nccl_env::cli {
namespace {

constexpr std::string_view kRed = "\x1b[31m", kYellow = "\x1b[33m", kGreen = "\x1b[32m", kPlain = "\x1b[0m";

using Verdict = std::pair<std::string_view, std::string_view>;  // a word and its colour

// As doctor, nodes, explain, verify, check and policy test write them.
constexpr std::array kVerdicts{Verdict{"error", kRed},      Verdict{"failed", kRed},
                               Verdict{"FAIL", kRed},       Verdict{"contradicted", kRed},
                               Verdict{"overridden", kRed}, Verdict{"!", kRed},
                               Verdict{"warning", kYellow}, Verdict{"not seen", kYellow},
                               Verdict{"ok", kGreen},       Verdict{"used", kGreen}};

// Lines that are indented more continue the one above.
constexpr std::size_t kMostIndent = 2;

// True for a verdict in a column, or before the name of a check or node. Elsewhere such a word is part of a
// sentence.
bool is_verdict(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  const std::string_view rest = text.substr(word.size());
  return rest.starts_with("  ") ||
         (rest.size() > 1 && rest[0] == ' ' && (word == "!" || (rest[1] >= 'A' && rest[1] <= 'Z')));
}

std::string coloured(const std::string& line) {
  const std::size_t at = line.find_first_not_of(' ');
  if (at == line.npos || at > kMostIndent) return line;
  const std::string_view text = std::string_view(line).substr(at);
  for (const auto& [word, colour] : kVerdicts) {
    if (is_verdict(text, word))
      return line.substr(0, at).append(colour).append(word).append(kPlain).append(text.substr(word.size()));
  }
  return line;
}

}  // namespace

bool wants_colours(const char* no_color, const char* term) {
  const bool refused = no_color && *no_color != '\0';
  return !refused && term && *term != '\0' && std::string_view(term) != "dumb";
}

VerdictColours::int_type VerdictColours::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  line_ += traits_type::to_char_type(c);
  if (line_.back() == '\n') {
    out_ << coloured(line_);
    line_.clear();
  }
  return out_ ? c : traits_type::eof();
}

int VerdictColours::sync() {
  out_ << line_ << std::flush;
  line_.clear();
  return out_ ? 0 : -1;
}

}  // namespace nccl_env::cli
