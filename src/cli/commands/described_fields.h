// SPDX-License-Identifier: Apache-2.0
// The fields of our objects in words, from their descriptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nccl_env::cli {

struct DescribedField {
  std::string path;                     // "spec.fabric.hcas", "observed.ports.state"
  std::string_view means;               // a sentence or more
  std::vector<std::string_view> words;  // that it takes, where it takes an enumeration's
  std::string_view object;              // NcclPolicy, NodeFabric
  std::string_view document;
};

// Policies' fields first, each object's in the order of its description.
std::vector<DescribedField> described_fields();

}  // namespace nccl_env::cli
