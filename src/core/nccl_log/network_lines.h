// SPDX-License-Identifier: Apache-2.0
// Warnings of NCCL's and verbs' on the network that are known by their words, as NCCL 2.3 to 2.32 and RCCL
// write them.
#pragma once

#include <string_view>

#include "nccl_env/core/findings/catalogue.h"

namespace nccl_env {

struct NetworkLine {
  Code code;
  std::string_view words;    // in the line
  std::string_view meaning;  // "": the code's own
  std::string_view remedy;
};

// True of a warning that ends nothing.
bool is_harmless_warning(std::string_view text);
// Returns the first row whose words stand in the warning; nullptr if none does.
const NetworkLine* find_network_line(std::string_view text);
// Returns the row that says more of a failure with this code and text; nullptr if none fits.
const NetworkLine* refine_line(Code code, std::string_view text);

}  // namespace nccl_env
