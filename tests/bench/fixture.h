// SPDX-License-Identifier: Apache-2.0
// The inputs that inputs.py wrote, as decision_bench and answer_cost take them.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/store/manifests.h"
#include "nccl_env/webhook/admission.h"

namespace nccl_env::bench {

inline std::string inputs;  // the directory

inline std::string read_input(const std::string& name) {
  std::ifstream file(inputs + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The policy, its namespace, and tables that differ in their names only.
inline Snapshot make_snapshot(std::int64_t tables, bool all_engines = false) {
  store::Objects objects;
  auto policy = nlohmann::json::parse(read_input("policy.json"));
  if (all_engines) policy["spec"]["engines"] = {"NCCL", "UCX", "NVSHMEM", "Gloo"};
  add_object(policy, {}, objects);
  add_object(nlohmann::json::parse(read_input("namespace.json")), {}, objects);
  auto table = nlohmann::json::parse(read_input("node-00000.json"));
  for (std::int64_t i = 0; i < tables; ++i) {
    std::string number = std::to_string(i);
    table["metadata"]["name"] = "node-" + std::string(5 - number.size(), '0') + number;
    add_object(table, {}, objects);
  }
  Snapshot snapshot;
  merge(objects, "inputs", snapshot, [](const std::string& problem) { std::cerr << problem << '\n'; });
  return snapshot;
}

inline NodeContext context() {
  return {std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()), {}, true};
}

inline webhook::AdmissionOptions options() {
  webhook::AdmissionOptions options;
  options.clock = [] { return context().now; };
  return options;
}

}  // namespace nccl_env::bench
