// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

std::string sentence(Reason reason, const std::string& detail) {
  return std::string(to_string(reason)) + ": " + (detail.empty() ? std::string(meaning(reason)) : detail);
}

std::string head(const Explanation& explanation) {
  TextColumns columns(2);
  const std::string decision = explanation.inject ? "inject" : "skip";
  columns.add({"decision", explanation.reason
                               ? decision + ", " + sentence(*explanation.reason, explanation.detail)
                               : decision});
  if (!explanation.inject && explanation.reason) {
    columns.add({"remedy", std::string(remedy(*explanation.reason))});
  }
  if (!explanation.policy.empty()) columns.add({"policy", explanation.policy});
  if (explanation.exposure) columns.add({"exposure", std::string(to_string(*explanation.exposure))});
  columns.add({"node", explanation.node.empty() ? "not known yet" : explanation.node});
  for (const std::string& warning : explanation.warnings) columns.add({"warning", warning});
  return columns.render();
}

std::string unknown_yet(const ExplainedVariable& variable) {
  return variable.source == "Pod" ? "(decided at container start)" : "(known once the node is)";
}

std::string container_text(const ExplainedContainer& container) {
  TextColumns columns(4);
  columns.add({"VARIABLE", "SOURCE", "VALUE OR REASON"});
  for (const ExplainedVariable& variable : container.env) {
    columns.add(
        {variable.name, std::string(variable.source), variable.value.value_or(unknown_yet(variable))});
  }
  for (const Omission& omission : container.omitted) {
    columns.add({omission.name, "-", sentence(omission.reason, omission.detail)});
  }
  const std::string name = printable(container.name);
  std::string text = "\n  container " + name + "\n" + columns.render();
  if (!container.conf) return text;
  TextColumns lines(4);
  lines.add({"LINE", "SOURCE", "VALUE"});
  for (const ExplainedVariable& line : *container.conf)
    lines.add({line.name, std::string(line.source), line.value.value_or(unknown_yet(line))});
  return text + "\n  /etc/nccl.conf of container " + name + "\n" + lines.render();
}

std::string port_name(const NcclSelection::ChosenPort& port) {
  return port.hca + ":" + std::to_string(port.port);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string ports_text(const NcclSelection& selection) {
  std::vector<std::string> names;
  for (const auto& port : selection.ports) names.push_back(port_name(port));
  return names.empty() ? "none" : join(names);
}

// "3 on all"; or the ports of each index.
std::string indexes_text(const NcclSelection& selection) {
  std::map<std::optional<int>, std::vector<std::string>> ports_of;
  for (const auto& port : selection.ports) ports_of[port.gid_index].push_back(port_name(port));
  const auto name = [](std::optional<int> index) {
    return index ? std::to_string(*index) : std::string("not known");
  };
  if (ports_of.empty()) return "-";
  if (ports_of.size() == 1 && !ports_of.begin()->first) return name({});
  if (ports_of.size() == 1) return name(ports_of.begin()->first) + " on all";
  std::string text;
  for (const auto& [index, ports] : ports_of)
    text += (text.empty() ? "" : "; ") + name(index) + " on " + join(ports);
  return text;
}

}  // namespace

std::string render_text(const NcclSelection& selection, std::size_t indent) {
  TextColumns columns(indent);
  columns.add({"HCAs", ports_text(selection)});
  columns.add({"GID index", indexes_text(selection)});
  columns.add({"interfaces", selection.interfaces.empty() ? "not known" : join(selection.interfaces)});
  for (const std::string& note : selection.notes) columns.add({"note", note});
  return columns.render();
}

std::string render_text(const Explanation& explanation) {
  std::string text = head(explanation);
  for (const ExplainedContainer& container : explanation.containers) text += container_text(container);
  const std::string version = format_nccl_version(explanation.version);
  if (explanation.nccl_alone)
    text += "\n  NCCL " + version + " alone\n" + render_text(*explanation.nccl_alone, 4);
  if (explanation.nccl_with_us)
    text += "\n  NCCL " + version + " with these variables\n" + render_text(*explanation.nccl_with_us, 4);
  return text;
}

namespace {

std::string env_line(const ExplainedVariable& variable) {
  if (variable.value) return variable.name + "=" + printable(*variable.value) + "\n";
  return "# " + variable.name +
         (variable.source == "Pod" ? " is decided at container start\n" : " is known once the node is\n");
}

}  // namespace

std::string render_env(const Explanation& explanation) {
  std::string text;
  for (const ExplainedContainer& container : explanation.containers) {
    if (explanation.containers.size() > 1) text += "# container " + printable(container.name) + "\n";
    for (const ExplainedVariable& variable : container.env) text += env_line(variable);
    if (!container.conf) continue;
    text += "# of /etc/nccl.conf\n";
    for (const ExplainedVariable& line : *container.conf) {
      const auto same = [&](const ExplainedVariable& variable) { return variable.name == line.name; };
      if (std::none_of(container.env.begin(), container.env.end(), same)) text += env_line(line);
    }
  }
  return text;
}

}  // namespace nccl_env
