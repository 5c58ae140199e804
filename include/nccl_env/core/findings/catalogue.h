// SPDX-License-Identifier: Apache-2.0
// The catalogue of findings: what each code means, what to do, what the remedy touches, and where to read on.
// Reasons (core/policy/reasons.h) have rows of the same form.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace nccl_env {

// clang-format off
enum class Code {
  // the doctor
  ObjectRefused, NoFabric, PortDown, HcaMissing, HcasDiffer, HardwareDiffers, RateLow, MtuDiffers, NoAddress,
  DuplicateAddress, GidIndexDiffers, GidIndexMoved, SubnetDiffers, StaleTable,
  // a policy
  PolicyField,
};
// clang-format on

// What has to be touched for the remedy: nothing that runs, the pod, the node or its network, or the policy.
enum class Impact { None, PodAnew, Node, Policy };
std::string_view to_string(Impact impact);  // none, podAnew, node, policy

struct Named {
  std::string_view name;
  std::string_view meaning;  // a sentence or two
  std::string_view remedy;   // sentences; "" where each finding has its own
  Impact impact = Impact::None;
  std::string_view document;  // the page that names it: "docs/use/doctor.md"
};

const Named& words_of(Code code);
inline std::string_view to_string(Code code) {
  return words_of(code).name;
}
std::optional<Code> parse_code(std::string_view name);
std::span<const Code> all_codes();

}  // namespace nccl_env
