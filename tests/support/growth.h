// SPDX-License-Identifier: Apache-2.0
// Inputs that grow: a valid document of which one part is multiplied up to a size, as a stranger makes much
// work with little effort. For tests of what an input may cost; any reader of JSON or of lines can be given
// them.
//
// Everything here depends on its arguments alone, so that a failure can be repeated from its description.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace nccl_env::tests {

// One part of a JSON document, and a way in which it grows.
struct Growth {
  enum class Kind {
    RepeatItem,    // the item of a list, again and again
    RepeatMember,  // the member of an object, under its key with a number behind it
    Nest,          // the value inside lists inside lists
    LengthenText,  // the string, repeated; "x" where it is empty
    LengthenKey    // the member's key, repeated
  } kind = Kind::RepeatItem;
  std::string pointer;  // RFC 6901: where the item, member or value stands
};
std::string describe(const Growth& growth);  // "RepeatItem /spec/containers/0"

// Every part of the document with every way in which it can grow, in the document's order.
std::vector<Growth> growths_of(const nlohmann::json& document);

// The document's text with that part grown until the text has about `bytes`: at least as many as the document
// has, and fewer than `bytes` and one copy of the part more. It is valid JSON.
std::string grown(const nlohmann::json& document, const Growth& growth, std::size_t bytes);

// The scalars that cost a parser of JSON most for each byte: numbers, escapes and surrogates.
std::vector<std::string> slow_scalars();
// The document's text with a list of about `bytes` of the scalar in place of the value at `pointer`.
std::string crowded(const nlohmann::json& document, const std::string& pointer, const std::string& scalar,
                    std::size_t bytes);

// The same for text of lines, such as a listing or a log.
struct LineGrowth {
  enum class Kind { RepeatLine, RepeatWord, LengthenWord } kind = Kind::RepeatLine;
  std::size_t line = 0;  // from 0
  std::size_t word = 0;  // of the line, from 0; words are separated by blanks
};
std::vector<LineGrowth> line_growths_of(std::string_view text);
std::string grown_lines(std::string_view text, const LineGrowth& growth, std::size_t bytes);

}  // namespace nccl_env::tests
