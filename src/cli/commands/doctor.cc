// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor
#include <nlohmann/json.hpp>
#include <ostream>

#include "diagnosis.h"

namespace nccl_env::app {

int diagnose_cluster(const DoctorArguments& arguments, const Terminal& terminal) {
  if (!arguments.of_namespace.name.empty()) return diagnose_namespace(arguments, terminal);
  Diagnosis diagnosis;
  if (const SourceFailure failure = read_diagnosis(arguments, terminal.in, diagnosis); failure.code != kDone)
    return stop(terminal, failure.code, failure.message);
  if (arguments.output == "json") {
    terminal.out << to_json(diagnosis).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                 << '\n';
  } else {
    terminal.out << render_text(diagnosis);
  }
  return is_healthy(diagnosis) ? kDone : kRefused;
}

}  // namespace nccl_env::app
