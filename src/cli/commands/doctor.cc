// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "commands/diagnosis.h"
#include "commands/namespace.h"
#include "nccl_env/core/doctor/print.h"

namespace nccl_env::app {
namespace {

struct DoctorArguments {
  DiagnosisArguments diagnosis;
  NamespaceArguments of_namespace;
  std::string output = "text";
};

int diagnose_cluster(const DoctorArguments& arguments, const Terminal& terminal) {
  if (!arguments.of_namespace.name.empty())
    return diagnose_namespace(arguments.of_namespace, arguments.diagnosis.source, arguments.output, terminal);
  Diagnosis diagnosis;
  if (const Failure failure = read_diagnosis(arguments.diagnosis, terminal.in, diagnosis);
      failure.code != kDone)
    return stop(terminal, failure.code, failure.message);
  if (arguments.output == "json") {
    terminal.out << to_json(diagnosis).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                 << '\n';
  } else {
    terminal.out << render_text(diagnosis);
  }
  return is_healthy(diagnosis) ? kDone : kRefused;
}

}  // namespace

void add_doctor(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<DoctorArguments>();
  DoctorArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"doctor",
                    "Tell what is wrong with the fabric of a cluster: each finding with its node, "
                    "what was seen, and what to do. Exit 1 if one is an error or a warning.",
                    "nccl-env doctor --store dir:manifests -o json"},
                   diagnose_cluster, arguments);
  add_diagnosis_options(app, to.diagnosis);
  add_namespace_options(app, to.of_namespace);
  add_output(app, to.output, {"text", "json"});
}

}  // namespace nccl_env::app
