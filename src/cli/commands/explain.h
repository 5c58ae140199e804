// SPDX-License-Identifier: Apache-2.0
// nccl-env explain: of pods that exist (pod/NAME, job/NAME, or those of a file), of a manifest.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"
#include "commands/pod_preview.h"

namespace nccl_env::cli {

struct ExplainArguments : PodArguments {
  std::vector<std::string> target;  // pod/NAME, job/NAME, or two words; pod or job of the file
  std::string nccl_version;         // "": the newest that is known
  bool no_resolver = false;
};

// Tells the values that the target has, and why: of a pod, or of all ranks of a job beside each other.
int explain_target(const ExplainArguments& given, const Console& terminal);

// The answers for the pods of a manifest as explain prints them with -o json, as a list.
Result<nlohmann::json> preview_documents(const ExplainArguments& arguments, std::istream& in);

}  // namespace nccl_env::cli
