// SPDX-License-Identifier: Apache-2.0
#include "decide/conf_text.h"

#include "nccl_env/core/nccl/conf.h"
#include "nccl_env/core/nccl/conf_file.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env {
namespace {

void add_text(BindingPlan& plan, const NodeValues* from_node, Exposure exposure, bool host_network) {
  const NcclPolicy& policy = *plan.policy;
  ConfValues values = policy_constants(policy, host_network);
  if (from_node && policy.resolve != Resolve::ContainerStart) {
    for (const auto& [name, value] : from_node->set) {
      if (host_network || name != variable::kSocketIfname) values.emplace(name, value);
    }
  }
  // All lines or none: an index without its list could be another port's.
  const auto text = render_conf(values);
  if (text && !text->empty()) plan.annotations.emplace(conf_key(exposure, host_network), *text);
}

}  // namespace

ConfValues policy_constants(const NcclPolicy& policy, bool host_network) {
  ConfValues values = policy.env;
  if (policy.hca.kind == HcaRule::Kind::Literal) values.emplace(variable::kIbHca, policy.hca.literal);
  if (policy.gid_index.kind == GidIndexRule::Kind::Literal)
    values.emplace(variable::kIbGidIndex, std::to_string(policy.gid_index.literal));
  if (!host_network && policy.socket_interface.kind == SocketInterfaceRule::Kind::Literal)
    values.emplace(variable::kSocketIfname, policy.socket_interface.literal);
  return values;
}

std::string conf_key(Exposure exposure, bool host_network) {
  std::string_view prefix = key::kPodOwnedPrefix;
  if (exposure == Exposure::SubInterface) prefix = key::kSubInterfacePrefix;
  if (exposure == Exposure::Host) prefix = host_network ? key::kHostNetworkPrefix : key::kHostPrefix;
  return std::string(prefix).append(conf_file::kName);
}

void add_conf_texts(BindingPlan& plan) {
  if (!plan.policy->deliver_file) return;
  add_text(plan, &plan.host, Exposure::Host, true);
  add_text(plan, &plan.host, Exposure::Host, false);
  add_text(plan, &plan.sub_interface, Exposure::SubInterface, false);
  add_text(plan, nullptr, Exposure::PodOwned, false);
}

}  // namespace nccl_env
