// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/start.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decide/conf_delivery.h"
#include "nccl_env/core/decide/engine_values.h"
#include "nccl_env/core/decide/node_constants.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_document.h"

namespace nccl_env {
Resolution resolve_in_pod(const NcclPolicy& policy, const NodeFabric& table, bool host_network, Timestamp now,
                          const ConfText& given) {
  Resolution resolution;
  if (policy.mode == PolicyMode::DryRun) {
    for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex, variable::kSocketIfname}) {
      resolution.omitted.push_back(
          left_out(name, Reason::DryRun, "Policy " + policy.name + " is in mode DryRun."));
    }
    return resolution;
  }
  SettledPolicy settled = settle_by_text(policy, given);
  NcclPolicy& asked = settled.policy;
  // expectPorts counts the ports of a node; a pod may have asked for fewer.
  if (!host_network) asked.fabric.expect_ports.reset();
  if (!host_network && asked.socket_interface.kind == SocketInterfaceRule::Kind::FromNode) {
    asked.socket_interface.kind = SocketInterfaceRule::Kind::Omit;
    resolution.omitted.push_back(left_out(variable::kSocketIfname, Reason::OmittedByPolicy, kForHostNetwork));
  }
  NodeContext context;
  context.now = now;
  const Exposure exposure = host_network ? Exposure::Host : Exposure::PodOwned;
  const NodeValues found = node_values(settled, table.name, &table, exposure, context);
  resolution.values = found.set;
  resolution.omitted.insert(resolution.omitted.begin(), found.omitted.begin(), found.omitted.end());
  resolution.complete = std::none_of(found.omitted.begin(), found.omitted.end(), [](const Value& omission) {
    return scope_of(*omission.reason) == ReasonScope::Node;
  });
  // Without the socket interface, which node_values has looked for.
  const ConfValues constants = policy_constants(asked, true);
  resolution.values.insert(constants.begin(), constants.end());
  if (policy.deliver_env_file) {
    resolution.env = resolution.values;
    for (const auto& value : found.engines) {
      if (!file_engine_of(value.first)) resolution.env.insert(value);
    }
    if (found.plain_hcas) resolution.env[std::string(variable::kIbHca)] = *found.plain_hcas;
  }
  for (const Engine* engine : policy.engines) {
    if (has_file(*engine))
      resolution.files.emplace(engine->file, engine_file(*engine, asked, found, host_network));
  }
  return resolution;
}

Resolution resolve_given(const std::vector<std::string>& names, const ConfText& given,
                         std::string_view node) {
  Resolution resolution;
  for (const std::string& name : names) {
    const auto note = given.notes.find(name), line = given.values.find(name);
    if (note != given.notes.end() && !note->second.empty()) {
      resolution.env.insert(*note);
    } else if (line != given.values.end()) {
      const bool plain = note != given.notes.end() && line->second.starts_with('=');
      resolution.env.emplace(name, line->second.substr(plain ? 1 : 0));
    } else if (node.empty()) {
      resolution.omitted.push_back(left_out(name, Reason::NotBound, meaning(Reason::NotBound)));
      resolution.complete = false;
    }
  }
  return resolution;
}

namespace {

// Returns what is told: the env's, which a process sees as it is, else the lines of nccl.conf.
const auto& shown(const Resolution& resolution) {
  return resolution.env.empty() ? resolution.values : resolution.env;
}

// The lines of a file of ours, each of which is NAME=VALUE.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (bool more = true; more && !text.empty();) lines.push_back(cut_entry(text, '\n', more));
  return lines;
}

}  // namespace

std::string render_text(const Resolution& resolution) {
  std::string text;
  for (const auto& [name, value] : shown(resolution)) text.append(printable(name + "=" + value)).append("\n");
  for (const auto& [file, lines] : resolution.files) {
    for (const std::string_view line : lines_of(lines)) text.append(printable(line)).append("\n");
  }
  for (const Value& omission : resolution.omitted) {
    const std::string reason(to_string(*omission.reason));
    text.append(printable(omission.name + ": " + reason + ": " + omission.detail)).append("\n");
  }
  for (const std::string& device : resolution.unread) text += "not readable: " + printable(device) + "\n";
  for (const std::string& problem : resolution.problems) text += printable(problem) + "\n";
  return text;
}

std::string render_message(const Resolution& resolution) {
  std::string text;
  const auto add = [&](const nlohmann::ordered_json& line) { text += dump_json(line) + "\n"; };
  add({{"v", 1}});
  for (const std::string& problem : resolution.problems) add({{"problem", printable(problem)}});
  if (resolution.memory_lock) add({{"memoryLock", *resolution.memory_lock}});
  for (const auto& [name, value] : shown(resolution)) add({{"set", name}, {"to", printable(value)}});
  for (const auto& [file, lines] : resolution.files) {
    for (const std::string_view line : lines_of(lines)) {
      const std::size_t equals = line.find('=');
      add({{"set", line.substr(0, equals)}, {"to", printable(line.substr(equals + 1))}});
    }
  }
  for (const Value& omission : resolution.omitted) {
    add({{"omitted", omission.name},
         {"reason", to_string(*omission.reason)},
         {"detail", printable(omission.detail)}});
  }
  for (const std::string& device : resolution.unread) add({{"unread", printable(device)}});
  return text;
}

}  // namespace nccl_env
