// SPDX-License-Identifier: Apache-2.0
// Parts of checked-in files that come from the descriptions of our objects. `make generate` writes them, and
// a test (tests/manifests) refuses a file that is not as it would be written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nccl_env::generate {

struct Output {
  std::string path;  // in the checkout
  std::string text;  // all of the file, with its generated parts as they should be
};

// Throws std::runtime_error if a file or a marker is not there.
std::vector<Output> outputs();

// The schema of `observed` without its summary, which is derived and described by hand.
nlohmann::ordered_json table_schema();

// The schema of a policy's `spec`, without the rules of spec itself.
nlohmann::ordered_json spec_schema();

}  // namespace nccl_env::generate
