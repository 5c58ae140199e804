// SPDX-License-Identifier: Apache-2.0
// Any text as a listing: problems that people can read, or a table that can be written and read.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/listing/import.h"

namespace nccl_env::fuzz::listing_fuzz {
namespace {

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
  const std::string text(input);
  const ImportOutcome outcome = import_listing({"a", text}, options);
  require(outcome.report.has_value() == outcome.findings.empty(), "a table or problems");
  for (const Finding& problem : outcome.findings) {
    const std::string sentence = line_of(problem);
    require(!problem.sentence.empty() && is_printable(sentence), "a problem is a printable sentence");
  }
  if (!outcome.report) return;
  const auto written = to_json(outcome.report->table);
  const auto again = parse_node_fabric(unordered(written));
  require(again && to_json(*again) == written, "an imported table can be read");

  if (input.find('\r') != input.npos || input.size() > 8000) return;  // lines end at 4096 bytes
  const ImportOutcome same = import_listing({"a", with_carriage_returns(text)}, options);
  require(same.report && to_json(same.report->table) == written, "line ends do not matter");
}

}  // namespace nccl_env::fuzz::listing_fuzz
