// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"

#include <algorithm>

namespace nccl_env {
namespace {

using std::string_view;

// A launcher's script has some KiB. What is longer is read up to this limit, and nothing of it is certain.
constexpr std::size_t kMostRead = 64u << 10;
constexpr int kMaxDepth = 4;

bool is_one_of(string_view word, std::initializer_list<string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

// Cuts a shell's text into simple commands; a here-document is a command of one word. Nothing is certain
// behind what it does not follow: a compound command, a function, a here-document, a quote without its end.
class Script {
 public:
  Script(string_view text, bool certain, const CommandUse& use) : left_(text), certain_(certain), use_(use) {}

  void read() {
    while (!left_.empty()) read_one(take());
    end_command();
  }

 private:
  void read_one(char c) {
    if (c == '#' && !in_word_) return skip_to('\n');
    if (string_view(" \t\r").find(c) != string_view::npos) return end_word();
    if (string_view("\n;&|()").find(c) != string_view::npos) return end_by(c);
    if (c == '<' || c == '>') return redirect(c);
    if (c == '$' || c == '`') return expand(c);
    if (c == '\\') {
      if (const char next = take(); next != '\n') add(next);
    } else if (c == '\'' || c == '"') {
      read_quoted(c);
    } else {
      add(c);
      word_.literal = word_.literal && string_view("*?[{~").find(c) == string_view::npos;  // patterns
    }
  }

  void read_quoted(char quote) {
    in_word_ = true;
    while (!left_.empty() && left_.front() != quote) {
      const char c = take();
      if (quote == '\'' || string_view("\\$`").find(c) == string_view::npos) {
        add(c);
      } else if (c != '\\') {
        expand(c);
      } else if (const char next = take(); next != '\n') {
        add(next);
      }
    }
    certain_ = certain_ && !left_.empty();
    take();
  }

  // $NAME, ${…}, $(…), `…`.
  void expand(char c) {
    in_word_ = true;
    word_.literal = false;
    const char opens = c == '$' && !left_.empty() ? left_.front() : c;
    const char closes = opens == '(' ? ')' : opens == '{' ? '}' : '`';
    if (c == '$' && closes == '`') return skip_name();
    if (c == '$') take();
    for (std::size_t depth = 1; depth > 0 && !left_.empty();) {
      const char next = take();
      if (next == closes) {
        --depth;
      } else if (next == opens) {
        ++depth;
      }
      if (opens != '{') word_.inner += next;
      if (opens != '{' && next == '$') skip_name();
    }
    certain_ = certain_ && !left_.empty();
  }

  void redirect(char c) {
    if (word_.text.find_first_not_of("0123456789") != string_view::npos) end_word();
    word_ = {};  // 2>
    in_word_ = false;
    certain_ = certain_ && !(c == '<' && left_.starts_with('<'));
    skip_word_ = c == '<' && left_.starts_with('<') && !left_.starts_with("<<") ? 'h' : c;
    while (left_.starts_with(c) || left_.starts_with('&') || (c == '>' && left_.starts_with('|'))) take();
  }

  void end_word() {
    // Behind the first seven a simple command may begin; the others open something.
    constexpr std::array<string_view, 14> kReserved{"then",  "else",  "elif",     "do",  "!",
                                                    "time",  "fi",    "if",       "for", "case",
                                                    "while", "until", "function", "{"};
    if (!std::exchange(in_word_, false)) return;
    CommandWord word = std::exchange(word_, {});
    const char skipped = std::exchange(skip_word_, '\0');
    if (skipped == 'h') here_end_ = word.text;
    if (skipped == '>') use_({{">"}, word}, false);
    if (skipped != '\0') return;
    const auto found = std::find(kReserved.begin(), kReserved.end(), word.text);
    if (!words_.empty() || found == kReserved.end()) return words_.push_back(std::move(word));
    certain_ = certain_ && found < kReserved.begin() + 7;
  }

  void end_by(char c) {
    if (c == '&' && left_.starts_with('>')) return redirect(take());
    const bool had_words = end_command();
    const bool twice = (c == '&' || c == '|') && left_.starts_with(c);
    if (twice) take();
    if (c == '\n' && !here_end_.empty()) read_here_document();
    certain_ = certain_ && c != '(';
    behind_ = twice || c == '|' || (behind_ && c == '\n' && !had_words);
  }

  // Behind the line that has its `<<`. Where its end is not found, it is all that follows.
  void read_here_document() {
    const std::string last = std::exchange(here_end_, {});
    const string_view from_here = left_;
    for (bool ended = false; !ended && !left_.empty();) {
      const string_view line = left_.substr(0, left_.find('\n'));
      ended = line == last;
      left_.remove_prefix(std::min(line.size() + 1, left_.size()));
    }
    use_({{std::string(from_here.substr(0, from_here.size() - left_.size()))}}, false);
  }

  bool end_command() {
    end_word();
    skip_word_ = '\0';
    if (words_.empty()) return false;
    const bool certain = certain_ && !behind_;
    use_(words_, certain);
    const string_view first = words_.front().text;
    if (certain && (first == "exit" || (first == "exec" && words_.size() > 1))) certain_ = false;
    words_.clear();
    return true;
  }

  // The name behind `$` or `${`.
  void skip_name() {
    left_.remove_prefix(std::min(left_.find_first_not_of(kLetters, left_.starts_with('{')), left_.size()));
  }
  void skip_to(char end) { left_.remove_prefix(std::min(left_.find(end), left_.size())); }
  void add(char c) {
    word_.text += c;
    in_word_ = true;
  }
  // '\n' behind the end.
  char take() {
    if (left_.empty()) return '\n';
    const char c = left_.front();
    left_.remove_prefix(1);
    return c;
  }

  string_view left_;
  bool certain_;
  const CommandUse& use_;
  CommandWords words_;
  CommandWord word_;
  bool in_word_ = false;
  char skip_word_ = '\0';  // the next one: it ends a here-document ('h'), or is a file's name (<, >)
  std::string here_end_;   // of the one that begins with the next line
  bool behind_ = false;    // &&, || or |
};

bool is_assignment(string_view word) {
  const std::size_t equals = word.find_first_not_of(kLetters);
  return equals != string_view::npos && equals > 0 && word[equals] == '=';
}

// The place of the script that a shell is given; the number of words where there is none.
std::size_t script_of(const CommandWords& words) {
  std::size_t at = program_of(words);
  if (at == words.size() ||
      !is_one_of(base_name(words[at].text), {"sh", "bash", "dash", "ash", "zsh", "ksh"}))
    return words.size();
  bool is_script = false;
  for (++at; at < words.size() && words[at].text.find_first_of("-+") == 0; ++at) {
    const string_view option = words[at].text;
    is_script = is_script || (!option.starts_with("--") && option.find('c') != string_view::npos);
    if (option.ends_with('o')) ++at;  // pipefail
  }
  return is_script ? std::min(at, words.size()) : words.size();
}

// True for commands that tell, test or take away what their words name.
bool only_tells(const CommandWords& words) {
  const std::size_t program = program_of(words);
  return program < words.size() &&
         is_one_of(base_name(words[program].text), {"echo", "printf", "[", "[[", "test", "unset", "grep",
                                                    "egrep", "sed", "awk", "printenv", ">"});
}

void read_command(const CommandWords& words, bool certain, int depth, const CommandUse& use) {
  use(words, certain);
  if (depth == kMaxDepth || only_tells(words)) return;
  const std::size_t script = script_of(words);
  const CommandUse deeper = [&](const CommandWords& inner, bool runs) {
    read_command(inner, runs, depth + 1, use);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Nothing is certain of words that are scripts for whoever reads them. A container's own are whole.
    const bool runs = certain && i == script && (depth == 0 || words[i].literal);
    if (runs || words[i].text.find_first_of(" \t\n;") != string_view::npos)
      Script(words[i].text, runs, deeper).read();
  }
}

}  // namespace

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::size_t program_of(const CommandWords& words) {
  std::size_t at = 0;
  while (at < words.size()) {
    const bool before = is_one_of(base_name(words[at].text),
                                  {"env", "exec", "nohup", "command", "sudo", "tini", "dumb-init"});
    if (!before && !is_assignment(words[at].text)) break;
    for (++at; before && at < words.size() && words[at].text.starts_with('-'); ++at) {
      if (words[at].text == "-u") ++at;  // env -u NAME, sudo -u USER
    }
  }
  return std::min(at, words.size());
}

void each_command(const Container& container, const CommandUse& use) {
  CommandWords words;
  std::size_t bytes = 0;
  for (const string_view argument : container.arguments) {
    words.push_back(
        {std::string(argument.substr(0, kMostRead - bytes)), argument.find("$(") == argument.npos});
    bytes = std::min(kMostRead, bytes + argument.size());
  }
  if (!words.empty()) read_command(words, bytes < kMostRead, 0, use);
}

bool may_set(const Container& container, std::string_view name) {
  bool named = false, sets = false;
  std::size_t bytes = 0;
  for (const string_view argument : container.arguments) {
    named = named || argument.find(name) != argument.npos;
    bytes += argument.size();
  }
  if (!named || bytes >= kMostRead) return named;
  each_command(container, [&](const CommandWords& words, bool) {
    const std::size_t script = script_of(words), program = program_of(words);
    for (std::size_t i = 0; i < words.size() && !sets; ++i) {
      const string_view text = i == script ? string_view() : words[i].text;  // a script's own are to come
      if (text.find(name) != text.npos || words[i].inner.find(name) != text.npos)
        sets = i < program ? is_assignment(words[i].text) : !only_tells(words);
    }
  });
  return sets;
}

std::string_view written_of(const Container& container, std::span<const std::string_view> paths) {
  constexpr std::size_t kMostLooked = 16 << 10;  // of a longer one it is enough that it names the file
  std::size_t bytes = 0;
  for (const string_view argument : container.arguments) bytes += argument.size();
  const auto is_named = [&](string_view path) {
    const string_view text = bytes > kMostLooked ? path : base_name(path);
    return std::any_of(container.arguments.begin(), container.arguments.end(),
                       [&](string_view argument) { return argument.find(text) != argument.npos; });
  };
  const auto named = std::find_if(paths.begin(), paths.end(), is_named);
  if (named == paths.end()) return {};
  if (bytes > kMostLooked) return *named;
  string_view written;
  each_command(container, [&](const CommandWords& words, bool) {
    const std::size_t program = program_of(words);
    if (program == words.size()) return;
    const string_view name = base_name(words[program].text);
    const bool edits = name == "sed" && std::any_of(words.begin(), words.end(), [](const CommandWord& word) {
                         return word.text.starts_with("-i");
                       });
    const bool any = edits || is_one_of(name, {">", "tee", "mv", "rm"});
    const bool last = is_one_of(name, {"cp", "ln", "install"});
    // Into a folder with the name that it has.
    const std::string into = last && words.size() > program + 2
                                 ? words.back().text + (words.back().text.ends_with('/') ? "" : "/") +
                                       std::string(base_name(words[words.size() - 2].text))
                                 : "";
    for (const string_view path : paths) {
      const auto is_path = [&](string_view text) {
        return text == path || (path.starts_with("/.") && text.ends_with(path));
      };
      bool found = (last && is_path(words.back().text)) || is_path(into);
      for (std::size_t i = program + 1; any && i < words.size(); ++i) found = found || is_path(words[i].text);
      if (found && written.empty()) written = path;
    }
  });
  return written;
}

}  // namespace nccl_env
