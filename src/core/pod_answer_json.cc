// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "nccl_env/core/explain.h"
#include "nccl_env/core/pod_answer.h"
#include "pod_answer_rows.h"

namespace nccl_env {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json value_or_null(const std::optional<std::string>& value) {
  return value ? Json(*value) : Json();
}

Json status_json(const StatusNote& status) {
  Json json = Json::object();
  json["policy"] = status.policy;
  json["generation"] = status.generation;
  json["exposure"] = status.exposure ? Json(to_string(*status.exposure)) : Json();
  json["form"] = text_or_null(status.form);
  return json;
}

Json bound_json(const NodeNote& bound) {
  Json json = Json::object();
  json["node"] = bound.node;
  json["table"] = text_or_null(bound.table);
  json["policy"] = bound.policy;
  json["generation"] = bound.generation;
  return json;
}

std::string_view state_word(GivenFile::State state) {
  switch (state) {
    case GivenFile::State::Known:
      return "known";
    case GivenFile::State::Waiting:
      return "not written";
    case GivenFile::State::Failed:
      return "failed";
    case GivenFile::State::Foreign:
      return "not readable";
    case GivenFile::State::Missing:
      break;
  }
  return "missing";
}

// Null where the container reads no file of ours.
Json file_json(const PodRecord& record, const GivenContainer& container) {
  if (!container.reads_file) return {};
  Json lines = Json::array();
  for (const ValueRow& row : file_rows(record, container))
    lines.push_back({{"name", row.name},
                     {"value", value_or_null(row.value)},
                     {"source", row.source},
                     {"counts", container.find_in_env(row.name) == nullptr}});
  return {{"state", state_word(record.file->state)},
          {"atStart", record.file->at_start},
          {"detail", text_or_null(file_words(record))},
          {"lines", std::move(lines)}};
}

Json container_json(const PodAnswer& answer, const PodRecord& record, const GivenContainer& container) {
  Json env = Json::array();
  for (const ValueRow& row : value_rows(record, container))
    env.push_back({{"name", row.name}, {"value", value_or_null(row.value)}, {"source", row.source}});
  Json omitted = Json::array();
  for (const OmittedRow& row : omitted_rows(record, container)) {
    const auto reason = parse_reason(row.reason);
    const auto detail = answer.details.find(row.name);
    omitted.push_back({{"name", row.name},
                       {"reason", row.reason},
                       {"detail", !row.detail.empty()              ? Json(row.detail)
                                  : detail != answer.details.end() ? Json(detail->second)
                                  : reason                         ? Json(meaning(*reason))
                                                                   : Json()},
                       {"remedy", reason ? Json(remedy(*reason)) : Json()}});
  }
  return {{"name", container.name},
          {"injected", container.in_status},
          {"env", std::move(env)},
          {"file", file_json(record, container)},
          {"omitted", std::move(omitted)}};
}

Json selection_json(const std::optional<NcclSelection>& selection) {
  return selection ? to_ordered_json(*selection) : Json();
}

}  // namespace

Json to_json(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  Json json = Json::object();
  json["namespace"] = record.name_space;
  json["pod"] = record.name;
  json["state"] = to_string(answer.state);
  json["reason"] = answer.reason ? Json(to_string(*answer.reason)) : Json();
  json["sentence"] = answer.sentence;
  json["remedy"] = text_or_null(answer.remedy);
  json["finding"] = answer.finding;
  json["phase"] = text_or_null(record.phase);
  json["node"] = text_or_null(record.node);
  json["status"] = record.status ? status_json(*record.status) : Json();
  json["bound"] = record.bound ? bound_json(*record.bound) : Json();
  json["containers"] = Json::array();
  for (const GivenContainer& container : record.containers)
    json["containers"].push_back(container_json(answer, record, container));
  json["changes"] = Json::array();
  for (const ValueChange& change : answer.changes) {
    json["changes"].push_back({{"container", change.container},
                               {"name", change.name},
                               {"then", value_or_null(change.then)},
                               {"now", value_or_null(change.now)},
                               {"reason", text_or_null(change.reason)}});
  }
  json["notes"] = answer.notes;
  json["leftOut"] = around.unread;
  json["ncclVersion"] = format_nccl_version(around.version);
  json["ncclAlone"] = selection_json(answer.nccl_alone);
  json["ncclWithUs"] = selection_json(answer.nccl_with_us);
  return json;
}

}  // namespace nccl_env
