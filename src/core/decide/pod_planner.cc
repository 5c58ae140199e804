// SPDX-License-Identifier: Apache-2.0
#include "decide/pod_planner.h"

#include <algorithm>

#include "decide/conf_plan.h"
#include "decide/conf_text.h"
#include "nccl_env/core/nccl/conf_file.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env {
namespace {

bool is_same(const EnvEntry& entry, const PlannedVariable& planned) {
  if (entry.name != planned.name || !planned.in_env()) return false;
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

}  // namespace

PodPlanner::PodPlanner(const Pod& pod, const NcclPolicy& policy, const PlanOptions& options,
                       const PodMatch& match, Plan& plan)
    : pod_(pod), policy_(policy), match_(match), own_(pod), plan_(plan) {
  prepare(options.resolver);
  literals_.reserve(wishes_.size());
  for (const Wish& wish : wishes_) {
    if (wish.source == Source::Policy) literals_.emplace_back(wish.name, wish.value);
  }
}

void PodPlanner::run() {
  for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
    if (is_resolver(i)) continue;
    ContainerPlan container = plan_container(i);
    if (container.in_scope || !container.stale.empty() || !container.stale_mounts.empty())
      plan_.containers.push_back(std::move(container));
  }
  plan_.form = form();
  list_file();
  plan_carriers();
}

// Where the pod takes what a node gives to all pods of its exposure, and where it looks for itself.
void PodPlanner::prepare(const std::optional<Resolver>& resolver) {
  const bool demanded = policy_.resolve == Resolve::ContainerStart;
  if (demanded || (resolver && policy_.resolve == Resolve::Auto && match_.exposure != Exposure::Host))
    prepare_start(resolver);
  if (!start_) wishes_ = make_wishes(policy_, match_.exposure, pod_.host_network, false);
}

// The first main container that gets values, else the first init container that does.
const Container& PodPlanner::served() const {
  static const Container kNone;
  const Container* found = &kNone;
  for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
    if (!match_.in_scope[i] || is_resolver(i)) continue;
    if (pod_.containers[i].kind == ContainerKind::Main) return pod_.containers[i];
    if (found == &kNone) found = &pod_.containers[i];
  }
  return *found;
}

void PodPlanner::prepare_start(const std::optional<Resolver>& resolver) {
  wishes_ = make_wishes(policy_, match_.exposure, pod_.host_network, true);
  const auto from_pod = [](const Wish& wish) { return wish.source == Source::Pod; };
  if (std::none_of(wishes_.begin(), wishes_.end(), from_pod)) return;
  if (!resolver) {
    return warn("policy " + policy_.name + " resolves at container start, and the webhook has no " +
                "--resolver-image: no value of the node is set");
  }
  const auto has_name = [](const Container& container) {
    return container.kind == ContainerKind::Main && container.name == conf_file::kResolver;
  };
  if (std::any_of(pod_.containers.begin(), pod_.containers.end(), has_name))
    return warn("a container has the name nccl-env-resolve, which is the init container's that would look");
  start_ = ResolverContainer::make(pod_, policy_, *resolver, served());
  if (!start_) return warn("policy " + policy_.name + " is too long for the env of an init container");
  unresolved_ = make_wishes(policy_, match_.exposure, pod_.host_network, false);
}

bool PodPlanner::is_resolver(std::size_t position) const {
  return pod_.own_container && pod_.own_container->position == position;
}

// Containers that are through before the file is there.
bool PodPlanner::is_before_resolver(std::size_t position) const {
  return start_ && pod_.own_container && position < pod_.own_container->position;
}

Form PodPlanner::form() const {
  if (start_) return Form::ContainerStart;
  const auto from_node = [&](const Wish& wish) {
    return wish.source && (wish.source == Source::Node || wish.in_file);
  };
  return std::any_of(wishes_.begin(), wishes_.end(), from_node) ? Form::Binding : Form::Constants;
}

bool PodPlanner::has_file() const {
  return std::any_of(wishes_.begin(), wishes_.end(),
                     [](const Wish& wish) { return wish.source && wish.in_file; });
}

// The resolver sets no socket interface that is not there.
void PodPlanner::list_file() {
  for (const Wish& wish : wishes_) {
    if (!wish.source || !wish.in_file) continue;
    const bool found = start_ && wish.name == variable::kSocketIfname;
    const bool constant = wish.source == Source::Policy && !found;
    plan_.file.push_back({std::string(wish.name), found ? Source::Pod : *wish.source,
                          constant ? wish.value : std::string(), false});
  }
}

// Why a container gets no file, though the policy delivers by it.
std::optional<Omission> PodPlanner::objection_to_file(const Container& container, const UserEnv& user) const {
  if (conf_is_occupied(container)) {
    return Omission{std::string(conf_file::kName), Reason::ConfOccupied,
                    "The container mounts a volume of its own at or around /etc/nccl.conf."};
  }
  for (const Wish& wish : wishes_) {
    if (!wish.source || !wish.in_file) continue;
    auto objection = user.objection(wish.name);
    // Env beats the file one variable at a time: beside the user's own list, our index would count.
    if (objection &&
        (objection->reason == Reason::UserSetGroup || objection->reason == Reason::DisabledByUser)) {
      objection->name = conf_file::kName;
      return objection;
    }
  }
  return std::nullopt;
}

Omission PodPlanner::too_early() const {
  Reason reason = Reason::OmittedByPolicy;
  if (match_.exposure == Exposure::SubInterface) reason = Reason::PodGidUnknown;
  if (match_.exposure == Exposure::PodOwned) reason = Reason::PodOwnsDevices;
  return {std::string(conf_file::kName), reason,
          "The container starts before nccl-env-resolve, which writes the file."};
}

ContainerPlan PodPlanner::plan_container(std::size_t position) {
  const Container& container = pod_.containers[position];
  ContainerPlan plan;
  plan.position = position;
  plan.in_scope = match_.in_scope[position];
  if (plan.in_scope) fill(container, plan);
  find_own(container, own_, literals_, plan);
  plan_mounts(container, plan);
  return plan;
}

void PodPlanner::fill(const Container& container, ContainerPlan& plan) {
  const UserEnv user(container, own_, literals_);
  std::optional<Omission> no_file;
  const std::vector<Wish>* wishes = &wishes_;
  if (has_file()) {
    no_file = objection_to_file(container, user);
    if (!no_file) wants_resolver_ = true;
    if (!no_file && is_before_resolver(plan.position)) {
      no_file = too_early();
      wishes = &unresolved_;
    }
    plan.mounts_conf = !no_file;
    if (plan.mounts_conf && !first_consumer_) first_consumer_ = plan.position;
  }
  plan.set.reserve(wishes->size() + 1);
  for (const Wish& wish : *wishes) add(wish, user, no_file, plan);
  if (plan.mounts_conf) {
    plan.set.push_back({std::string(conf_file::kName), start_ ? Source::Pod : Source::Node,
                        start_ ? std::string() : conf_key(match_.exposure, pod_.host_network), false});
  } else if (no_file) {
    plan.omitted.push_back(std::move(*no_file));
  }
  warn_of(container, user, plan);
}

void PodPlanner::add(const Wish& wish, const UserEnv& user, const std::optional<Omission>& no_file,
                     ContainerPlan& plan) const {
  auto objection = user.objection(wish.name);
  const bool open = objection && objection->reason == Reason::EnvFromPresent;  // a file would not override
  if (objection && !(open && plan.mounts_conf && (!wish.source || wish.in_file))) {
    plan.omitted.push_back(std::move(*objection));
  } else if (!wish.source) {
    plan.omitted.push_back({std::string(wish.name), wish.reason, std::string(wish.detail)});
  } else if (wish.in_env && !objection) {
    plan.set.push_back({std::string(wish.name), *wish.source, wish.value, false});
  } else if (plan.mounts_conf) {
    const bool constant = wish.source == Source::Policy;
    plan.set.push_back({std::string(wish.name), start_ ? Source::Pod : Source::File,
                        constant ? wish.value : std::string(), false});
  } else {
    plan.omitted.push_back(
        {std::string(wish.name), no_file->reason, "It comes by file alone. " + no_file->detail});
  }
}

void PodPlanner::warn_of(const Container& container, const UserEnv& user, const ContainerPlan& plan) {
  const auto where = [&] { return "container " + std::string(container.name.substr(0, 63)) + ": "; };
  for (const EnvEntry* entry : user.entries()) {
    const Variable* known = find_variable(entry->name);
    if (!known || (entry->value.empty() && known->empty_is_unset)) continue;
    if (entry->has_source || entry->value.find("$(") != std::string_view::npos) continue;
    if (const auto problem = value_problem(entry->name, entry->value))
      warn(where() + std::string(entry->name) + ": " + *problem);
  }
  const auto env_from = [](const Omission& omission) { return omission.reason == Reason::EnvFromPresent; };
  if (std::any_of(plan.omitted.begin(), plan.omitted.end(), env_from))
    warn(where() + "envFrom could hold NCCL variables, so nothing was injected that it might set");
}

// The volume and the init container. One that stands already is never moved.
void PodPlanner::plan_carriers() {
  const bool starts = start_ && wants_resolver_;
  if (starts) {
    plan_.volume = plan_volume(pod_, ConfVolume::Empty, {});
  } else if (first_consumer_) {
    plan_.volume =
        plan_volume(pod_, ConfVolume::FromAnnotation, conf_key(match_.exposure, pod_.host_network));
  } else {
    plan_.volume = plan_volume(pod_, ConfVolume::None, {});
  }
  using Kind = ListChange::Kind;
  if (!pod_.own_container) {
    if (starts) plan_.resolver = {Kind::Add, resolver_index(), start_->render()};
    return;
  }
  const auto index = static_cast<std::size_t>(pod_.containers[pod_.own_container->position].index);
  if (!starts) {
    plan_.resolver = {Kind::Remove, index, {}};
  } else if (!start_->is_same(pod_, *pod_.own_container)) {
    plan_.resolver = {Kind::Replace, index, start_->render()};
  }
}

// Before the first init container that reads the file, else behind them all.
std::size_t PodPlanner::resolver_index() const {
  std::size_t inits = 0;
  for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
    if (pod_.containers[i].kind != ContainerKind::Init || i == first_consumer_) break;
    ++inits;
  }
  return inits;
}

}  // namespace nccl_env
