// SPDX-License-Identifier: Apache-2.0
// nccl-env report
#include <filesystem>
#include <ostream>

#include "diagnosis.h"
#include "nccl_env/base/file.h"
#include "nccl_env/core/doctor/report.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/program/version.h"
#include "report_page.h"

namespace nccl_env::app {
namespace {

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

}  // namespace

int report_fabric(const DoctorArguments& arguments, const Terminal& terminal) {
  DoctorInput input;
  Diagnosis diagnosis;
  if (const SourceFailure failure = read_diagnosis(arguments, terminal.in, diagnosis, input);
      failure.code != kDone)
    return stop(terminal, failure.code, failure.message);
  std::string page(kPageBefore);
  page += to_page_json(nccl_env::report_fabric(input, diagnosis), kVersion);
  page += kPageAfter;
  if (arguments.output == "-") {
    terminal.out << page;
  } else if (const Status written = write_page(arguments.output, page); !written) {
    return stop(terminal, kRefused, written.error().message);
  }
  for (const Finding& finding : diagnosis.findings) {
    if (finding.check == DoctorCheck::ObjectRefused)
      terminal.err << "nccl-env: " << printable(finding.evidence) << '\n';
  }
  return kDone;
}

}  // namespace nccl_env::app
