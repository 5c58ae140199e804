// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "commands/doctor.h"
#include "nccl_env/base/file.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/doctor/report.h"
#include "nccl_env/program/version.h"
#include "report/report_page.h"

namespace nccl_env::cli {
namespace {

struct ReportArguments {
  DiagnosisArguments diagnosis;
  std::string output;  // a file, or -
  std::string title;
};

// `text` is read where scripts do not run.
std::string fill_page(std::string_view text, std::string_view data) {
  constexpr std::string_view kText = "@text@", kData = "@data@";
  const std::size_t first = kReportPage.find(kText), second = kReportPage.find(kData, first);
  std::string page(kReportPage.substr(0, first));
  page.append(text).append(kReportPage.substr(first + kText.size(), second - first - kText.size()));
  return page.append(data).append(kReportPage.substr(second + kData.size()));
}

// "x.html: 58 nodes, 22 errors (190 KB)"
std::string told(const std::string& output, const Diagnosis& diagnosis, std::size_t bytes) {
  const auto counted = [](std::size_t number, const std::string& noun) {
    return number == 0 ? "no " + noun + "s" : count_of(number, noun);
  };
  return printable(output) + ": " + counted(diagnosis.nodes.size(), "node") + ", " +
         counted(count(diagnosis.findings, Severity::Error), "error") + " (" +
         std::to_string((bytes + 500) / 1000) + " KB)";
}

// A link is followed, and a device or pipe is not replaced by a file.
Status write_page(const std::string& output, const std::string& page) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::canonical(output, error);
  if (error) path = output;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return Error{output + ": not a regular file (-o - is the standard output)"};
  return write_file(path, page, 0644);
}

int write_report(const ReportArguments& arguments, const Console& terminal) {
  const auto& [asked, output, title] = arguments;
  DoctorInput input;
  Diagnosis diagnosis;
  if (const program::Failure failure = read_diagnosis(asked, terminal.in, diagnosis, input))
    return stop(terminal, failure);
  const std::string head = title.empty() ? "" : printable(title) + "\n";
  const std::string text = head + format_timestamp(input.now) + "\n" + render_text(diagnosis);
  const std::string page =
      fill_page(escape_markup(text), to_page_json(input, diagnosis, title, program::kVersion));
  if (output == "-") {
    terminal.out << page;
  } else if (const Status written = write_page(output, page); !written) {
    return stop(terminal, program::kNotSeen, written.error().message);
  }
  tell_refused(diagnosis, terminal.err);
  if (output != "-" && ::isatty(STDERR_FILENO) == 1)
    terminal.err << told(output, diagnosis, page.size()) << '\n';
  return program::kDone;
}

}  // namespace

void add_report(CommandLine& line, CLI::App& parent) {
  auto [app, to] =
      line.command(parent,
                   {"report",
                    "Write the fabric of a cluster as one page of HTML. Nodes and HCAs as a grid, odd nodes "
                    "first, with the doctor's findings; the page loads nothing. Exit 0 whatever is found.",
                    "nccl-env report --store dir:manifests -o report.html",
                    {}},
                   write_report);
  add_diagnosis_options(app, to.diagnosis);
  app.add_option("-o,--output", to.output, "The file to write; - is the standard output")
      ->required()
      ->type_name("FILE");
  app.add_option("--title", to.title, "Title of the page, such as the cluster's name")->type_name("TEXT");
}

}  // namespace nccl_env::cli
