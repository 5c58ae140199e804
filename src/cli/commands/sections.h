// SPDX-License-Identifier: Apache-2.0
// The headings of the pages for people, a line "docs/use/troubleshooting.md#error-12 Error 12" for each, of
// an alert with a tab and its meaning; and the words that docs/start/concepts.md explains. The build makes
// them of docs (cmake/Sections.cmake).
#pragma once

#include <string_view>

namespace nccl_env::cli {

extern const std::string_view kSections;
// A line for each: the word, or several with ", " between them; a tab; the meaning.
extern const std::string_view kWords;

}  // namespace nccl_env::cli
