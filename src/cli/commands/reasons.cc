// SPDX-License-Identifier: Apache-2.0
// nccl-env reasons
#include <ostream>

#include "commands/commands.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {

int list_reasons(const ReasonsArguments& arguments, const Terminal& terminal) {
  const auto wanted = parse_reason(arguments.name);
  if (!arguments.name.empty() && !wanted)
    return stop(terminal, kUsage, "reasons: there is no reason " + arguments.name);
  TextColumns columns(0);
  for (const Reason reason : all_reasons()) {
    if (wanted && reason != *wanted) continue;
    columns.add({std::string(to_string(reason)), std::string(meaning(reason))});
    columns.add({"", std::string(remedy(reason))});
  }
  terminal.out << columns.render();
  return kDone;
}

}  // namespace nccl_env::app
