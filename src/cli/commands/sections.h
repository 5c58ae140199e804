// SPDX-License-Identifier: Apache-2.0
// Texts of the pages for people, for `what`. The build makes them of docs (cmake/Sections.cmake). A line
// each, its parts behind tabs: the kind, the place ("docs/use/troubleshooting.md#error-12"), names, the
// meaning, and for a section what it quotes, with a | between.
#pragma once

#include <string_view>

namespace nccl_env::cli {

extern const std::string_view kPages;
}  // namespace nccl_env::cli
