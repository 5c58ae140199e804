// SPDX-License-Identifier: Apache-2.0
#include "commands/report.h"

#include <filesystem>
#include <ostream>

#include "commands/diagnosis.h"
#include "nccl_env/base/file.h"
#include "nccl_env/core/doctor/report.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/program/version.h"
#include "report/report_page.h"

namespace nccl_env::app {
namespace {

struct ReportArguments {
  DiagnosisArguments diagnosis;
  std::string output;  // a file, or -
};

// A link is followed, and a device or pipe is not replaced by a file.
Status write_page(const std::string& output, const std::string& page) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::canonical(output, error);
  if (error) path = output;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return Error{output + ": not a regular file (-o - is the standard output)"};
  return net::write_file(path, page, 0644);
}

int write_report(const ReportArguments& arguments, const Terminal& terminal) {
  DoctorInput input;
  Diagnosis diagnosis;
  if (const Failure failure = read_diagnosis(arguments.diagnosis, terminal.in, diagnosis, input);
      failure.code != kDone)
    return stop(terminal, failure.code, failure.message);
  std::string page(kPageBefore);
  page += to_page_json(report_fabric(input, diagnosis), kVersion);
  page += kPageAfter;
  if (arguments.output == "-") {
    terminal.out << page;
  } else if (const Status written = write_page(arguments.output, page); !written) {
    return stop(terminal, kNotSeen, written.error().message);
  }
  for (const Finding& finding : diagnosis.findings) {
    if (finding.check == DoctorCheck::ObjectRefused)
      terminal.err << "nccl-env: " << printable(finding.evidence) << '\n';
  }
  return kDone;
}

}  // namespace

void add_report(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<ReportArguments>();
  ReportArguments& to = *arguments;
  CLI::App& app =
      line.command(parent,
                   {"report",
                    "Write the fabric of a cluster as one page of HTML. Nodes and HCAs as a grid, odd nodes "
                    "first, with the doctor's findings; the page loads nothing.",
                    "nccl-env report --store dir:manifests -o report.html"},
                   write_report, arguments);
  add_diagnosis_options(app, to.diagnosis);
  app.add_option("-o,--output", to.output, "The file to write; - is the standard output")
      ->required()
      ->type_name("FILE");
}

}  // namespace nccl_env::app
