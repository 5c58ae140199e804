// SPDX-License-Identifier: Apache-2.0
// Any JSON as an NcclPolicy: refused with a finding, or read, and then written and read again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "nccl_env/core/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = nlohmann::json::parse(data, data + size, nullptr, false);
  if (object.is_discarded()) return 0;
  const auto reading = nccl_env::read_policy(object, {});
  if (!reading.policy) {
    if (reading.findings.empty()) std::abort();
    return 0;
  }
  const auto written = to_json(*reading.policy);
  const auto again = nccl_env::read_policy(written, {});
  if (!again.policy || to_json(*again.policy) != written) std::abort();
  return 0;
}
