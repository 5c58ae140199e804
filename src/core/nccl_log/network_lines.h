// SPDX-License-Identifier: Apache-2.0
// Warnings of NCCL's and verbs' on the network that are known by their words, as NCCL 2.3 to 2.32 and RCCL
// write them.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/findings/catalogue.h"

namespace nccl_env {

struct NetworkLine {
  Code code;
  std::string_view words;  // in the line
  std::string_view meaning, remedy;
};

// True of a warning that ends nothing.
bool is_harmless_warning(std::string_view text);
// Returns the failure that the warning's words tell; nothing if they are not known.
std::optional<Code> code_of_warning(std::string_view text);
// Returns the row that says more of a failure with this code and text; nullptr if none fits.
const NetworkLine* refine_line(Code code, std::string_view text);

}  // namespace nccl_env
