// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/pod_record.h"

#include <algorithm>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env {

const Value* GivenContainer::find_in_env(std::string_view variable) const {
  return find_named(values, variable);
}

const Value* GivenContainer::find(std::string_view variable) const {
  const Value* given = find_in_env(variable);
  return given ? given : find_named(file, variable);
}

std::vector<const Value*> GivenContainer::effective() const {
  std::vector<const Value*> all;
  for (const Value& given : values) all.push_back(&given);
  for (const Value& line : file) {
    if (!find_in_env(line.name)) all.push_back(&line);
  }
  return all;
}

bool PodRecord::starts_itself() const {
  return status && status->form == to_string(Form::ContainerStart);
}

bool PodRecord::is_finished() const {
  return phase == "Succeeded" || phase == "Failed";
}

bool PodRecord::reads_node() const {
  if (file && !file->at_start) return true;
  return std::any_of(containers.begin(), containers.end(), [](const GivenContainer& container) {
    return std::any_of(container.values.begin(), container.values.end(),
                       [](const Value& given) { return given.source == Source::Node; });
  });
}

const GivenContainer* PodRecord::main_container() const {
  const auto rank = [](const GivenContainer& some) {
    return (some.in_status ? 4 : 0) + (some.init ? 0 : 2) + (some.resources.empty() ? 0 : 1);
  };
  const auto best = std::max_element(
      containers.begin(), containers.end(),
      [&](const GivenContainer& left, const GivenContainer& right) { return rank(left) < rank(right); });
  return best == containers.end() ? nullptr : &*best;
}

std::string PodRecord::reason_at_binding(std::string_view variable) const {
  if (!bound) return {};
  if (variable == variable::kSocketIfname && !host_network) {
    const auto own = bound->own_network.find(variable);
    return own == bound->own_network.end() ? std::string() : own->second;
  }
  const bool host = !status || status->exposure != Exposure::SubInterface;
  const NodeNote::Omitted& omitted = host ? bound->host : bound->sub_interface;
  const auto found = omitted.find(variable);
  return found == omitted.end() ? std::string() : found->second;
}

std::string PodRecord::reason_missing(const Value& value) const {
  if (value.state != State::LeftOut) return {};
  if (value.source != Source::Pod) return reason_at_binding(value.name);
  const auto found = file->reasons.find(value.name);
  return found == file->reasons.end() ? std::string() : found->second;
}

}  // namespace nccl_env
