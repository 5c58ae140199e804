// SPDX-License-Identifier: Apache-2.0
#include "explain/pod_answer_rows.h"

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

std::vector<ValueRow> file_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<ValueRow> rows;
  for (const GivenValue& line : container.file) {
    ValueRow row{line.name, std::string(to_string(line.from)), {}, false, false};
    const bool later = line.state == GivenValue::State::Missing && line.from == GivenValue::From::File &&
                       record.node.empty();
    if (line.state == GivenValue::State::Missing && !later) continue;
    const GivenValue* beside = container.find_in_env(line.name);
    if (line.state == GivenValue::State::Known) {
      row.value = line.value;
      row.beaten = beside && (beside->state != GivenValue::State::Known || beside->value != line.value);
    }
    row.known_later = later || line.state == GivenValue::State::Pending;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string file_words(const PodRecord& record) {
  const GivenFile& file = *record.file;
  const std::string why = file.detail.empty() ? "" : ": " + file.detail;
  switch (file.state) {
    case GivenFile::State::Missing:
      return record.node.empty() ? "it comes with the node"
                                 : "its annotation is not there: the file is empty";
    case GivenFile::State::Waiting:
      return "not written yet" + why;
    case GivenFile::State::Failed:
      return "nccl-env-resolve failed" + why;
    case GivenFile::State::Foreign:
      if (!file.detail.empty()) return "nccl-env-resolve has ended, and what it wrote is not known" + why;
      return file.at_start ? "nccl-env-resolve said what nccl-env never says; it is not read"
                           : "its annotation holds what nccl-env never writes; it is not read";
    case GivenFile::State::Known:
      break;
  }
  return file.cut ? "nccl-env-resolve said more than the kubelet keeps; further lines are not known" : "";
}

std::vector<OmittedRow> omitted_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<OmittedRow> rows;
  for (const GivenValue& given : container.values) {
    if (given.state != GivenValue::State::Missing || record.node.empty()) continue;
    std::string reason = record.reason_at_binding(given.name);
    if (!record.bound) reason = "its annotation is not there";
    if (!reason.empty()) rows.push_back({given.name, std::move(reason)});
  }
  for (const GivenValue& line : container.file) {
    // What the env has counts, and has its own row.
    if (container.find_in_env(line.name) || record.node.empty()) continue;
    std::string reason = record.reason_missing(line);
    if (reason.empty()) continue;
    OmittedRow row{line.name, std::move(reason)};
    if (line.from == GivenValue::From::Pod) row.detail = record.file->details.find(line.name)->second;
    rows.push_back(std::move(row));
  }
  for (const auto& [name, reason] : container.omitted) rows.push_back({name, reason});
  return rows;
}

}  // namespace nccl_env
