// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/wanted.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/decide/engine_values.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

class WishList {
 public:
  WishList(const NcclPolicy& policy, Exposure exposure, bool host_network, Finder finder, const Rails& rails)
      : policy_(policy),
        exposure_(exposure),
        host_network_(host_network),
        at_start_(finder == Finder::Pod),
        rails_(rails) {}

  std::vector<Value> make() {
    wishes_.reserve(7 + policy_.env.size());
    add_hca(variable::kIbHca);
    add_gid();
    if (policy_.partition_key && !policy_.names_partition_by_value()) add_partition();
    add_socket_interface();
    add_engines();
    add_constants();
    for (Value& wish : wishes_) choose_ways(wish);
    return std::move(wishes_);
  }

 private:
  // Chooses the carriers. A constant is never empty, so it stands in env, and in the file as well. What a
  // node gives, and what the pod finds, is in the file alone.
  void choose_ways(Value& wish) const {
    if (wish.state == State::LeftOut) return;
    if (is_of_engine(wish.name)) return choose_engines_way(wish);
    wish.in_env = wish.source == Source::Policy;
    wish.in_file = true;
  }

  [[nodiscard]] bool is_of_engine(std::string_view name) const {
    return policy_.engines.size() > 1 && !policy_.sets_constant(name) && engine_of_variable(name);
  }

  // An engine with a file has all its values there. For others a constant stands in env; what a node gives
  // comes by EnvFile or not at all.
  void choose_engines_way(Value& wish) const {
    wish.in_engine_file = file_engine_of(wish.name) != nullptr;
    wish.in_env = !wish.in_engine_file && wish.source == Source::Policy;
    if (!wish.in_engine_file && !wish.in_env && !policy_.deliver_env_file && !at_start_)
      wish = left_out(wish.name, Reason::EnginesUnavailable);
  }

  void add_engines() {
    for (const Engine* engine : policy_.engines) {
      for (const EngineVariable& variable : engine->variables) {
        if (is_ours(policy_, variable)) add_engine_value(variable.row.name, variable.follows);
      }
    }
  }

  // Decides by the variable that it follows; where that is left out without a reason, so is this.
  void add_engine_value(std::string_view name, Follows follows) {
    switch (follows) {
      case Follows::Ports:
        return add_hca(name);
      case Follows::Interface:
        return add_engine_interface(name);
      case Follows::TrafficClass:
        return add_engine_constant(name, variable::kIbTc);
      case Follows::ServiceLevel:
        return add_engine_constant(name, variable::kIbSl);
      case Follows::Nothing:
        return;
    }
  }

  void add_engine_interface(std::string_view name) {
    using Kind = SocketInterfaceRule::Kind;
    const SocketInterfaceRule& rule = policy_.socket_interface;
    const bool varies = policy_.varies_socket_interface();
    if (host_network_ && (varies || rule.kind != Kind::Omit)) return add_node_value(name);
    if (host_network_ || varies || rule.kind != Kind::Literal) return;
    EngineChoice choice;
    choice.interface = exact_interface(rule.literal, false);
    const EngineValue value = find_engine_variable(name)->render(choice);
    if (!value.text.empty()) add_literal(name, value.text);
  }

  void add_engine_constant(std::string_view name, std::string_view nccls) {
    if (policy_.varies(nccls)) return add_node_value(name);
    if (const auto constant = policy_.env.find(nccls); constant != policy_.env.end())
      add_literal(name, constant->second);
  }

  void add_node_value(std::string_view name) {
    wishes_.push_back({.name = std::string(name), .source = at_start_ ? Source::Pod : Source::Node});
  }

  void add_constants() {
    const std::size_t first = wishes_.size();
    for (const std::string_view name : policy_.varying())
      wishes_.push_back({.name = std::string(name), .source = Source::Node});
    const std::size_t constants = wishes_.size();
    for (const auto& [name, value] : policy_.env) {
      if (!policy_.varies(name)) add_literal(name, value);
    }
    const auto at = [this](std::size_t i) { return wishes_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::inplace_merge(at(first), at(constants), wishes_.end(),
                       [](const Value& left, const Value& right) { return left.name < right.name; });
  }

  void add_literal(std::string_view name, const std::string& value) {
    wishes_.push_back({.name = std::string(name), .value = value, .source = Source::Policy});
  }
  void leave_out(std::string_view name, Reason reason, std::string_view detail) {
    wishes_.push_back(left_out(name, reason, detail));
  }
  // Leaves out what depends on devices that only the pod will see, and returns whether this is so.
  bool leave_to_pod(std::string_view name, const std::string& what) {
    if (exposure_ != Exposure::PodOwned || at_start_) return false;
    leave_out(name, Reason::PodOwnsDevices,
              "The pod gets devices of its own, whose " + what + " are not known before it starts.");
    return true;
  }

  void add_hca(std::string_view name) {
    using Kind = HcaRule::Kind;
    if (policy_.hca.kind == Kind::Literal && name == variable::kIbHca)
      return add_literal(name, policy_.hca.literal);
    if (policy_.hca.kind == Kind::Literal)
      return leave_out(name, Reason::OmittedByPolicy, "The policy's own list is in NCCL's form.");
    if (policy_.hca.kind == Kind::Omit)
      return leave_out(name, Reason::OmittedByPolicy, "The policy sets no HCA list (hca: Omit).");
    if (leave_to_pod(name, "names")) return;
    if (!rails_.unknown.empty() && !at_start_)
      return leave_out(name, Reason::PodRailsUnknown, rails_.unknown);
    add_node_value(name);
  }

  void add_gid() {
    using Kind = GidIndexRule::Kind;
    constexpr std::string_view kName = variable::kIbGidIndex;
    const Kind kind = index_rule(policy_);
    if (kind == Kind::Literal) return add_literal(kName, std::to_string(policy_.gid_index.literal));
    if (kind == Kind::Omit)
      return leave_out(kName, Reason::OmittedByPolicy, "The policy sets no index (gidIndex: Omit).");
    if (policy_.is_only(LinkLayer::InfiniBand)) {
      return leave_out(kName, Reason::InfiniBand,
                       "The policy's fabric is InfiniBand, where NCCL needs no GID index.");
    }
    if (leave_to_pod(kName, "GID rows")) return;
    if (exposure_ == Exposure::SubInterface && !at_start_) {
      if (rails_.none && !rails_.unknown.empty())
        return leave_out(kName, Reason::PodRailsUnknown, rails_.unknown);
      return leave_out(
          kName, Reason::PodGidUnknown,
          "The pod's sub-interface has GID rows of its own, which are not known before it starts.");
    }
    if (kind == Kind::Dynamic) {
      leave_out(kName, Reason::OmittedByPolicy, why_dynamic(policy_));
    } else {
      add_node_value(kName);
    }
    if (!policy_.sets_constant(variable::kIbAddrFamily)) add_node_value(variable::kIbAddrFamily);
    if (kind == Kind::Dynamic && !policy_.sets_constant(variable::kIbAddrRange))
      add_node_value(variable::kIbAddrRange);
  }

  void add_partition() {
    if (policy_.is_only(LinkLayer::Ethernet)) {
      return leave_out(variable::kIbPkey, Reason::OmittedByPolicy,
                       "The policy's fabric is Ethernet, which has no partitions.");
    }
    if (!leave_to_pod(variable::kIbPkey, "partitions")) add_node_value(variable::kIbPkey);
  }

  void add_socket_interface() {
    using Kind = SocketInterfaceRule::Kind;
    constexpr std::string_view kName = variable::kSocketIfname;
    const Kind kind = policy_.socket_interface.kind;
    const bool varies = policy_.varies_socket_interface();
    if (kind == Kind::Omit && !varies) {
      leave_out(kName, Reason::OmittedByPolicy,
                "The policy sets no socket interface (socketInterface: Omit).");
    } else if (host_network_) {
      add_node_value(kName);
    } else if (varies) {
      wishes_.push_back({.name = std::string(kName), .source = Source::Node});
    } else if (kind == Kind::Literal) {
      add_literal(kName, policy_.socket_interface.literal);
    } else {
      leave_out(kName, Reason::OmittedByPolicy, kForHostNetwork);
    }
  }

  const NcclPolicy& policy_;
  const Exposure exposure_;
  const bool host_network_;
  const bool at_start_;
  const Rails rails_;
  std::vector<Value> wishes_;
};

}  // namespace

std::vector<Value> make_wishes(const NcclPolicy& policy, Exposure exposure, bool host_network, Finder finder,
                               const Rails& rails) {
  return WishList(policy, exposure, host_network, finder, rails).make();
}

void leave_out_engines(const NcclPolicy& policy, std::vector<Value>& wishes) {
  if (policy.engines.size() < 2) return;
  for (Value& wish : wishes) {
    const bool carried = wish.state == State::LeftOut || wish.in_env || wish.in_file || wish.in_engine_file;
    if (!carried && engine_of_variable(wish.name)) wish = left_out(wish.name, Reason::EnginesUnavailable);
  }
}

bool goes_with_list(std::string_view name, bool constant) {
  return name == variable::kIbPkey || name == variable::kIbGidIndex || (!constant && in_gid_group(name));
}

bool in_gid_group(std::string_view name) {
  constexpr std::array kGroup{variable::kIbGidIndex, variable::kIbAddrFamily, variable::kIbAddrRange,
                              variable::kIbRoceVersionNum};
  return std::find(kGroup.begin(), kGroup.end(), name) != kGroup.end();
}

}  // namespace nccl_env
