// SPDX-License-Identifier: Apache-2.0
// What tests of decisions read out of pods, plans and values.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/conf_pods.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/policy/reader.h"
#include "support/places.h"

namespace nccl_env::tests {

inline BindingPlan binding_of(const NcclPolicy& policy, const NodeFabric* table) {
  return plan_binding(std::make_shared<const NcclPolicy>(policy), table ? table->name : "node-a", table,
                      {kNow});
}

// A second review changes nothing, nor one of the pod with the API server's defaults.
inline Admitted settled(const Json& before, const NcclPolicy& policy, const PlanOptions& options = {}) {
  Admitted admitted = admit(before, policy, nullptr, options);
  EXPECT_EQ(admit(admitted.pod, policy, nullptr, options).patch, "") << before;
  EXPECT_EQ(admit(with_api_defaults(admitted.pod), policy, nullptr, options).patch, "") << before;
  return admitted;
}

// What `use` finds in the pod as it is read.
template <class Use>
auto of_parsed(const Json& pod, Use use) {
  ReviewParser parser;
  const std::string text = pod.dump();
  return use(*parser.parse_pod(text));
}

inline Json resolver_of(const Json& pod) {
  for (const Json& container : pod["spec"].value("initContainers", Json::array())) {
    if (container["name"] == "nccl-env-resolve") return container;
  }
  return nullptr;
}

// Returns what the kubelet finds for {"fieldRef": …}: "" where the annotation is missing.
inline std::string field_of(const Json& pod, const Json& source) {
  const std::string path = source["fieldRef"]["fieldPath"];
  return pod["metadata"]
      .value("annotations", Json::object())
      .value(path.substr(22, path.size() - 24), "");  // metadata.annotations['KEY']
}

inline std::string reason_of(const NodeValues& values, std::string_view name) {
  const Value* omission = values.omission(name);
  return omission ? std::string(to_string(*omission->reason)) : "";
}

// Returns the file that the pod's own init container writes from its env, where it sees this.
inline std::map<std::string, std::string> written_by(const Json& pod, const NodeFabric& seen) {
  ConstantMap texts;
  Result<NcclPolicy> policy = Error{"none"};
  const Json resolver = resolver_of(pod);
  for (const Json& entry : resolver["env"]) {
    if (entry["name"] == "NCCL_ENV_POLICY") {
      policy = parse_policy(Json::parse(entry["value"].get<std::string>()), {true});
    } else if (const std::string text = field_of(pod, entry["valueFrom"]); !text.empty()) {
      texts.emplace(entry["name"].get<std::string>(), text);
    }
  }
  const Json& args = resolver["args"];
  const bool host_network = std::find(args.begin(), args.end(), "--host-network") != args.end();
  const auto values = resolve_in_pod(policy.value(), seen, host_network, kNow, texts).values;
  return {values.begin(), values.end()};
}

inline std::vector<NcclPolicy> shipped_policies() {
  std::vector<NcclPolicy> all;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("/policies"))) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    all.push_back(parse_policy(parse_documents(text, entry.path().string())->front(), {}).value());
  }
  return all;
}

}  // namespace nccl_env::tests
