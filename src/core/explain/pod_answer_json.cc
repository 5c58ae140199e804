// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "explain/json_values.h"
#include "explain/pod_answer_rows.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/core/explain/preview.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson value_or_null(const std::optional<std::string>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson status_json(const StatusNote& status) {
  OrderedJson json = OrderedJson::object();
  json["policy"] = status.policy;
  json["generation"] = status.generation;
  json["exposure"] = status.exposure ? OrderedJson(to_string(*status.exposure)) : OrderedJson();
  json["form"] = text_or_null(status.form);
  return json;
}

OrderedJson bound_json(const NodeNote& bound) {
  OrderedJson json = OrderedJson::object();
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
OrderedJson file_json(const PodRecord& record, const GivenContainer& container) {
  if (!container.reads_file) return {};
  OrderedJson lines = OrderedJson::array();
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

OrderedJson container_json(const PodAnswer& answer, const PodRecord& record,
                           const GivenContainer& container) {
  OrderedJson env = OrderedJson::array();
  for (const ValueRow& row : value_rows(record, container))
    env.push_back({{"name", row.name}, {"value", value_or_null(row.value)}, {"source", row.source}});
  OrderedJson omitted = OrderedJson::array();
  for (const OmittedRow& row : omitted_rows(record, container)) {
    const auto reason = parse_reason(row.reason);
    const auto detail = answer.details.find(row.name);
    omitted.push_back({{"name", row.name},
                       {"reason", row.reason},
                       {"detail", !row.detail.empty()              ? OrderedJson(row.detail)
                                  : detail != answer.details.end() ? OrderedJson(detail->second)
                                  : reason                         ? OrderedJson(meaning(*reason))
                                                                   : OrderedJson()},
                       {"remedy", reason ? OrderedJson(remedy(*reason)) : OrderedJson()}});
  }
  return {{"name", container.name},
          {"injected", container.in_status},
          {"env", std::move(env)},
          {"file", file_json(record, container)},
          {"omitted", std::move(omitted)}};
}

}  // namespace

OrderedJson to_json(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  OrderedJson json = OrderedJson::object();
  json["namespace"] = record.name_space;
  json["pod"] = record.name;
  json["state"] = to_string(answer.state);
  json["reason"] = answer.reason ? OrderedJson(to_string(*answer.reason)) : OrderedJson();
  json["sentence"] = answer.sentence;
  json["remedy"] = text_or_null(answer.remedy);
  json["finding"] = answer.finding;
  json["phase"] = text_or_null(record.phase);
  json["node"] = text_or_null(record.node);
  json["status"] = record.status ? status_json(*record.status) : OrderedJson();
  json["bound"] = record.bound ? bound_json(*record.bound) : OrderedJson();
  json["containers"] = OrderedJson::array();
  for (const GivenContainer& container : record.containers)
    json["containers"].push_back(container_json(answer, record, container));
  json["changes"] = OrderedJson::array();
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
  json["ncclAlone"] = to_ordered_json(answer.nccl_alone);
  json["ncclWithUs"] = to_ordered_json(answer.nccl_with_us);
  return json;
}

}  // namespace nccl_env
