// SPDX-License-Identifier: Apache-2.0
// Bounds of text from people and files: its characters, names and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nccl_env {

bool is_printable_ascii(std::string_view text);

// -12, 0, 7: no blanks, no plus, no leading zero (NCCL reads 022 as octal), no other base.
std::optional<std::int64_t> plain_decimal(std::string_view text);

// DNS-1123 subdomain, as Kubernetes wants of metadata.name: as part of a file's name or a URL's path it means
// nothing else.
bool is_dns_subdomain(std::string_view name);

// "/dev/" is the path "/dev"; "/" stays.
std::string_view without_trailing_slashes(std::string_view path);

// At most so many bytes of the text, which is UTF-8, and no part of a character.
std::string_view prefix_of(std::string_view text, std::size_t bytes);

// Removes the character from the front; false if something else stands there.
bool take(std::string_view& text, char c);

}  // namespace nccl_env
