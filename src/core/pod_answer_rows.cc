// SPDX-License-Identifier: Apache-2.0
#include "pod_answer_rows.h"

namespace nccl_env {

std::vector<ValueRow> value_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<ValueRow> rows;
  for (const GivenValue& given : container.values) {
    if (given.state == GivenValue::State::Missing && !record.node.empty()) continue;
    ValueRow row{given.name, std::string(to_string(given.from)), {}, false};
    if (given.state == GivenValue::State::Known) row.value = given.value;
    row.known_later = given.state == GivenValue::State::Missing;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<OmittedRow> omitted_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<OmittedRow> rows;
  for (const GivenValue& given : container.values) {
    if (given.state != GivenValue::State::Missing || record.node.empty()) continue;
    std::string reason = record.reason_at_binding(given.name);
    if (!record.bound) reason = "its annotation is not there";
    if (!reason.empty()) rows.push_back({given.name, std::move(reason)});
  }
  for (const auto& [name, reason] : container.omitted) rows.push_back({name, reason});
  return rows;
}

}  // namespace nccl_env
