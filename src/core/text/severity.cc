// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/severity.h"

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {

std::string_view to_string(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"error", "warning", "info"};
  return name_in(kNames, severity);
}

}  // namespace nccl_env
