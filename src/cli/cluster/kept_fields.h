// SPDX-License-Identifier: Apache-2.0
// Parts of an answer that a bug report keeps: the fields that nccl-env reads, and those that tell how it
// runs. Secrets, commands, foreign variables and images are never among them (docs/use/troubleshooting.md,
// Ask for help).
#pragma once

#include <string>
#include <string_view>

#include "cluster/disguise.h"
#include "nccl_env/kube/client.h"

namespace nccl_env::cli {

// The plural by which a GET's path names what it asks for: "pods", "nodefabrics"; "version"; "log".
std::string kind_at(std::string_view target);

// Returns the body as it is kept: one line of JSON; null for a kind that no report holds, and for a body that
// is not JSON. If `disguise` is given, counters replace names and addresses; in free text, they replace only
// names that already have one.
std::string kept_text(std::string_view target, const kube::Reply& reply, Disguise* disguise = nullptr);

}  // namespace nccl_env::cli
