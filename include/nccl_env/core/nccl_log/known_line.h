// SPDX-License-Identifier: Apache-2.0
// Lines of NCCL and of what stands around it that are known as such. One row both finds a line and tells what
// it means; the rows are text, in src/core/nccl_log/known_lines, by what prints the line.
#pragma once

#include <string_view>
#include <vector>

#include "nccl_env/core/findings/catalogue.h"

namespace nccl_env {

enum class LineKind {
  Cause,     // tells a failure that nothing inside the job led to, though its code may be a symptom's
  Failure,   // tells one, wherever it stands
  Echo,      // tells one that most often followed another process's
  Refines,   // says more of a failure that has this code already
  Hint,      // tells one where its line tells an error, and nothing failed before
  Harmless,  // looks like a failure, and runs go well beneath it
};

struct KnownLine {
  LineKind kind = LineKind::Failure;
  Code code = Code::UnknownWarning;
  std::string_view words, also;  // in the line; "": any
  std::string_view without;      // and not in it; "": none
  std::string_view meaning;      // "": the code's own
  std::string_view remedy;
  std::string_view source;   // threads that tell the cause: "NVIDIA/nccl#1, …"
  std::string_view example;  // a line as its library prints it; "" of a row that refines

  [[nodiscard]] bool fits(std::string_view line) const;
};

// Reads rows, which blank lines part. A row's first line has its kind and code, each line after that a word
// and what it names; "#" begins a comment. A row that cannot be read is left out.
std::vector<KnownLine> parse_known_lines(std::string_view text);

}  // namespace nccl_env
