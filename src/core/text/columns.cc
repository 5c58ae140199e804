// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/columns.h"

#include <algorithm>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/utf8.h"

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
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const bool shown = length > 0 && !steers_display(code_point(text.substr(0, length)));
    shown ? result.append(text.substr(0, length)) : result.append(1, '?');
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    width += length == 0 ? 1 : columns_of(code_point(text.substr(0, length)));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return width;
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
  std::size_t filled = 0;
  while (!text.empty()) {
    const std::size_t quoted = text.front() == '`' ? text.find('`', 1) : text.npos;
    const std::size_t end = text.find_first_of(" ,", quoted == text.npos ? 0 : quoted);
    const std::string_view word = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t length = display_width(word);
    if (!lines.back().empty() && filled + length - (word.ends_with(' ') ? 1 : 0) > width) {
      trim_right(lines.back());
      lines.emplace_back();
      filled = 0;
    }
    if (!lines.back().empty() || word != " ") {
      lines.back() += word;
      filled += length;
    }
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
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::size_t last_at = indent_;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) last_at += widths[i] + kGap;
  const std::size_t last_width = std::max(kMinLastColumn, width_ - std::min(width_, last_at));

  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent_, ' ');
    for (std::size_t i = 0; i + 1 < widths.size() && i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] + kGap - display_width(row[i]), ' ');
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
  return std::string(prefix_of(text, width < 2 ? 0 : width - 2)) + "..";
}

}  // namespace nccl_env
