// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "nccl_env/core/explain.h"

namespace nccl_env {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

Json variables_json(const std::vector<ExplainedVariable>& variables) {
  Json json = Json::array();
  for (const ExplainedVariable& variable : variables) {
    json.push_back({{"name", variable.name},
                    {"value", variable.value ? Json(*variable.value) : Json()},
                    {"source", variable.source}});
  }
  return json;
}

Json container_json(const ExplainedContainer& container) {
  Json omitted = Json::array();
  for (const Omission& omission : container.omitted) {
    omitted.push_back({{"name", omission.name},
                       {"reason", to_string(omission.reason)},
                       {"detail", omission.detail.empty() ? meaning(omission.reason) : omission.detail}});
  }
  Json json{
      {"name", container.name}, {"env", variables_json(container.env)}, {"omitted", std::move(omitted)}};
  if (container.conf) json["conf"] = variables_json(*container.conf);
  return json;
}

Json selection_json(const std::optional<NcclSelection>& selection) {
  return selection ? to_ordered_json(*selection) : Json();
}

}  // namespace

Json to_ordered_json(const NcclSelection& selection) {
  const nlohmann::json sorted = to_json(selection);
  Json json = Json::object();
  for (const char* field : {"hcas", "gidIndex", "interfaces", "notes"}) json[field] = sorted.at(field);
  return json;
}

Json to_json(const Explanation& explanation) {
  Json containers = Json::array();
  for (const ExplainedContainer& container : explanation.containers)
    containers.push_back(container_json(container));
  Json json = Json::object();
  json["decision"] = explanation.inject ? "inject" : "skip";
  json["reason"] = explanation.reason ? Json(to_string(*explanation.reason)) : Json();
  json["detail"] = text_or_null(explanation.detail);
  json["policy"] = text_or_null(explanation.policy);
  json["node"] = text_or_null(explanation.node);
  json["exposure"] = explanation.exposure ? Json(to_string(*explanation.exposure)) : Json();
  json["containers"] = std::move(containers);
  json["warnings"] = explanation.warnings;
  json["ncclVersion"] = format_nccl_version(explanation.version);
  json["ncclAlone"] = selection_json(explanation.nccl_alone);
  json["ncclWithUs"] = selection_json(explanation.nccl_with_us);
  return json;
}

}  // namespace nccl_env
