// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace nccl_env {

// Bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if there is none.
std::size_t character_length(std::string_view text);
bool is_utf8(std::string_view text);

// True for a character, as character_length() found it, that a terminal obeys instead of showing it: C1
// controls (U+0080 … U+009F) and the marks that turn text around (U+202A … U+202E, U+2066 … U+2069).
bool steers_display(std::string_view character);

}  // namespace nccl_env
