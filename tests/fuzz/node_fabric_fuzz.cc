// SPDX-License-Identifier: Apache-2.0
// Any JSON as a NodeFabric: refused with a message, or read, written and read again unchanged, and then
// usable by the decisions and by NCCL's own rules.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide.h"
#include "nccl_env/core/nccl_rules.h"
#include "nccl_env/core/node_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = nlohmann::json::parse(data, data + size, nullptr, false);
  if (object.is_discarded()) return 0;
  const auto table = nccl_env::parse_node_fabric(object);
  if (!table) {
    if (table.error().message.empty()) std::abort();
    return 0;
  }
  const auto written = to_json(*table);
  const auto again = nccl_env::parse_node_fabric(written);
  if (!again || to_json(*again) != written) std::abort();

  const auto values = node_values({}, table->name, &*table, nccl_env::Exposure::Host, {});
  for (const auto& [name, value] : values.set) {
    if (value.empty()) std::abort();
  }
  nccl_select(*table, {values.set.begin(), values.set.end()}, nccl_env::kNewestNccl);
  return 0;
}
