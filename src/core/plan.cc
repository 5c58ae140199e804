// SPDX-License-Identifier: Apache-2.0
// The plan for a pod at CREATE.
#include <algorithm>

#include "json_text.h"
#include "nccl_env/core/decide.h"
#include "nccl_env/core/variables.h"
#include "own_entries.h"
#include "pod_match.h"
#include "wishes.h"

namespace nccl_env {
namespace {

using json::append_string;

// What Binding may add later.
constexpr std::size_t kBindingReserve = 8u << 10;
constexpr std::size_t kMaxWarnings = 3;

// What the user's own env of one container rules out.
class UserEnv {
 public:
  UserEnv(const Container& container, const OwnEntries& own, const OwnEntries::Literals& literals)
      : container_(container) {
    user_.reserve(container.env.size());
    for (const EnvEntry& entry : container.env) {
      if (!own.owns(container, entry, literals)) user_.push_back(&entry);
    }
    disabled_by_ = find_disabling();
    group_member_ = find_group_member();
  }

  [[nodiscard]] const std::vector<const EnvEntry*>& entries() const { return user_; }

  // Why the user's env keeps us from this variable.
  [[nodiscard]] std::optional<Omission> objection(std::string_view name) const {
    const auto omit = [&](Reason reason, std::string detail) {
      return Omission{std::string(name), reason, std::move(detail)};
    };
    if (sets(name)) return omit(Reason::UserSet, "The container sets it itself.");
    if (name.starts_with("NCCL_IB_")) {
      if (!disabled_by_.empty()) {
        return omit(Reason::DisabledByUser,
                    "The container's " + std::string(disabled_by_) + " keeps NCCL from InfiniBand and RoCE.");
      }
    }
    if (in_gid_group(name)) {
      if (group_member_) {
        return omit(Reason::UserSetGroup, "The container sets " + std::string(group_member_->name) +
                                              ", which decides the GID with it.");
      }
    }
    if (may_come_from_source(name)) {
      return omit(Reason::EnvFromPresent,
                  "The container's envFrom could hold it, and env would override that.");
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const EnvEntry* last(std::string_view name) const {
    const auto found = std::find_if(user_.rbegin(), user_.rend(),
                                    [&](const EnvEntry* entry) { return entry->name == name; });
    return found == user_.rend() ? nullptr : *found;
  }
  [[nodiscard]] bool sets(std::string_view name) const { return last(name) != nullptr; }

  [[nodiscard]] const EnvEntry* find_group_member() const {
    const auto found = std::find_if(user_.begin(), user_.end(), [](const EnvEntry* entry) {
      return entry->name == variable::kIbHca || in_gid_group(entry->name);
    });
    return found == user_.end() ? nullptr : *found;
  }

  // What comes from a valueFrom or holds $(…) is not known, and an unneeded variable does no harm.
  [[nodiscard]] std::string_view find_disabling() const {
    const auto known = [](const EnvEntry* entry) {
      return entry && !entry->has_source && entry->value.find("$(") == std::string_view::npos;
    };
    const EnvEntry* disable = last(variable::kIbDisable);
    if (known(disable) && nccl_integer(disable->value).value_or(0) != 0) return variable::kIbDisable;
    const EnvEntry* net = last(variable::kNet);
    if (!known(net)) return {};
    const auto is = [&](std::size_t at, char low) {
      return net->value.size() > at && (net->value[at] | 0x20) == low;
    };
    return is(0, 'i') && is(1, 'b') ? std::string_view() : variable::kNet;
  }

  // An envFrom entry with a prefix holds only names that begin with it.
  [[nodiscard]] bool may_come_from_source(std::string_view name) const {
    const auto& prefixes = container_.env_from_prefixes;
    const auto could_hold = [&](std::string_view wanted) {
      return std::any_of(prefixes.begin(), prefixes.end(),
                         [&](std::string_view prefix) { return wanted.starts_with(prefix); });
    };
    if (could_hold(name)) return true;
    return in_gid_group(name) && (could_hold(variable::kIbHca) || could_hold(variable::kIbGidIndex) ||
                                  could_hold(variable::kIbAddrFamily) || could_hold(variable::kIbAddrRange) ||
                                  could_hold(variable::kIbRoceVersionNum));
  }

  const Container& container_;
  std::vector<const EnvEntry*> user_;
  std::string_view disabled_by_;            // the variable that keeps NCCL from verbs; "" if none does
  const EnvEntry* group_member_ = nullptr;  // what decides the GID; null if the user leaves it to us
};

bool is_same(const EnvEntry& entry, const PlannedVariable& planned) {
  if (entry.name != planned.name) return false;
  if (planned.source == Source::Node)
    return entry.has_source && entry.field_path == field_path(planned.value);
  return !entry.has_source && entry.value == planned.value;
}

// Entries of ours that stand already are kept where they are; the others are stale.
void find_own(const Container& container, const OwnEntries& own, const OwnEntries::Literals& literals,
              ContainerPlan& plan) {
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvEntry& entry = container.env[i];
    if (!own.owns(container, entry, literals)) continue;
    const auto wanted = std::find_if(plan.set.begin(), plan.set.end(), [&](const PlannedVariable& planned) {
      return !planned.present && is_same(entry, planned);
    });
    if (wanted == plan.set.end()) {
      plan.stale.push_back(i);
    } else {
      wanted->present = true;
    }
  }
}

ContainerPlan plan_container(const Container& container, std::size_t position, bool in_scope,
                             const std::vector<Wish>& wishes, const NcclPolicy& policy, const OwnEntries& own,
                             const OwnEntries::Literals& literals, std::vector<std::string>& warnings) {
  ContainerPlan plan;
  plan.position = position;
  plan.in_scope = in_scope;
  if (in_scope) {
    const UserEnv user(container, own, literals);
    plan.set.reserve(wishes.size());
    bool env_from = false;
    for (const Wish& wish : wishes) {
      if (auto objection = user.objection(wish.name)) {
        env_from = env_from || objection->reason == Reason::EnvFromPresent;
        plan.omitted.push_back(std::move(*objection));
      } else if (!wish.source) {
        plan.omitted.push_back({std::string(wish.name), wish.reason, std::string(wish.detail)});
      } else if (!policy.deliver_env) {
        plan.omitted.push_back({std::string(wish.name), Reason::OmittedByPolicy,
                                "The policy delivers by file only, which this release does not do."});
      } else {
        plan.set.push_back({std::string(wish.name), *wish.source, wish.value, false});
      }
    }
    const auto where = [&] {
      return "nccl-env: container " + std::string(container.name.substr(0, 63)) + ": ";
    };
    for (const EnvEntry* entry : user.entries()) {
      const Variable* known = find_variable(entry->name);
      if (!known || (entry->value.empty() && known->empty_is_unset)) continue;
      if (entry->has_source || entry->value.find("$(") != std::string_view::npos) continue;
      if (const auto problem = value_problem(entry->name, entry->value)) {
        warnings.push_back(where() + std::string(entry->name) + ": " + *problem);
      }
    }
    if (env_from)
      warnings.push_back(where() +
                         "envFrom could hold NCCL variables, so nothing was injected that it might set");
  }
  find_own(container, own, literals, plan);
  return plan;
}

// A comma before every member but the first.
void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  append_string(out, key);
  out += ':';
}

void append_member(std::string& out, std::string_view key, std::string_view value) {
  append_key(out, key);
  append_string(out, value);
}

std::string render_status(const Pod& pod, const Plan& plan) {
  std::string out;
  out.reserve(1024);  // ten variables in each of two containers
  out += "{\"v\":1";
  append_member(out, "policy", plan.policy);
  append_key(out, "generation");
  out += std::to_string(plan.generation);
  append_member(out, "exposure", to_string(plan.exposure));
  append_member(out, "form", to_string(plan.form));
  append_key(out, "containers");
  out += '{';
  for (const ContainerPlan& container : plan.containers) {
    if (!container.in_scope) continue;
    append_key(out, pod.containers[container.position].name);
    out += '{';
    if (!container.set.empty()) {
      append_key(out, "set");
      out += '{';
      for (const PlannedVariable& planned : container.set)
        append_member(out, planned.name, to_string(planned.source));
      out += '}';
    }
    if (!container.omitted.empty()) {
      append_key(out, "omitted");
      out += '{';
      for (const Omission& omission : container.omitted)
        append_member(out, omission.name, to_string(omission.reason));
      out += '}';
    }
    out += '}';
  }
  out += "}}";
  return out;
}

// The bytes that the pod's annotations will have: what stays of them, the status, and room for Binding.
std::size_t annotation_budget(const Pod& pod, const Plan& plan) {
  std::size_t bytes = key::kStatus.size() + plan.status.size() + kBindingReserve;
  for (const auto& [name, value] : pod.annotations) {
    if (name != key::kStatus && !is_node_key(name)) bytes += name.size() + value.size();
  }
  return bytes;
}

Plan skip(Plan plan, Reason reason, std::string detail) {
  plan.inject = false;
  plan.reason = reason;
  plan.detail = std::move(detail);
  plan.status.clear();
  return plan;
}

}  // namespace

std::string_view to_string(Source source) {
  return source == Source::Node ? "Node" : "Policy";
}
std::string_view to_string(Form form) {
  return form == Form::Binding ? "Binding" : "Constants";
}

bool is_node_key(std::string_view annotation_key) {
  return annotation_key == key::kNode || annotation_key.starts_with(key::kHostPrefix) ||
         annotation_key.starts_with(key::kSubInterfacePrefix);
}

std::string field_path(std::string_view annotation_key) {
  std::string path;
  path.reserve(64);  // the longest of ours
  return path.append("metadata.annotations['").append(annotation_key).append("']");
}

Plan plan_pod(const Pod& pod, const NcclPolicy& policy) {
  Plan plan;
  plan.policy = policy.name;
  plan.generation = policy.generation;
  PodMatch match = match_pod(pod, policy);
  if (match.skip) {
    if (*match.skip == Reason::InvalidInjectValue)
      plan.warnings.push_back("nccl-env: " + match.detail + " Nothing was injected.");
    return skip(std::move(plan), *match.skip, std::move(match.detail));
  }
  plan.exposure = match.exposure;
  const std::vector<Wish> wishes = make_wishes(policy, match.exposure, pod.host_network);
  const bool from_node =
      std::any_of(wishes.begin(), wishes.end(), [](const Wish& wish) { return wish.source == Source::Node; });
  plan.form = from_node ? Form::Binding : Form::Constants;
  const OwnEntries own(pod);
  OwnEntries::Literals literals;
  literals.reserve(wishes.size());
  for (const Wish& wish : wishes) {
    if (wish.source == Source::Policy) literals.emplace_back(wish.name, wish.value);
  }
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    ContainerPlan container =
        plan_container(pod.containers[i], i, match.in_scope[i], wishes, policy, own, literals, plan.warnings);
    if (container.in_scope || !container.stale.empty()) plan.containers.push_back(std::move(container));
  }
  if (plan.warnings.size() > kMaxWarnings) plan.warnings.resize(kMaxWarnings);
  plan.inject = true;
  plan.status = render_status(pod, plan);
  if (annotation_budget(pod, plan) > kMaxAnnotationBytes) {
    return skip(std::move(plan), Reason::BudgetExceeded,
                "The pod's annotations leave no room for ours within 256 KiB.");
  }
  if (policy.mode == PolicyMode::DryRun) {
    plan.inject = false;
    plan.reason = Reason::DryRun;
    plan.detail = "Policy " + policy.name + " is in mode DryRun.";
    plan.warnings.clear();
  }
  return plan;
}

}  // namespace nccl_env
