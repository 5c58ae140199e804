// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/engine_values.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

// The name that container runtimes give to the interface of a pod's own network (containerd's and CRI-O's
// defaultIfName).
constexpr std::string_view kPodInterface = "eth0";

std::string constant_of(const NcclPolicy& policy, const NodeValues& values, std::string_view name) {
  if (const auto found = values.set.find(name); found != values.set.end()) return found->second;
  const auto constant = policy.env.find(name);
  return constant == policy.env.end() || policy.varies(name) ? std::string() : constant->second;
}

std::string interface_of(const NcclPolicy& policy, const NodeValues& values, bool host_network) {
  using Kind = SocketInterfaceRule::Kind;
  if (const auto found = values.set.find(variable::kSocketIfname); found != values.set.end())
    return exact_interface(found->second, host_network);
  const Value* omission = find_named(values.omitted, variable::kSocketIfname);
  if (omission && omission->reason == Reason::InterfaceAbsent) return {};
  const bool literal = policy.socket_interface.kind == Kind::Literal && !policy.varies_socket_interface();
  return literal && !host_network ? exact_interface(policy.socket_interface.literal, false) : std::string();
}

EngineChoice choice_of(const NcclPolicy& policy, const NodeValues& values, bool host_network) {
  EngineChoice choice;
  if (policy.hca.kind == HcaRule::Kind::FromNode) choice.ports = values.ports;
  choice.interface = choice.tcp_interface = interface_of(policy, values, host_network);
  if (choice.tcp_interface.empty() && !host_network) choice.tcp_interface = kPodInterface;
  choice.traffic_class = constant_of(policy, values, variable::kIbTc);
  choice.service_level = constant_of(policy, values, variable::kIbSl);
  return choice;
}

void find_value(const EngineVariable& variable, const EngineChoice& choice, NodeValues& values) {
  EngineValue value = variable.render(choice);
  if (!value.text.empty()) {
    values.engines.insert_or_assign(std::string(variable.row.name), std::move(value.text));
  } else if (!value.refusal.empty()) {
    values.omitted.push_back(left_out(variable.row.name, Reason::EngineCannotSay,
                                      values.node + ": " + std::string(value.refusal)));
  }
}

}  // namespace

bool has_file(const Engine& engine) {
  return !engine.file.empty();
}

bool is_ours(const NcclPolicy& policy, const EngineVariable& variable) {
  if (!variable.render || policy.sets_constant(variable.row.name)) return false;
  const EngineGroup* group = group_of(variable.row.name);
  if (!group) return true;
  const std::vector<std::string_view> varying = policy.varying();
  return std::none_of(varying.begin(), varying.end(),
                      [&](std::string_view name) { return is_member(*group, name, std::nullopt); }) &&
         std::none_of(policy.env.begin(), policy.env.end(), [&](const auto& constant) {
           return is_member(*group, constant.first, constant.second);
         });
}

const Engine* file_engine_of(std::string_view variable) {
  const Engine* engine = variable.starts_with("NCCL_") ? nullptr : engine_of_variable(variable);
  return engine && has_file(*engine) ? engine : nullptr;
}

std::string exact_interface(std::string_view list, bool host_network) {
  const bool exact = list.starts_with('=');
  if (exact) list.remove_prefix(1);
  const bool one = !list.empty() && list.find_first_of("^,=:") == list.npos;
  return one && (exact || (!host_network && list == kPodInterface)) ? std::string(list) : std::string();
}

void find_engine_values(const NcclPolicy& policy, bool host_network, NodeValues& values) {
  values.engines.clear();
  std::erase_if(values.omitted,
                [](const Value& omission) { return omission.reason == Reason::EngineCannotSay; });
  const EngineChoice choice = choice_of(policy, values, host_network);
  for (const Engine* engine : policy.engines) {
    for (const EngineVariable& variable : engine->variables) {
      if (is_ours(policy, variable)) find_value(variable, choice, values);
    }
  }
}

std::string engine_file(const Engine& engine, const NcclPolicy& policy, const NodeValues& values,
                        bool host_network) {
  std::string text;
  const EngineChoice choice = choice_of(policy, values, host_network);
  for (const EngineVariable& variable : engine.variables) {
    if (!is_ours(policy, variable)) continue;
    const std::string value = variable.render(choice).text;
    const std::size_t length = variable.row.name.size() + 1 + value.size();
    if (!value.empty() && length <= engine.longest_line)
      text.append(variable.row.name).append("=").append(value).append("\n");
  }
  return text;
}

}  // namespace nccl_env
