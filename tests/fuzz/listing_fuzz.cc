// SPDX-License-Identifier: Apache-2.0
// Any text as listings of one node: problems that people can read, or a table that can be written and read.
// The first byte chooses the format; a form feed ends a file and begins another.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/listing/import.h"

namespace nccl_env::fuzz::listing_fuzz {
namespace {

std::vector<ListingFile> files_of(std::string_view input) {
  std::vector<ListingFile> files;
  while (files.size() < 4) {
    const std::size_t end = files.size() == 3 ? input.npos : input.find('\f');
    files.push_back(
        {std::string(1, static_cast<char>('a' + files.size())), std::string(input.substr(0, end))});
    if (end == input.npos) break;
    input.remove_prefix(end + 1);
  }
  return files;
}

std::string with_carriage_returns(const std::string& text) {
  std::string made;
  for (const char c : text) made += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return made;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

FUZZ_TARGET(listing) {
  ImportOptions options;
  options.node = "node-a";
  options.format = static_cast<ListingFormat>(take_byte(input) % 7);
  std::vector<ListingFile> files = files_of(input);
  const ImportOutcome outcome = import_listings(files, options);
  require(outcome.report.has_value() == outcome.findings.empty(), "a table or problems");
  for (const Finding& problem : outcome.findings) {
    const std::string sentence = line_of(problem);
    require(!problem.sentence.empty() && is_printable(sentence), "a problem is a printable sentence");
  }
  if (!outcome.report) return;
  for (const SkippedLine& line : outcome.report->samples)
    require(is_printable(line.text), "printable samples");
  for (const Finding& note : outcome.report->notes)
    require(is_printable(line_of(note)), "a note is a printable sentence");
  const auto written = to_json(outcome.report->table);
  const auto again = parse_node_fabric(unordered(written));
  require(again && to_json(*again) == written, "an imported table can be read");

  if (input.find('\r') != input.npos || input.size() > 8000) return;  // lines end at 4096 bytes
  for (ListingFile& file : files) file.text = with_carriage_returns(file.text);
  const ImportOutcome same = import_listings(files, options);
  require(same.report && to_json(same.report->table) == written, "line ends do not matter");
}

}  // namespace nccl_env::fuzz::listing_fuzz
