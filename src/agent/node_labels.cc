// SPDX-License-Identifier: Apache-2.0
#include "node_labels.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_member.h"

namespace nccl_env::agent {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::hours kSettled{1};

bool is_settled(const Json& node, Timestamp now) {
  const auto created = parse_timestamp(text_at(member(node, "metadata"), "creationTimestamp"));
  return created && now - *created > kSettled;
}

}  // namespace

const std::vector<std::string>& usual_node_labels() {
  static const std::vector<std::string> keys{"node.kubernetes.io/instance-type",
                                             "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
                                             "nvidia.com/gpu.product", "amd.com/gpu.product-name"};
  return keys;
}

ReadLabels read_labels(const Json& node, const std::vector<std::string>& keys, Timestamp now) {
  const bool settled = is_settled(node, now);
  const Json& labels = member(member(node, "metadata"), "labels");
  ReadLabels read;
  for (const std::string& key : keys) {
    const Json& value = member(labels, key);
    if (value.is_string() && is_label_value(text_of(value))) {
      read.labels.push_back({key, text_of(value)});
    } else if (!value.is_string() && settled) {
      read.labels.push_back({key, {}});
    } else {
      read.settled = settled;
    }
  }
  return read;
}

}  // namespace nccl_env::agent
