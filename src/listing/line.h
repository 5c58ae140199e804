// SPDX-License-Identifier: Apache-2.0
// Lines of pasted text, and the words and keys in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::listing {

struct Line {
  int number;                           // from 1
  std::string text;                     // tabs and no-break spaces as blanks, trimmed on both sides
  std::vector<std::string_view> words;  // of text; a Line is therefore not copied

  Line(int where, std::string_view content);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // "" where there are fewer words.
  [[nodiscard]] std::string_view word(std::size_t index) const;
};

// "key:   value" -> both sides trimmed; the key ends at the first colon.
struct KeyValue {
  std::string_view key;
  std::string_view value;
};
std::optional<KeyValue> split_key_value(std::string_view text);

std::string_view trim(std::string_view text);

// The text in quotes for a message: cut at 60 bytes, everything but printable ASCII as '?'.
std::string quote(std::string_view text);
// "expected WHAT, not "TEXT"".
std::string expected(const std::string& what, std::string_view text);
std::string printable(std::string_view text, std::size_t longest);

// True for "mlx5_0", not for "mlx" or "0": a word that may be a device where nothing else tells.
bool is_numbered_device(std::string_view word);
// A port number, also with a comma, semicolon or colon at its end.
bool is_port_column(std::string_view word);

// True if a line that no reader takes nevertheless holds facts: a GID, a device with its port, or a piece of
// a block whose head is missing. Free text must not match, `ip addr` output must not either.
bool looks_like_listing(const Line& line);

}  // namespace nccl_env::listing
