// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/explains.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace nccl_env {
namespace {

constexpr std::string_view kIbHcaList = "NCCL_IB_HCA";
constexpr std::string_view kSockets = " So NCCL silently falls back to sockets.";
constexpr std::string_view kTwoLinks = " They are of two link layers, which do not connect.";

struct Explains {
  Among among;
  Code cause;
  std::string_view variable;  // that the cause is about; "": any
  Code consequence;
  std::string_view clause;  // that the cause then says, before what the consequence has itself
};

// A cause stands before what it explains as a consequence of another one.
constexpr std::array kExplains{
    // A list that NCCL reads otherwise than it is meant.
    Explains{Among::Container, Code::ValueMisread, kIbHcaList, Code::NoSuchDevice, "; no such HCA is there"},
    Explains{Among::Container, Code::ValueMisread, kIbHcaList, Code::FellBack, "; NCCL uses sockets"},
    Explains{Among::Container, Code::NcclTooOld, "", Code::LinkLocalGid, ""},
    Explains{Among::Container, Code::NcclTooOld, "", Code::RoceV1Gid, ""},
    Explains{Among::Container, Code::RailDown, "", Code::FellBack, kSockets},
    Explains{Among::Container, Code::NoSuchDevice, "", Code::FellBack, kSockets},
    // A list that is missing or takes too much.
    Explains{Among::Pod, Code::NoList, kIbHcaList, Code::MixedLinks, kTwoLinks},
    Explains{Among::Pod, Code::ListNotExact, "", Code::MixedLinks, kTwoLinks},
    Explains{Among::Pod, Code::GidIndexMoved, "", Code::EmptyGid, ""},
    // Ports of a node.
    Explains{Among::Node, Code::NoAddress, "", Code::SubnetDiffers, ""},
    Explains{Among::Node, Code::DuplicateAddress, "", Code::SubnetDiffers, ""},
    Explains{Among::Node, Code::NoAddress, "", Code::GidIndexDiffers, ""},
    Explains{Among::Node, Code::GidIndexMoved, "", Code::GidIndexDiffers,
             "; so no index serves all ports of the node"},
    Explains{Among::Node, Code::PortDown, "", Code::RailDown, ""},
    Explains{Among::Node, Code::NoAddress, "", Code::RailDown, ""},
    Explains{Among::Node, Code::PortDown, "", Code::NoFabric, ""},
    Explains{Among::Node, Code::HcaMissing, "", Code::NoFabric, ""},
    Explains{Among::Node, Code::NoAddress, "", Code::NoFabric, ""},
    Explains{Among::Node, Code::HardwareDiffers, "", Code::NoFabric, ""},
};

// The findings of one code on a subject: the worst of them speaks.
struct Cause {
  Finding* worst = nullptr;
  std::set<std::string_view> parts;
  bool told = false;  // what follows
};

void fold(const Explains& row, std::vector<Finding>& findings) {
  std::map<std::string_view, Cause> causes;
  for (Finding& finding : findings) {
    if (finding.code != row.cause || (!row.variable.empty() && finding.subject.path != row.variable))
      continue;
    Cause& cause = causes[finding.subject.name];
    if (!cause.worst || finding.severity < cause.worst->severity) cause.worst = &finding;
    cause.parts.insert(finding.subject.parts.begin(), finding.subject.parts.end());
  }
  const auto follows = [&](const Finding& finding) {
    const auto found = causes.find(finding.subject.name);
    if (finding.code != row.consequence || found == causes.end()) return false;
    Cause& cause = found->second;
    const bool light = cause.worst->severity == Severity::Info && finding.severity != Severity::Info;
    const auto is_told = [&](const std::string& part) { return cause.parts.contains(part); };
    if (light || cause.worst->subject.kind != finding.subject.kind ||
        !std::ranges::all_of(finding.subject.parts, is_told))
      return false;
    cause.worst->severity = std::min(cause.worst->severity, finding.severity);
    if (!std::exchange(cause.told, true)) cause.worst->sentence.append(row.clause).append(finding.clause);
    return true;
  };
  if (causes.empty()) return;
  // Findings move only once all of them are judged: causes point into them.
  std::vector<bool> gone(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) gone[i] = follows(findings[i]);
  erase_marked(gone, findings);
}

}  // namespace

void fold_consequences(Among among, std::vector<Finding>& findings) {
  for (const Explains& row : kExplains) {
    if (row.among == among) fold(row, findings);
  }
}

}  // namespace nccl_env
