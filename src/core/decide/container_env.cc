// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/container_env.h"

#include <algorithm>

#include "command/command.h"
#include "decide/conf_delivery.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {
namespace {

// True if the variable is only right with our own list of HCAs.
bool depends_on_list(std::string_view name, bool constant) {
  return name == variable::kNvshmemHcaList || goes_with_list(name, constant);
}

// An envFrom entry with a prefix holds only names that begin with it.
bool may_be_in_source(const Container& container, std::string_view name) {
  return std::any_of(container.env_from_prefixes.begin(), container.env_from_prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// The user's own file: NCCL_CONF_FILE or a mount; "" if there is none. RCCL reads NCCL_CONF_FILE, too; an
// empty value counts as none (NCCL's initEnv, src/misc/param.cc).
std::string_view own_conf(const Container& container, const EnvEntry* named) {
  return named && (named->has_source || !named->value.empty()) ? variable::kConfFile : users_conf(container);
}

std::string unseen_list(const std::string& from) {
  return "The container's " + from + " NCCL_IB_HCA, and the index is that of the node's list.";
}

bool is_known(const EnvEntry* entry) {
  return entry && entry->is_literal();
}

// A value that is not known turns nothing on.
bool is_on(const EnvEntry* entry) {
  return is_known(entry) && nccl_integer(entry->value).value_or(0) != 0;
}

// True if NCCL takes the same where this variable of the GID group is not set.
bool is_default(const EnvEntry& entry) {
  if (entry.name == variable::kIbGidIndex) return nccl_integer(entry.value).value_or(-1) < 0;
  return entry.value == (entry.name == variable::kIbAddrFamily ? "AF_INET" : "2");
}

}  // namespace

bool is_own_reference(const EnvEntry& entry) {
  return !entry.file_key.empty() && entry.file_key == entry.name;
}

std::optional<Rival> find_rival(const EngineGroup& group, const std::vector<const EnvEntry*>& entries,
                                const std::vector<std::string_view>& arguments) {
  for (const EnvEntry* entry : entries) {
    if (!is_member(group, entry->name, std::nullopt)) continue;
    const auto value = is_known(entry) ? std::optional(entry->value) : std::nullopt;
    if (is_member(group, entry->name, value)) return Rival{entry->name};
  }
  for (const EngineMember& member : group.members) {
    for (const std::string_view word : arguments) {
      if (member.in_command && word.find(member.name) != word.npos) return Rival{member.name, true};
    }
  }
  return std::nullopt;
}

std::string possible_list(const Container& container, const OwnEntries& own) {
  const auto is_users_file = [&](const EnvEntry& entry) {
    return entry.name == variable::kConfFile && !own.owns(container, entry, {{entry.name, entry.value}});
  };
  if (may_set(container, variable::kIbHca)) return unseen_list("command may set");
  if (may_be_in_source(container, variable::kIbHca)) return unseen_list("envFrom could hold");
  const auto named = std::find_if(container.env.begin(), container.env.end(), is_users_file);
  const std::string_view conf = own_conf(container, named == container.env.end() ? nullptr : &*named);
  if (conf.empty() || conf_is_occupied(container)) return {};  // occupied: it reads no file of ours
  return unseen_list("own file (" + std::string(conf) + ") could hold");
}

OwnEntries::OwnEntries(const Pod& pod)
    : listed_(names_in_status(pod)), is_first_(listed_.constants.empty() && listed_.env_file.empty()) {}

bool OwnEntries::owns_listed(const Container& container, const EnvEntry& entry,
                             const Literals& literals) const {
  if (is_own_reference(entry) || is_lost(container, entry)) return true;
  if (entry.has_source) return false;
  const auto listed = listed_.constants.find(container.name);
  if (listed == listed_.constants.end() || !listed->second.contains(entry.name)) return false;
  return std::find(literals.begin(), literals.end(), std::pair(entry.name, entry.value)) != literals.end();
}

// Older types decode a fileKeyRef into a source without members, or drop the source as a whole.
bool OwnEntries::is_lost(const Container& container, const EnvEntry& entry) const {
  if (entry.has_source ? !entry.lost_source : !entry.value.empty()) return false;
  const auto listed = listed_.env_file.find(container.name);
  return listed != listed_.env_file.end() && listed->second.contains(entry.name);
}

bool OwnEntries::lost_reference(const Pod& pod) const {
  if (listed_.fallback == to_string(Reason::ReferenceDropped)) return true;
  if (listed_.env_file.empty()) return false;
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const Container& container) {
    return std::any_of(container.env.begin(), container.env.end(),
                       [&](const EnvEntry& entry) { return is_lost(container, entry); });
  });
}

UserEnv::UserEnv(const Container& container, const OwnEntries& own, const OwnEntries::Literals& literals)
    : container_(container), own_(own), literals_(literals) {
  for (const EnvEntry& entry : container.env) {
    if (may_be_known(entry.name) && !own.owns(container, entry, literals)) noted_.push_back(&entry);
  }
  disabled_by_ = find_disabling();
  group_member_ = find_group_member();
  const EnvEntry* vllm = last("VLLM_NIC_SELECTION_VARS");
  if (is_known(vllm)) vllm_ = vllm;
  // Mooncake's own index; its TENT engine lets NCCL_IB_GID_INDEX in the environment override it.
  has_mooncake_index_ = last("MC_GID_INDEX") != nullptr;
  recovers_ports_ = is_on(last(variable::kPortRecovery));
  conf_ = own_conf(container, last(variable::kConfFile));
  is_free_ = noted_.empty() && !vllm_ && conf_.empty() && container.env_from_prefixes.empty() &&
             container.arguments.empty();
}

bool UserEnv::leaves_room_for_file(Reason reason) {
  return reason == Reason::EnvFromPresent || reason == Reason::ConfPresent;
}

std::optional<Value> UserEnv::objection(std::string_view name, bool constant) const {
  const auto omit = [&](Reason reason, std::string_view does) {
    return left_out(name, reason, std::string(container_.called).append(does));
  };
  if (last(name)) return omit(Reason::UserSet, " sets it itself.");
  if (auto rival = objection_of_group(name)) return rival;
  if (name.starts_with("NCCL_IB_") && !disabled_by_.empty()) {
    return omit(Reason::DisabledByUser,
                "'s " + std::string(disabled_by_) + " keeps NCCL from InfiniBand and RoCE.");
  }
  if (is_vllms(name) || (depends_on_list(name, constant) && is_vllms(variable::kIbHca)))
    return omit(Reason::UserSetGroup, "'s VLLM_NIC_SELECTION_VARS lets vLLM write the list.");
  if (name == variable::kIbGidIndex && has_mooncake_index_)
    return omit(Reason::UserSetGroup, " sets MC_GID_INDEX, which Mooncake reads beside it.");
  if (name == variable::kIbGidIndex && recovers_ports_)
    return omit(Reason::UserSetGroup, " turns port recovery on, where NCCL follows a GID that moved.");
  if (in_gid_group(name) && group_member_ &&
      (group_member_->name != variable::kIbHca || depends_on_list(name, constant))) {
    return omit(Reason::UserSetGroup,
                " sets " + std::string(group_member_->name) + ", which decides the GID with it.");
  }
  for (const std::string_view other : {variable::kIbHca, variable::kIbPkey, variable::kIbPkeyValue}) {
    const bool in_place =
        name == variable::kIbPkey || (name == variable::kIbPkeyValue && other == variable::kIbPkey);
    if (in_place && last(other)) {
      return omit(Reason::UserSetGroup,
                  " sets " + std::string(other) + ", which decides the partition with it.");
    }
  }
  if (goes_with_list(name, constant) && name != variable::kIbAddrFamily && may_set_list())
    return left_out(name, Reason::UserSetGroup, unseen_list("command may set"));
  if (may_come_from_source(name, constant)) {
    return omit(Reason::EnvFromPresent, "'s envFrom could hold it, and env would override that.");
  }
  if (!conf_.empty()) {
    return omit(Reason::ConfPresent,
                "'s own file (" + std::string(conf_) + ") could hold it, and env would override that.");
  }
  return std::nullopt;
}

// The user's own choice for the engine that the variable belongs to. A constant of the policy that no choice
// of ports gives, such as UCX_TLS, has no rival.
std::optional<Value> UserEnv::objection_of_group(std::string_view name) const {
  if (name.starts_with("NCCL_")) return std::nullopt;
  const EngineVariable* row = find_engine_variable(name);
  const EngineGroup* group = row && row->render ? group_of(name) : nullptr;
  if (!group) return std::nullopt;
  const std::optional<Rival> rival = find_rival(*group, noted_, container_.arguments);
  if (!rival) return std::nullopt;
  return left_out(name, Reason::UserSetGroup,
                  std::string(container_.called) + (rival->in_command ? " has an argument with " : " sets ") +
                      std::string(rival->name) + ", which " + std::string(group->decides) + ".");
}

bool UserEnv::may_set_list() const {
  if (!sets_list_) sets_list_ = may_set(container_, variable::kIbHca);
  return *sets_list_;
}

const EnvEntry* UserEnv::last(std::string_view name) const {
  if (may_be_known(name)) {
    const auto found = std::find_if(noted_.rbegin(), noted_.rend(),
                                    [&](const EnvEntry* entry) { return entry->name == name; });
    return found == noted_.rend() ? nullptr : *found;
  }
  const auto& env = container_.env;
  const auto found = std::find_if(env.rbegin(), env.rend(), [&](const EnvEntry& entry) {
    return entry.name == name && !own_.owns(container_, entry, literals_);
  });
  return found == env.rend() ? nullptr : &*found;
}

bool UserEnv::pins_index() const {
  const EnvEntry* index = last(variable::kIbGidIndex);
  return is_known(index) && nccl_integer(index->value).value_or(-1) >= 0;
}

// vLLM prepends devices to the variables that this list names (vllm/envs.py), in another grammar than ours.
bool UserEnv::is_vllms(std::string_view name) const {
  std::string_view rest = vllm_ ? vllm_->value : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view token = rest.substr(0, end);
    if (token.substr(0, token.find(':')) == name) return true;  // NAME[:PORT]
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return false;
}

// Returns the user's HCA list only if the user sets no variable of the group, or to NCCL's default.
const EnvEntry* UserEnv::find_group_member() const {
  const auto found = std::find_if(noted_.begin(), noted_.end(), [](const EnvEntry* entry) {
    return in_gid_group(entry->name) && !(is_known(entry) && is_default(*entry));
  });
  return found == noted_.end() ? last(variable::kIbHca) : *found;
}

// A value that is not known disables nothing: an unneeded variable does no harm.
std::string_view UserEnv::find_disabling() const {
  if (is_on(last(variable::kIbDisable))) return variable::kIbDisable;
  const EnvEntry* net = last(variable::kNet);
  if (!is_known(net)) return {};
  const auto is = [&](std::size_t at, char low) {
    return net->value.size() > at && (net->value[at] | 0x20) == low;
  };
  return is(0, 'i') && is(1, 'b') ? std::string_view() : variable::kNet;
}

bool UserEnv::may_come_from_source(std::string_view name, bool constant) const {
  const auto could_hold = [&](std::string_view wanted) { return may_be_in_source(container_, wanted); };
  if (could_hold(name)) return true;
  if (name == variable::kIbPkey && could_hold(variable::kIbPkeyValue)) return true;
  if (depends_on_list(name, constant) && could_hold(variable::kIbHca)) return true;
  return in_gid_group(name) &&
         (could_hold(variable::kIbGidIndex) || could_hold(variable::kIbAddrFamily) ||
          could_hold(variable::kIbAddrRange) || could_hold(variable::kIbRoceVersionNum));
}

}  // namespace nccl_env
