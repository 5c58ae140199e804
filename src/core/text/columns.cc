// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/columns.h"

#include <algorithm>

namespace nccl_env {
namespace {

// Columns that leave less than this for the last one go beyond the line instead.
constexpr std::size_t kMinLastColumn = 30;
constexpr std::size_t kGap = 2;

void trim_right(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::string escape_markup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const std::string_view word = c == '&'   ? "&amp;"
                                  : c == '<' ? "&lt;"
                                  : c == '>' ? "&gt;"
                                  : c == '"' ? "&quot;"
                                             : "";
    word.empty() ? escaped.append(1, c) : escaped.append(word);
  }
  return escaped;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t quoted = text.front() == '`' ? text.find('`', 1) : text.npos;
    const std::size_t end = text.find_first_of(" ,", quoted == text.npos ? 0 : quoted);
    const std::string_view word = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t length = word.size() - (word.ends_with(' ') ? 1 : 0);
    if (!lines.back().empty() && lines.back().size() + length > width) {
      trim_right(lines.back());
      lines.emplace_back();
    }
    if (!lines.back().empty() || word != " ") lines.back() += word;
    text.remove_prefix(word.size());
  }
  trim_right(lines.back());
  return lines;
}

std::string paragraph(std::string_view text, std::size_t indent) {
  std::string lines;
  for (const std::string& line : wrap(printable(text), kTextWidth - indent))
    lines += std::string(indent, ' ') + line + '\n';
  return lines;
}

void TextColumns::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::string TextColumns::render() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t last_at = indent_;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) last_at += widths[i] + kGap;
  const std::size_t last_width = std::max(kMinLastColumn, width_ - std::min(width_, last_at));

  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent_, ' ');
    for (std::size_t i = 0; i + 1 < widths.size() && i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] + kGap - row[i].size(), ' ');
    }
    const bool full = row.size() == widths.size();
    for (const std::string& part : full ? wrap(row.back(), last_width) : std::vector<std::string>(1)) {
      line += part;
      trim_right(line);
      text += line + '\n';
      line.assign(last_at, ' ');
    }
  }
  return text;
}

std::string object_name(const std::string& name_space, const std::string& name) {
  return name_space.empty() ? name : name_space + "/" + name;
}

std::string cut(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  return std::string(text.substr(0, width < 2 ? 0 : width - 2)) + "..";
}

}  // namespace nccl_env
