// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/preview_print.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "explain/judgement.h"
#include "explain/value_print.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/explain/meant_choice.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson container_json(const ExplainedContainer& container) {
  OrderedJson json{{"name", container.name},
                   {"env", to_json(container.env)},
                   {"own", to_json(container.own)},
                   {"omitted", omitted_json(container.omitted)}};
  if (container.conf) json["conf"] = to_json(*container.conf);
  if (container.conf && !container.names_conf) json["confNote"] = to_string(Code::ImageConfHidden);
  if (!container.engine_lines.empty()) json["engineFiles"] = to_json(container.engine_lines);
  return json;
}

OrderedJson demands_json(const PodDemands& demands) {
  return {{"resources", demands.resources},
          {"claims", demands.claims},
          {"networks", demands.networks},
          {"devices", demands.devices},
          {"misplaced", demands.misplaced}};
}

}  // namespace

void add_selections(const NcclVersion& version, const std::optional<NcclSelection>& alone,
                    const std::optional<NcclSelection>& with_us, OrderedJson& into) {
  into["ncclVersion"] = format_nccl_version(version);
  into["ncclAlone"] = alone ? to_json(*alone) : OrderedJson();
  into["ncclWithUs"] = with_us ? to_json(*with_us) : OrderedJson();
}

OrderedJson to_json(const Explanation& explanation) {
  OrderedJson containers = OrderedJson::array();
  for (const ExplainedContainer& container : explanation.containers)
    containers.push_back(container_json(container));
  OrderedJson json = OrderedJson::object();
  json["decision"] = explanation.inject ? "inject" : "skip";
  json["reason"] = explanation.reason ? OrderedJson(to_string(*explanation.reason)) : OrderedJson();
  json["detail"] = text_or_null(explanation.detail);
  json["sentence"] = sentence_of(explanation);
  json["remedy"] = text_or_null(explanation.remedy);
  json["asksFor"] = explanation.reason == Reason::NotRdma ? demands_json(explanation.demands) : OrderedJson();
  json["policy"] = text_or_null(explanation.policy);
  json["node"] = text_or_null(explanation.node);
  json["exposure"] = explanation.exposure ? OrderedJson(to_string(*explanation.exposure)) : OrderedJson();
  json["containers"] = std::move(containers);
  json["warnings"] = explanation.warnings;
  json["good"] = is_good(explanation.findings);
  json["findings"] = to_json(explanation.findings);
  add_selections(explanation.version, explanation.nccl_alone, explanation.nccl_with_us, json);
  if (!explanation.engines.empty()) json["engines"] = engines_json(explanation.engines);
  return json;
}

namespace {

std::string sentence(Reason reason, const std::string& detail) {
  return std::string(to_string(reason)) + ": " + (detail.empty() ? std::string(meaning(reason)) : detail);
}

// "nvidia.com/gpu; networks ml/rail-0".
std::string demands_text(const PodDemands& demands) {
  std::string text;
  const auto add = [&](const char* kind, const std::vector<std::string>& what) {
    if (!what.empty()) text += (text.empty() ? "" : "; ") + std::string(kind) + join(what);
  };
  add("", demands.resources);
  add("claims ", demands.claims);
  add("networks ", demands.networks);
  add("the host's ", demands.devices);
  add("at spec.resources, where it has no effect: ", demands.misplaced);
  return text.empty() ? "processors and memory alone" : text;
}

std::size_t devices_of(const NcclSelection& selection) {
  std::set<std::string_view> names;
  for (const NcclSelection::ChosenPort& port : selection.ports) names.insert(port.hca);
  return names.size();
}

// "8 HCAs" of a list of the node's, "1 HCA of the 8 that NCCL finds" by one of the policy's; "" if not known.
std::string hcas_text(const Value& list, const Explanation& explanation) {
  const auto &alone = explanation.nccl_alone, &with_us = explanation.nccl_with_us;
  if (list.is_from(Source::Policy) && with_us) {
    const std::size_t taken = devices_of(*with_us), found = alone ? devices_of(*alone) : 0;
    return count_of(taken, "HCA") +
           (found > taken ? " of the " + std::to_string(found) + " that NCCL finds" : "");
  }
  // In a plain list that is not ours, a name is a prefix.
  if (!list.is_from(Source::Node) && !list.value->starts_with('=')) return {};
  const auto commas = std::ranges::count(*list.value, ',');
  return count_of(static_cast<std::size_t>(commas) + 1, "HCA");
}

// "3 variables: 8 HCAs, GID index 3", as far as it is known.
std::string given_text(const ExplainedContainer& container, const Explanation& explanation) {
  const std::string& node = explanation.node;
  std::map<std::string_view, const Value*> given;
  for (const Value& variable : container.env) given.emplace(variable.name, &variable);
  for (const Value& line : container.conf ? *container.conf : container.env) given.emplace(line.name, &line);
  for (const Value& omission : container.omitted) {
    if (omission.reason == Reason::UserSet) given.erase(omission.name);
  }
  std::size_t later = 0;
  bool at_start = false;
  std::string known;
  for (const auto& [name, variable] : given) {
    if (!variable->value) {
      ++later;
      at_start = at_start || variable->source == Source::Pod;
    } else if (name == variable::kIbHca) {
      const std::string hcas = hcas_text(*variable, explanation);
      if (!hcas.empty()) known = hcas + (known.empty() ? "" : ", ") + known;
    } else if (name == variable::kIbGidIndex) {
      known += (known.empty() ? "GID index " : ", GID index ") + *variable->value;
    }
  }
  std::string text = count_of(given.size(), "variable");
  if (!known.empty()) text += ": " + known;
  const std::string all = later == given.size() ? "all" : std::to_string(later);
  if (later > 0)
    text += "; " + all +
            (at_start       ? " found inside the pod"
             : node.empty() ? " known once it has a node"
                            : " known with the table of " + printable(node));
  return text;
}

std::string injected_text(const Explanation& explanation) {
  if (explanation.containers.empty()) return "no container gets variables";
  const ExplainedContainer& first = explanation.containers.front();
  std::string text = given_text(first, explanation);
  const auto left_out = [](const Value& omission) {
    return omission.name + " (" + std::string(to_string(*omission.reason)) + ")";
  };
  std::vector<Value> omitted = first.omitted;
  if (first.conf) {  // a variable that the env leaves to the file is not left out
    std::erase_if(omitted, [&](const Value& value) {
      return value.reason != Reason::UserSet && find_named(*first.conf, value.name);
    });
  }
  if (!omitted.empty()) text += "; left out: " + join(omitted, ", ", left_out);
  const Value* list = first.find(variable::kIbHca);
  if (list && list->value && explanation.nccl_with_us && explanation.nccl_with_us->ports.empty())
    text += "; NCCL uses no HCA with them (-o wide)";
  if (explanation.containers.size() > 1)
    text += "; so container " + printable(first.name) + ", the others below";
  return text;
}

std::string head(const Explanation& explanation) {
  TextColumns columns(2);
  if (is_good(explanation.findings)) {
    const Finding* off = explanation.inject ? meant_choice(explanation.findings) : nullptr;
    columns.add({"answer", off ? "inject; " + off->sentence : sentence_of(explanation)});
    if (off) columns.add({"remedy", std::string(remedy_of(*off))});
    add_further(explanation.findings, off ? off->sentence : "", columns);
    if (off) columns.add({"in all", sentence_of(explanation)});
  } else {
    const Finding& worst = explanation.findings.front();
    columns.add({"answer",
                 std::string(explanation.inject ? "inject" : "skip") + ", but " + continued(worst.sentence)});
    columns.add({"remedy", std::string(remedy_of(worst))});
    add_further(explanation.findings, worst.sentence, columns);
    columns.add({"in all", sentence_of(explanation)});
  }
  if (explanation.reason == Reason::NotRdma) columns.add({"asks for", demands_text(explanation.demands)});
  if (!explanation.remedy.empty()) columns.add({"remedy", explanation.remedy});
  if (!explanation.policy.empty()) columns.add({"policy", explanation.policy});
  if (explanation.exposure) columns.add({"exposure", std::string(to_string(*explanation.exposure))});
  columns.add({"node", explanation.node.empty() ? "not known yet" : explanation.node});
  for (const std::string& warning : explanation.warnings) columns.add({"warning", warning});
  return columns.render();
}

// Tells what beats a line of the file: our env, and variables that the container sets itself.
std::vector<Value> env_beside(const ExplainedContainer& container) {
  std::vector<Value> env = container.env;
  for (const Value& omission : container.omitted) {
    if (omission.reason == Reason::UserSet) env.push_back({.name = omission.name, .state = State::Users});
  }
  return env;
}

std::string container_text(const ExplainedContainer& container) {
  std::vector<Value> env = container.env, omitted = container.omitted;
  env.insert(env.end(), container.own.begin(), container.own.end());
  std::erase_if(omitted, [&](const Value& value) {  // the row of the container's own value shows it
    return value.reason == Reason::UserSet && find_named(container.own, value.name);
  });
  std::string text = env_table(container.name, env, omitted);
  if (container.conf)
    text += file_table(container.name, container.names_conf, "", *container.conf, env_beside(container));
  if (!container.engine_lines.empty())
    text += engine_tables(container.name, container.engine_lines, env_beside(container));
  return text;
}

}  // namespace

std::string sentence_of(const Explanation& explanation) {
  if (!explanation.reason) return (explanation.inject ? "inject, " : "skip, ") + injected_text(explanation);
  std::string text =
      (explanation.inject ? "inject, " : "skip, ") + sentence(*explanation.reason, explanation.detail);
  if (*explanation.reason == Reason::DryRun) text += " It would set " + injected_text(explanation) + ".";
  return text;
}

std::string render_text(const Explanation& explanation, Choices choices) {
  std::string text = head(explanation);
  for (const ExplainedContainer& container : explanation.containers) text += container_text(container);
  const auto tell = choices == Choices::Both ? selections_text : choice_text;
  return text + tell(explanation.version, explanation.nccl_alone, explanation.nccl_with_us) +
         engines_text(explanation.engines);
}

std::string render_env(const Explanation& explanation) {
  std::string text;
  for (const ExplainedContainer& container : explanation.containers) {
    if (explanation.containers.size() > 1) text += "# container " + printable(container.name) + "\n";
    for (const Value& variable : container.env) text += env_line(variable);
    for (const Value& line : container.engine_lines) text += env_line(line);
    if (!container.conf) continue;
    text.append("# of ").append(conf_path(container.names_conf)).append("\n");
    const std::vector<Value> beside = env_beside(container);
    for (const Value& line : *container.conf) {
      if (!find_named(beside, line.name)) text += env_line(line);
    }
  }
  return text;
}

}  // namespace nccl_env
