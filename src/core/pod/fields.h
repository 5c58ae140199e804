// SPDX-License-Identifier: Apache-2.0
// Parts of a pod's spec that claims and warnings are decided from, read off a review.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "nccl_env/core/pod/review.h"
#include "pod/json_reader.h"

namespace nccl_env {

// `claims` of a container's resources, and resourceClaims of the pod.
void read_claim_uses(std::optional<json::Element> list, const json::Path& path, Container& container,
                     json::Failure& failure);
void read_pod_claims(std::optional<json::Element> list, const json::Path& path, Pod& pod,
                     json::Failure& failure);

void read_security(json::Element context, const json::Path& path, Container& container,
                   json::Failure& failure);

struct TextList {
  std::optional<json::Element> list;
  const json::Path& path;
};
// Keeps them only where a command can be a launcher's: hardly any other names NCCL variables.
void read_arguments(const std::array<TextList, 2>& command_and_args, Container& container,
                    json::Failure& failure);

void read_empty_dir(std::string_view volume, json::Element source, const json::Path& path, Pod& pod,
                    json::Failure& failure);

}  // namespace nccl_env
