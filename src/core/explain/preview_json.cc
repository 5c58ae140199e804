// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "explain/json_values.h"
#include "nccl_env/core/explain/preview.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson variables_json(const std::vector<ExplainedVariable>& variables) {
  OrderedJson json = OrderedJson::array();
  for (const ExplainedVariable& variable : variables) {
    json.push_back({{"name", variable.name},
                    {"value", variable.value ? OrderedJson(*variable.value) : OrderedJson()},
                    {"source", variable.source}});
  }
  return json;
}

OrderedJson container_json(const ExplainedContainer& container) {
  OrderedJson omitted = OrderedJson::array();
  for (const Omission& omission : container.omitted) {
    omitted.push_back({{"name", omission.name},
                       {"reason", to_string(omission.reason)},
                       {"detail", omission.detail.empty() ? meaning(omission.reason) : omission.detail}});
  }
  OrderedJson json{
      {"name", container.name}, {"env", variables_json(container.env)}, {"omitted", std::move(omitted)}};
  if (container.conf) json["conf"] = variables_json(*container.conf);
  return json;
}

}  // namespace

OrderedJson to_ordered_json(const NcclSelection& selection) {
  const nlohmann::json sorted = to_json(selection);
  OrderedJson json = OrderedJson::object();
  for (const char* field : {"hcas", "gidIndex", "interfaces", "notes"}) json[field] = sorted.at(field);
  return json;
}

OrderedJson to_ordered_json(const std::optional<NcclSelection>& selection) {
  return selection ? to_ordered_json(*selection) : OrderedJson();
}

OrderedJson to_json(const Explanation& explanation) {
  OrderedJson containers = OrderedJson::array();
  for (const ExplainedContainer& container : explanation.containers)
    containers.push_back(container_json(container));
  OrderedJson json = OrderedJson::object();
  json["decision"] = explanation.inject ? "inject" : "skip";
  json["reason"] = explanation.reason ? OrderedJson(to_string(*explanation.reason)) : OrderedJson();
  json["detail"] = text_or_null(explanation.detail);
  json["policy"] = text_or_null(explanation.policy);
  json["node"] = text_or_null(explanation.node);
  json["exposure"] = explanation.exposure ? OrderedJson(to_string(*explanation.exposure)) : OrderedJson();
  json["containers"] = std::move(containers);
  json["warnings"] = explanation.warnings;
  json["ncclVersion"] = format_nccl_version(explanation.version);
  json["ncclAlone"] = to_ordered_json(explanation.nccl_alone);
  json["ncclWithUs"] = to_ordered_json(explanation.nccl_with_us);
  return json;
}

}  // namespace nccl_env
