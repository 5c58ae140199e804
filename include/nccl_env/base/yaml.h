// SPDX-License-Identifier: Apache-2.0
// Reads the files that people write, YAML or JSON, as JSON documents.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env {

// Lines of the text, from 1, on which a document's fields stand, by path: "spec.fabric.hcas[0]"; "" is the
// document. Paths of more than some 256 bytes are left out, and so is what stands behind an alias.
using FieldLines = std::map<std::string, int, std::less<>>;
// The line of the field, else of the nearest that is around it; 0 where none is known.
int line_of_field(const FieldLines& lines, std::string_view path);

// Returns every document of the text, in order; empty and null documents are left out. At most 8 MiB of
// UTF-8, 64 levels deep; a key that stands twice in one object is refused. A document after the first starts
// with ---.
//
// YAML is read as kubectl reads it: yes, no, on, off, y and n are true and false, `0644` is octal, `22` is a
// number and `"22"` a string, and timestamps are strings. Keys are plain or quoted scalars. Anchors, aliases
// and merge keys are written out, together up to 8 MiB in one text. All tags except !, !!str, !!seq and !!map
// are refused. So is a scalar, or a list or object in flow style, of more than 512 KiB.
//
// A file named *.json is JSON. Any other text that starts with { or [ is tried as JSON first, because JSON
// has escapes (\ud83d\ude00, \/) that the YAML reader does not know, and then as YAML's flow style.
//
// An error is "FILE:LINE: sentence" ("FILE: sentence" where no line is known), in words of ours.
// `lines`, where it is given, has one element for each document; that of JSON is empty.
Result<std::vector<nlohmann::json>> parse_documents(std::string_view text, std::string_view file_name,
                                                    std::vector<FieldLines>* lines = nullptr);

}  // namespace nccl_env
