// SPDX-License-Identifier: Apache-2.0
// Colours for a terminal: lines that begin with a verdict ("error PortDown: …", "! gpu-7 …") have it in red,
// yellow or green. Other text stays as it is, so a pipe and a terminal get the same words.
#pragma once

#include <ostream>
#include <string>

namespace nccl_env::cli {

// Returns whether to colour a terminal's output, by $NO_COLOR (https://no-color.org) and $TERM; null: not
// set.
bool wants_colours(const char* no_color, const char* term);

// Passes lines on to `out`, which has to outlive it. A line is passed on once it is complete, or flushed.
class VerdictColours : public std::streambuf {
 public:
  explicit VerdictColours(std::ostream& out) : out_(out) {}

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  std::ostream& out_;
  std::string line_;
};

}  // namespace nccl_env::cli
