// SPDX-License-Identifier: Apache-2.0
// Single objects of a cluster, with the caller's own rights: what he may not read is an answer, too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "nccl_env/kube/client.h"

namespace nccl_env::app {

struct LookUp {
  enum class Outcome { Found, Absent, Forbidden, Failed } outcome = Outcome::Failed;
  nlohmann::json object;  // Found
  std::string problem;    // else: one sentence
};

// What is asked for, as a path and in words: "get pods ml/train-0".
struct Asked {
  std::string target;
  std::string words;
};
Asked ask_pod(const std::string& name_space, const std::string& name);
Asked ask_namespace(const std::string& name);
Asked ask_policy(const std::string& name);
Asked ask_table(const std::string& node);

// Names have to be is_object_name(), which makes the path what it says.
LookUp look_up(kube::Client& client, const Asked& asked);

}  // namespace nccl_env::app
