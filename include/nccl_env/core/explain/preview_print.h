// SPDX-License-Identifier: Apache-2.0
// Prints what a manifest would get: as JSON, as text for people and as env.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/explain/selection_print.h"

namespace nccl_env {

// The answer in one line: "inject, 3 variables: 8 HCAs, GID index 3; left out: NCCL_IB_TIMEOUT (UserSet)".
std::string sentence_of(const Explanation& explanation);

// {"decision":"inject","reason":null,…,"containers":[…],"ncclAlone":{…},"ncclWithUs":{…}}:
// docs/reference/cli.md.
nlohmann::ordered_json to_json(const Explanation& explanation);
// Adds the members "ncclVersion", "ncclAlone" and "ncclWithUs"; a member without a selection is null.
void add_selections(const NcclVersion& version, const std::optional<NcclSelection>& alone,
                    const std::optional<NcclSelection>& with_us, nlohmann::ordered_json& into);

// For people: a block of lines, the last one with its line feed.
std::string render_text(const Explanation& explanation, Choices choices = Choices::Compared);

// NAME=VALUE lines, those of nccl.conf behind the env's; a value that is not known yet is a comment.
// "# container NAME" where there are several.
std::string render_env(const Explanation& explanation);

}  // namespace nccl_env
