// SPDX-License-Identifier: Apache-2.0
// The answer of `nccl-env fabric test`: what is at fault for links that failed, and what was not tested.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/proof/proof.h"
#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {

// Says why a node has no member.
enum class Untested {
  Busy,       // a resource or a device that the template asks for is in use
  Held,       // a quota, a refusal of admission, a scheduling gate or a taint keeps its pod away
  NoImage,    // the image cannot be pulled
  NotStarted  // no container of it ran, for another reason or for none that is known
};
inline std::string_view to_string(Untested why) {
  constexpr std::array<std::string_view, 4> kNames{"busy", "held", "no image", "not started"};
  return name_in(kNames, why);
}

struct UntestedNode {
  std::string node;
  Untested why = Untested::NotStarted;
  std::string detail;  // a sentence of the scheduler, the kubelet or the API server; "": none
};

struct ProofAnswer {
  Proof proof;
  std::vector<UntestedNode> untested;
  // The fewest things that explain all failures, the most urgent first: a network, a rail of a node, a link;
  // at most a hundred or so, the rest is counted. A rail that failed by itself has its own finding; a node
  // without a member, a member that went or fell silent, and rounds that were not tried have NotTested.
  std::vector<Finding> findings = {};
  std::size_t links = 0;  // with a result
  std::size_t failed = 0;

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
