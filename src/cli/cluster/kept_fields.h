// SPDX-License-Identifier: Apache-2.0
// Parts of answers that a bug report keeps.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/kube/client.h"

namespace nccl_env::cli {

// The plural by which a GET's path names what it asks for: "pods", "nodefabrics"; "version"; "log".
std::string kind_at(std::string_view target);

// A report keeps the fields that nccl-env reads, and those that tell how it runs. Secrets, commands, foreign
// variables and images are never among them (docs/reference/cli.md, bug-report).
// Returns the body as it is kept: one line of JSON; null for a kind that no report holds, and for a body that
// is not JSON.
std::string kept_text(std::string_view target, const kube::Reply& reply);

}  // namespace nccl_env::cli
