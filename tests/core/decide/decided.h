// SPDX-License-Identifier: Apache-2.0
// What tests of decisions read out of pods, plans and values.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
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

// What the pod's own init container decides by its args and its env, where it sees this.
inline Resolution resolved_by(const Json& pod, const NodeFabric& seen) {
  const Json resolver = resolver_of(pod);
  std::map<std::string, std::string> env;
  for (const Json& entry : resolver["env"])
    env[entry["name"]] =
        entry.contains("value") ? entry["value"].get<std::string>() : field_of(pod, entry["valueFrom"]);
  const ConfText text = read_conf(env["NCCL_ENV_CONF"]);
  const std::vector<std::string> args = resolver["args"];
  const auto given = std::find(args.begin(), args.end(), "--given");
  if (given == args.end())
    return resolve_in_pod(parse_policy(Json::parse(env["NCCL_ENV_POLICY"]), {true}).value(), seen, false,
                          kNow, text);
  std::vector<std::string> names;
  std::istringstream listed(*(given + 1));
  for (std::string name; std::getline(listed, name, ',');) names.push_back(name);
  return resolve_given(names, text, env["NCCL_ENV_NODE"]);
}

// Returns the lines of the file that it writes.
inline std::map<std::string, std::string> written_by(const Json& pod, const NodeFabric& seen) {
  const ConfValues values = resolved_by(pod, seen).values;
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
