// SPDX-License-Identifier: Apache-2.0
#include "node_labels.h"

#include <nlohmann/json.hpp>

namespace nccl_env::app {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::hours kSettled{1};

const std::string* string_at(const Json& object, const Json::json_pointer& place) {
  return object.contains(place) ? object.at(place).get_ptr<const std::string*>() : nullptr;
}

bool is_settled(const Json& node, Timestamp now) {
  const std::string* text = string_at(node, Json::json_pointer("/metadata/creationTimestamp"));
  const auto created = text ? parse_timestamp(*text) : Result<Timestamp>(Error{"not known"});
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
  ReadLabels read;
  for (const std::string& key : keys) {
    const std::string* value = string_at(node, Json::json_pointer("/metadata/labels") / key);
    if (value && is_label_value(*value)) {
      read.labels.push_back({key, *value});
    } else if (!value && settled) {
      read.labels.push_back({key, {}});
    } else {
      read.settled = settled;
    }
  }
  return read;
}

}  // namespace nccl_env::app
