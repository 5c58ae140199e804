// SPDX-License-Identifier: Apache-2.0
// nccl-env explain: of pods that exist (pod/NAME, job/NAME, or those of a file), of a manifest.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cluster/connection.h"
#include "cluster/context.h"
#include "commands/command_line.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/explain/selection_print.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env::cli {

struct ExplainArguments {
  std::vector<std::string> target;  // pod/NAME, job/NAME, or two words; pod or job of the file
  ClusterArguments cluster;
  program::PolicyArguments policy;
  std::vector<std::string> tables;
  std::string pod;
  std::vector<std::string> claims;  // files with the pods' claims; the pods' own file may hold some, too
  std::string node;
  std::string nccl_version;  // "": the newest that is known
  std::string at;
  bool no_resolver = false;
};

struct JudgedPod {
  std::string name;
  const std::vector<Finding>& findings;  // the worst first
};
// Tells of several pods which there is something to act on, and what stands first there, as a paragraph with
// a blank line; "" where there is nothing.
std::string summary_of(const std::vector<JudgedPod>& pods);

// The whole of NCCL's choices where it is asked for, also by a version of NCCL's.
Choices choices_of(const std::string& form, const ExplainArguments& arguments);

// Tells the values that the target has, and why: of a pod, or of all ranks of a job beside each other.
int explain_target(const ExplainArguments& given, const Console& terminal);

// Previews the pods of a manifest: the values that they would get, and what NCCL makes of them.
int preview_pods(const ExplainArguments& arguments, const Console& terminal);
// Prints the manifest with its pods as the webhook would make them, and on `err` what each gets.
int inject_pods(const ExplainArguments& arguments, const Resolver& resolver, const Console& terminal);
// The same answers as preview_pods() prints with -o json, as a list.
Result<nlohmann::json> preview_documents(const ExplainArguments& arguments, std::istream& in);
}  // namespace nccl_env::cli
