// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/log_mark.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

constexpr std::string_view kMarks[] = {" NCCL INFO ", " NCCL WARN "};

constexpr std::string_view kBareInfo[] = {
    "NET/IB : ",          "NET/IB: ",          "NET/Socket : ",  "NET/OFI ",
    "Bootstrap : Using ", "Bootstrap: Using ", "Using network ", "socketPollConnect: connect to "};
constexpr std::string_view kBareWarnings[] = {"Call to ibv_",
                                              "Call to connect to ",
                                              "Call to recv from ",
                                              "socketStartConnect: Connect to ",
                                              "socketPollConnect: connect to ",
                                              "Net : Connect to ",
                                              "Error while attaching to shared memory segment ",
                                              "Error while creating shared memory segment ",
                                              "Error: failed to extend /dev/shm/",
                                              "NET/IB : Got ",
                                              "NET/IB: Got ",
                                              "Got completion ",
                                              "Bootstrap : no socket interface found",
                                              "Bootstrap: no socket interface found",
                                              "No socket interface found"};

// "gpu-1:984:990" of "[1,0]<stdout>:gpu-1:984:990": a launcher's mark is no part of the host's name. `host`:
// the size of what stands before the process.
std::string_view without_mark(std::string_view word, std::size_t host) {
  const auto is_of_name = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  std::size_t begin = host;
  while (begin > 0 && is_of_name(word[begin - 1])) --begin;
  return begin < host ? word.substr(begin) : word;
}

}  // namespace

LogMark find_mark(std::string_view text, std::size_t from) {
  // At the beginning of a line where what stood before it was left out.
  for (const std::string_view mark : kMarks) {
    if (from == 0 && text.starts_with(mark.substr(1))) return {0, mark == kMarks[1], mark.size() - 1};
  }
  const std::size_t info = text.find(kMarks[0], from);
  const std::size_t warn = text.find(kMarks[1], from);
  const std::size_t at = std::min(info, warn);
  return {at, warn < info, at == text.npos ? 0 : at + kMarks[0].size()};
}

std::string_view prefix_of(std::string_view before) {
  // "[0]", "file.cc:12" and "(function" are all the words that stand between.
  for (int words = 0; words < 6 && !before.empty(); ++words) {
    const std::size_t blank = before.find_last_of(" \t");
    const std::string_view word = blank == before.npos ? before : before.substr(blank + 1);
    const std::size_t last = word.rfind(':');
    const std::size_t middle = last == word.npos || last == 0 ? word.npos : word.rfind(':', last - 1);
    if (middle != word.npos && middle > 0 && is_digits(word.substr(last + 1)) &&
        is_digits(word.substr(middle + 1, last - middle - 1)))
      return without_mark(word, middle);
    if (blank == before.npos) break;
    before = before.substr(0, blank);
  }
  return {};
}

std::string_view behind_rank(std::string_view text) {
  if (const std::size_t close = text.find(") "); text.starts_with('(') && close != text.npos) {
    if (text.substr(0, close).find("pid=") != text.npos) text = trimmed_text(text.substr(close + 2));
  }
  for (int marks = 0; marks < 2 && text.starts_with('['); ++marks) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return text;
    std::string_view rest = text.substr(close + 1);
    if (rest.starts_with('<')) rest = rest.substr(std::min(rest.find('>'), rest.size() - 1) + 1);
    text = trimmed_text(rest.substr(rest.starts_with(':') ? 1 : 0));
  }
  return text;
}

std::size_t end_of_message(std::string_view text, std::size_t begin) {
  const LogMark next = find_mark(text, begin);
  if (next.at == text.npos) return text.size();
  const std::string_view prefix = prefix_of(text.substr(begin, next.at - begin));
  return prefix.empty() ? next.at : static_cast<std::size_t>(prefix.data() - text.data());
}

std::string clock_in(std::string_view text) {
  constexpr std::string_view kForm = "00:00:00";
  const auto joins = [](char c) { return is_alphanumeric(c) || c == ':'; };
  for (std::size_t at = 0; at + kForm.size() <= text.size(); ++at) {
    if (at > 0 && text[at - 1] != 'T' && joins(text[at - 1])) continue;
    std::size_t i = 0;
    while (i < kForm.size() && (kForm[i] == ':' ? text[at + i] == ':' : is_digit(text[at + i]))) ++i;
    if (i < kForm.size()) continue;
    const std::size_t end = at + i;
    if (end == text.size() || text[end] == 'Z' || !joins(text[end])) return std::string(text.substr(at, i));
  }
  return {};
}

bool begins_like_info(std::string_view text) {
  return begins_with_any(text, kBareInfo);
}

bool begins_like_warning(std::string_view text) {
  return begins_with_any(text, kBareWarnings);
}

}  // namespace nccl_env
