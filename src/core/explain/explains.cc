// SPDX-License-Identifier: Apache-2.0
#include "explain/explains.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

constexpr std::string_view kSockets = " So NCCL silently falls back to sockets.";
constexpr std::string_view kTwoLinks = " They are of two link layers, which do not connect.";

struct Explains {
  Among among;
  Code cause;
  std::string_view variable;  // that the cause is about; "": any
  Code consequence;
  std::string_view clause;  // that the cause then says
};

// A cause stands before what it explains as a consequence of another one.
constexpr std::array kExplains{
    // A list that NCCL reads otherwise than it is meant.
    Explains{Among::Container, Code::ValueMisread, variable::kIbHca, Code::NoSuchDevice, ""},
    Explains{Among::Container, Code::ValueMisread, variable::kIbHca, Code::FellBack, ""},
    Explains{Among::Container, Code::RailDown, "", Code::FellBack, kSockets},
    Explains{Among::Container, Code::NoSuchDevice, "", Code::FellBack, kSockets},
    // A list that is missing or takes too much.
    Explains{Among::Pod, Code::NoList, variable::kIbHca, Code::MixedLinks, kTwoLinks},
    Explains{Among::Pod, Code::ListNotExact, "", Code::MixedLinks, kTwoLinks},
    Explains{Among::Pod, Code::GidIndexMoved, "", Code::EmptyGid, ""},
};

void fold(const Explains& row, std::vector<Finding>& findings) {
  const auto is_cause = [&](const Finding& finding) {
    return finding.code == row.cause && (row.variable.empty() || finding.subject.path == row.variable);
  };
  const auto cause = std::ranges::find_if(findings, is_cause);
  const auto follows = std::ranges::find(findings, row.consequence, &Finding::code);
  if (cause == findings.end() || follows == findings.end()) return;
  cause->severity = std::min(cause->severity, follows->severity);
  cause->sentence += row.clause;
  std::erase_if(findings, [&](const Finding& finding) { return finding.code == row.consequence; });
}

}  // namespace

void fold_consequences(Among among, std::vector<Finding>& findings) {
  for (const Explains& row : kExplains) {
    if (row.among == among) fold(row, findings);
  }
}

}  // namespace nccl_env
