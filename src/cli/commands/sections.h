// SPDX-License-Identifier: Apache-2.0
// The headings of the pages for people, a line "docs/use/troubleshooting.md#error-12 Error 12" for each. The
// build makes them of docs (cmake/Sections.cmake).
#pragma once

#include <string_view>

namespace nccl_env::cli {

extern const std::string_view kSections;

}  // namespace nccl_env::cli
