// SPDX-License-Identifier: Apache-2.0
// The answer of `nccl-env fabric test`.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/proof/causes.h"

namespace nccl_env {

struct ProofAnswer {
  Proof proof;
  std::vector<UntestedNode> untested;
  std::vector<Finding> findings;

  // Links with a result, and those of them that failed.
  [[nodiscard]] std::size_t links() const;
  [[nodiscard]] std::size_t failed() const;
  // True if nothing is known of any link or rail.
  [[nodiscard]] bool is_nothing() const;
  // "All 112 links of 8 nodes work", or the first thing that is wrong; without a stop.
  [[nodiscard]] std::string sentence() const;
};
ProofAnswer answer_proof(Proof proof, std::vector<UntestedNode> untested);

// docs/use/fabric-test.md names the keys.
nlohmann::ordered_json to_json(const ProofAnswer& answer);
// For people, in 80 columns: the answer, which node was tried with which (of at most 16), the findings.
std::string render_text(const ProofAnswer& answer);

}  // namespace nccl_env
