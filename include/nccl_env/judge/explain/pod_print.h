// SPDX-License-Identifier: Apache-2.0
// A pod's answer as JSON, as text for people and as env.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nccl_env/judge/explain/answered_pod.h"
#include "nccl_env/judge/explain/selection_print.h"

namespace nccl_env {

// "given", "given, node not seen" or "given, but"; the state and its reason elsewhere.
std::string verdict_words(const PodAnswer& answer);

// Says why a value is left out, for a reason or not.
std::string why_text(const Value& value);

// The finding with which a template's answer begins: what is wrong, else a choice of the user's own that may
// be meant; null where that is what its pods get.
const Finding* leading_finding(const PodAnswer& answer);

// docs/use/explain.md names the keys; they do not change.
nlohmann::ordered_json to_json(const PodAnswer& answer, const PodRecord& record,
                               const PodSurroundings& surroundings);
// For people, in 80 columns; the answer stands first, behind the title of the pod or template.
std::string render_text(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& surroundings,
                        const std::string& title, Choices choices = Choices::Compared);
// NAME=VALUE lines of what was injected, and comments on what was not; "# container NAME" where there are
// several.
std::string render_env(const PodRecord& record);

}  // namespace nccl_env
