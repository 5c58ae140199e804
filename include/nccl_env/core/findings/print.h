// SPDX-License-Identifier: Apache-2.0
// Findings in each form: JSON, text for people, one line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/findings/finding.h"

namespace nccl_env {

// A list of what `make` gives for each item.
template <class Items, class Make>
nlohmann::ordered_json array_of(const Items& items, const Make& make) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& item : items) all.push_back(make(item));
  return all;
}

// docs/reference/cli.md names the keys, which are the same in all commands.
nlohmann::ordered_json to_json(const Finding& finding);
nlohmann::ordered_json to_json(const std::vector<Finding>& findings);
// "spec.fabric.expectPorts: must be from 1 to 1024, found 0"; "FILE:LINE: …" for a line of a file;
// the sentence alone where there is no path.
std::string line_of(const Finding& finding);
// For people, in 80 columns: a section for each code and severity, with its meaning and remedies. Findings of
// one code stand together, and equal sentences are one line, of one object or of several.
std::string render_sections(const std::vector<Finding>& findings);

}  // namespace nccl_env
