// SPDX-License-Identifier: Apache-2.0
// fnmatch(3) is not used: glibc's tries every split at every '*', and globs come from files.
#include "nccl_env/core/text/glob.h"

#include <cstddef>

#include "text/quote.h"

namespace nccl_env {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// One step of a glob that is not '*': how long it is and whether it takes this character.
struct Step {
  std::size_t length = 1;
  bool matches = false;
  bool backwards = false;  // a range in it begins behind its end
};

unsigned char byte(char c) {
  return static_cast<unsigned char>(c);
}

// A character inside brackets, after a backslash if there is one; advances past it.
char bracket_character(std::string_view glob, std::size_t& at) {
  if (glob[at] == '\\' && at + 1 < glob.size()) ++at;
  return glob[at++];
}

// Precondition: glob[0] is '['. The length is kNone where no bracket closes it.
Step bracket_step(std::string_view glob, char c) {
  std::size_t at = 1;
  const bool inverted = at < glob.size() && (glob[at] == '!' || glob[at] == '^');
  if (inverted) ++at;
  bool found = false, backwards = false;
  for (bool first = true; at < glob.size(); first = false) {
    if (glob[at] == ']' && !first) return {at + 1, found != inverted, backwards};
    const char low = bracket_character(glob, at);
    char high = low;
    if (at + 1 < glob.size() && glob[at] == '-' && glob[at + 1] != ']') {
      ++at;
      high = bracket_character(glob, at);
    }
    if (byte(low) <= byte(c) && byte(c) <= byte(high)) found = true;
    backwards = backwards || byte(low) > byte(high);
  }
  return {kNone, false};
}

// Precondition: glob is not empty.
Step step(std::string_view glob, char c) {
  switch (glob.front()) {
    case '?':
      return {1, true};
    case '[': {
      const Step bracket = bracket_step(glob, c);
      return bracket.length == kNone ? Step{1, c == '['} : bracket;
    }
    case '\\':
      return glob.size() > 1 ? Step{2, c == glob[1]} : Step{1, false};
    default:
      return {1, c == glob.front()};
  }
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t at = 0;
  std::size_t star = kNone;  // the last '*' met: only it may still take more of the text
  std::size_t taken = 0;     // where the text goes on after what that '*' took
  for (std::size_t i = 0; i < text.size();) {
    if (at < glob.size() && glob[at] == '*') {
      star = at++;
      taken = i;
      continue;
    }
    const Step next = at < glob.size() ? step(glob.substr(at), text[i]) : Step{};
    if (next.matches) {
      at += next.length;
      ++i;
    } else if (star != kNone) {
      at = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  while (at < glob.size() && glob[at] == '*') ++at;
  return at == glob.size();
}

std::optional<std::string> glob_problem(std::string_view glob) {
  for (std::size_t at = 0; at < glob.size();) {
    if (glob[at] == '[') {
      const std::string_view rest = glob.substr(at);
      const Step bracket = bracket_step(rest, '\0');
      if (bracket.length == kNone) return in_quotes(glob) + " has a '[' without its ']'";
      if (bracket.backwards) return in_quotes(glob) + " has a range that runs backwards, and matches nothing";
      if (rest.substr(0, bracket.length).find("[:") != kNone) {
        return in_quotes(glob) + " names a character class, which is not supported: write the range, [a-z]";
      }
      at += bracket.length;
    } else if (glob[at] == '\\') {
      if (at + 1 == glob.size()) return in_quotes(glob) + " ends with a backslash";
      at += 2;
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace nccl_env
