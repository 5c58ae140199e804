// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/severity.h"

namespace nccl_env {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Info:
      break;
  }
  return "info";
}

}  // namespace nccl_env
