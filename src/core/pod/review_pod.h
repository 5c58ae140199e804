// SPDX-License-Identifier: Apache-2.0
// Reads what decisions need of a Pod object.
#pragma once

#include "nccl_env/core/pod/review.h"
#include "pod/json_reader.h"

namespace nccl_env {

Pod read_pod(json::Element object, const json::Path& path, json::Failure& failure);

// A map of strings: labels, annotations. One of ours may not stand twice.
void read_strings(std::optional<json::Element> map, const json::Path& path,
                  std::vector<std::pair<std::string_view, std::string_view>>& into, json::Failure& failure);

}  // namespace nccl_env
