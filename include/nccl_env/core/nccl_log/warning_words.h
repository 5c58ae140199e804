// SPDX-License-Identifier: Apache-2.0
// The words by which a warning of NCCL's is known, as NCCL 2.3 to 2.32, RCCL and aws-ofi-nccl write them:
// one table, in the order of their weight, since a line has several.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/findings/catalogue.h"

namespace nccl_env {

// True of a warning that ends nothing.
bool is_harmless_warning(std::string_view text);
// Returns the failure that the words tell; nothing if none of the table's is among them. `file`: NCCL's
// source file that warns ("transport/nvls.cc:244"), "" where the line does not say it: an error of CUDA's
// tells by it for which purpose CUDA was called.
std::optional<Code> code_of_warning(std::string_view text, std::string_view file);

}  // namespace nccl_env
