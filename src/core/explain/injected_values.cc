// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/injected_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/explain/injected_pod.h"

namespace nccl_env {

Result<std::vector<InjectedValue>> injected_values(const Pod& pod, std::string_view container,
                                                   const nlohmann::json& object) {
  const auto record = read_pod_record(pod, object);
  if (!record) return record.error();
  std::vector<InjectedValue> values;
  bool named = container.empty();
  for (const GivenContainer& given : record->containers) {
    if (!container.empty() && given.name != container) continue;
    named = named || given.in_status;
    for (const Value* value : given.effective()) {
      const bool ours = given.in_status && value->source != Source::User;
      if (value->value && (ours || value->source == Source::Foreign))
        values.push_back({given.name, value->name, *value->value, value->source});
    }
  }
  const std::string annotation = "annotation " + std::string(key::kStatus);
  if (values.empty() && !pod.annotation(key::kStatus))
    return Error{"the pod has no " + annotation + ": nothing was injected"};
  if (values.empty() && !record->status) return Error{"the pod's " + annotation + " is not readable"};
  if (values.empty() && !named) return Error{"the pod's status names no container " + std::string(container)};
  std::sort(values.begin(), values.end(), [](const InjectedValue& left, const InjectedValue& right) {
    return std::tie(left.container, left.name) < std::tie(right.container, right.name);
  });
  return values;
}

}  // namespace nccl_env
