// SPDX-License-Identifier: Apache-2.0
// Text for terminals and tickets: aligned columns, wrapped sentences, no control characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nccl_env {

inline constexpr std::size_t kTextWidth = 80;

// Characters that a terminal shows as they are; '?' for each that it would obey, and for each byte that is
// not UTF-8.
std::string printable(std::string_view text);

// Columns that the text takes on a terminal.
std::size_t display_width(std::string_view text);

// For text and attributes of XML and HTML.
std::string escape_markup(std::string_view text);

// Lines of at most `width` columns, broken behind blanks and commas; a longer word stays whole, and so
// does what stands between backquotes: a command that can be copied.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// The text made printable and wrapped to kTextWidth, each line with its indent and its line feed.
std::string paragraph(std::string_view text, std::size_t indent = 0);

// Rows in columns. Each column is as wide as its widest cell; the last column is wrapped to the rest of the
// line. Cells are made printable.
class TextColumns {
 public:
  explicit TextColumns(std::size_t indent, std::size_t width = kTextWidth) : indent_(indent), width_(width) {}

  void add(std::vector<std::string> row);
  [[nodiscard]] std::string render() const;

 private:
  std::size_t indent_;
  std::size_t width_;
  std::vector<std::vector<std::string>> rows_;
};

// "ml/train-0"; the name alone where there is no namespace.
std::string object_name(const std::string& name_space, const std::string& name);

// The text; if it is longer than `width`, its beginning and "..", together as long as `width`.
std::string cut(std::string_view text, std::size_t width);

}  // namespace nccl_env
