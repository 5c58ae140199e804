// SPDX-License-Identifier: Apache-2.0
#include "decide/pod_planner.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "nccl_env/core/decide/engine_values.h"
#include "nccl_env/core/decide/launcher.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

Rails rails_of(const PodMatch& match) {
  return {match.rails_unknown, match.no_rail};
}

bool is_constant(const Value& wish) {
  return wish.source == Source::Policy && wish.state != State::LeftOut;
}

bool is_same(const EnvEntry& entry, const Value& planned) {
  if (entry.name != planned.name || !planned.in_env) return false;
  if (planned.by_file_key) return entry.file_key == planned.name;
  return !entry.has_source && entry.value == planned.value;
}

// Marks entries of ours that are there and still wanted as present, and the others as stale.
void find_own(const Container& container, const OwnEntries& own, const OwnEntries::Literals& literals,
              ContainerPlan& plan) {
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvEntry& entry = container.env[i];
    if (!own.owns(container, entry, literals)) continue;
    std::vector<Value>& set = plan.set.edit();
    plan.given.reset();
    const auto wanted = std::find_if(set.begin(), set.end(), [&](const Value& planned) {
      return planned.state != State::Present && is_same(entry, planned);
    });
    if (wanted == set.end()) {
      plan.stale.push_back(i);
    } else {
      wanted->state = State::Present;
    }
  }
}

// True if the pod itself shows more of what the policy asks for than its node's table does. Behind a
// sub-interface devices have the node's names, so only an index has to be found, and InfiniBand needs none.
bool pod_knows_more(const NcclPolicy& policy, Exposure exposure) {
  using Kind = GidIndexRule::Kind;
  if (exposure != Exposure::SubInterface) return exposure == Exposure::PodOwned;
  return !policy.is_only(LinkLayer::InfiniBand) && policy.gid_index.kind != Kind::Omit &&
         policy.gid_index.kind != Kind::Literal;
}

}  // namespace

// The resolver sets a socket interface only if the pod has it, so a constant one counts as found in the pod.
SharedValues file_lines(const std::vector<Value>& wishes, bool looks) {
  std::vector<Value> lines;
  for (const Value& wish : wishes) {
    if (!wish.in_file) continue;
    Value& line = lines.emplace_back(wish);
    if (line.by_file_key) line.in_env = line.by_file_key = false;
    if (looks && line.name == variable::kSocketIfname) {
      line.source = Source::Pod;
      line.value.reset();
    }
  }
  return lines;
}

PodPlanner::PodPlanner(const Pod& pod, const CompiledPolicy& compiled,
                       const std::optional<Resolver>& resolver, const PodMatch& match, Plan& plan)
    : pod_(pod),
      policy_(compiled.policy),
      match_(match),
      // The texts for pods that share the node's devices hold the node's list.
      shape_(shape_of(match.rails_unknown.empty() ? match.exposure : Exposure::PodOwned, pod.host_network)),
      usual_(compiled.of(shape_)),
      own_(pod),
      plan_(plan) {
  for (std::size_t i = 0; i < pod_.containers.size() && possible_list_.empty(); ++i) {
    if (match_.in_scope[i] && !is_resolver(i)) possible_list_ = possible_list(pod_.containers[i], own_);
  }
  prepare(resolver);
  if (own_.is_first()) return;  // nothing but a literal of ours is looked for among them
  literals_.reserve(wishes_->size() + 2);
  for (const Value& wish : *wishes_) {
    if (is_constant(wish)) literals_.emplace_back(wish.name, *wish.value);
  }
  literals_.emplace_back(variable::kConfFile, conf_file::kNamedPath);
  for (const Engine* engine : policy_.engines) {
    if (has_file(*engine)) literals_.emplace_back(engine->folder_variable, conf_file::kFolder);
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
  plan_carriers();
  if (first_consumer_) plan_.file = takes_usual() ? usual_.file : file_lines(*wishes_, looks_);
}

std::vector<Value> PodPlanner::wishes_for(Finder finder, const Rails& rails) const {
  std::vector<Value> wishes = make_wishes(policy_, match_.exposure, pod_.host_network, finder, rails);
  if (possible_list_.empty() || (finder == Finder::Node && !may_pin(policy_, shape_))) return wishes;
  for (Value& wish : wishes) {
    // The node tells whether it is right with any list.
    if (finder == Finder::Node && wish.name == variable::kIbAddrFamily) continue;
    if (wish.state == State::LeftOut || !goes_with_list(wish.name, is_policys(wish))) continue;
    wish.in_file = false;
    if (!wish.in_env) wish = left_out(wish.name, Reason::UserSetGroup, possible_list_);
  }
  return wishes;
}

// Decides whether the pod takes what a node gives to all pods of its exposure, or looks for its values
// itself.
void PodPlanner::prepare(const std::optional<Resolver>& resolver) {
  const bool by_env_file = resolver && policy_.deliver_env_file;
  if (by_env_file) plan_.fallback = reason_for_file();
  const bool env_file = by_env_file && !plan_.fallback;
  if (env_file || (resolver && pod_knows_more(policy_, match_.exposure))) prepare_start(*resolver, env_file);
  const bool of_shape = match_.rails_unknown.empty() && pod_.host_network == shape_.host_network &&
                        (possible_list_.empty() || !may_pin(policy_, shape_));
  if (!start_ && of_shape) {
    wishes_ = &usual_.wishes;
    return;
  }
  if (!start_) own_wishes_ = wishes_for(Finder::Node, rails_of(match_));
  leave_out_engines(policy_, own_wishes_);
  leave_out_engines(policy_, unresolved_);
}

// The files of engines, and the annotations that hold their texts.
FileKeys PodPlanner::engine_keys() const {
  FileKeys keys;
  for (const Engine* engine : policy_.engines) {
    if (has_file(*engine)) keys.emplace_back(engine->file, text_key(shape_, engine->file));
  }
  return keys;
}

// The annotation of the text that it reads.
std::string PodPlanner::text() const {
  const bool index = possible_list_.empty() || !may_pin(policy_, shape_);
  return text_key(shape_, index ? conf_file::kName : conf_file::kNoIndexText);
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

// False, with a warning, where a main container has the name of our init container.
bool PodPlanner::may_add_resolver() {
  const auto has_name = [](const Container& container) {
    return container.kind == ContainerKind::Main && container.name == conf_file::kResolver;
  };
  if (std::none_of(pod_.containers.begin(), pod_.containers.end(), has_name)) return true;
  warn(NoResolver::NameTaken);
  return false;
}

// Runtimes with a virtual machine or a kernel of their own (Kata, gVisor) may keep an emptyDir inside, where
// the kubelet does not see the file. Names of those that run containers as runc does are known here.
std::optional<Reason> PodPlanner::reason_for_file() const {
  constexpr std::array<std::string_view, 6> kLikeRunc{"",       "runc",       "crun",
                                                      "nvidia", "nvidia-cdi", "nvidia-legacy"};
  if (std::find(kLikeRunc.begin(), kLikeRunc.end(), pod_.runtime_class) == kLikeRunc.end())
    return Reason::RuntimeUnknown;
  if (std::any_of(pod_.containers.begin(), pod_.containers.end(), copies_env)) return Reason::EnvCopied;
  if (own_.lost_reference(pod_)) return Reason::ReferenceDropped;
  return std::nullopt;
}

// Plans for the init container, which writes what the pod itself shows or, by EnvFile, what the Binding
// gives. Where it cannot be added, File takes its place. A pod that looks reads the text for pods with
// devices of their own, if anything depends on the node there.
void PodPlanner::prepare_start(const Resolver& resolver, bool env_file) {
  const bool looks = pod_knows_more(policy_, match_.exposure);
  std::vector<Value> wishes =
      looks ? wishes_for(Finder::Pod, {}) : wishes_for(Finder::Node, rails_of(match_));
  InitWork work{.env_file = env_file, .files = engine_keys()};
  if (!looks || !policy_.variants.empty())
    work.conf_key = looks ? text_key(shape_of(Exposure::PodOwned, false), conf_file::kName) : text();
  bool needed = false;
  for (Value& wish : wishes) {
    if (wish.state == State::LeftOut || wish.source == Source::Policy) continue;
    if (!env_file) needed = needed || wish.source == Source::Pod;
    if (!env_file || wish.in_engine_file) continue;
    if (!looks) work.given.append(work.given.empty() ? "" : ",").append(wish.name);
    if (looks) wish.source = Source::Pod;
    wish.in_env = wish.by_file_key = needed = true;
  }
  if (!needed || !may_add_resolver()) return;
  std::optional<NcclPolicy> no_index;  // finds none where none may be in the file
  if (looks && !possible_list_.empty()) {
    no_index = policy_;
    no_index->gid_index.kind = GidIndexRule::Kind::Omit;
    no_index->partition_key.reset();
  }
  start_ = ResolverContainer::make(pod_, no_index ? *no_index : policy_, resolver, served(), work);
  if (!start_) return warn(NoResolver::PolicyTooLong);
  env_file_ = env_file;
  looks_ = looks;
  own_wishes_ = std::move(wishes);
  unresolved_ = wishes_for(Finder::Node, rails_of(match_));
}

bool PodPlanner::is_resolver(std::size_t position) const {
  return pod_.own_container && pod_.own_container->position == position;
}

// True for a container that has ended before the file is there.
bool PodPlanner::is_before_resolver(std::size_t position) const {
  return start_ && pod_.own_container && position < pod_.own_container->position;
}

Form PodPlanner::form() const {
  if (looks_) return Form::ContainerStart;
  const bool from_node = std::any_of(wishes_->begin(), wishes_->end(),
                                     [](const Value& wish) { return wish.source == Source::Node; });
  return from_node || first_consumer_ || first_engine_consumer_ ? Form::Binding : Form::Constants;
}

// True if nccl.conf has something for a container. Constants stand in its env already, and the file hides one
// of the image: they are reason enough only for ranks that sshd or slurmd starts, which do not see the env.
// A value in env by EnvFile is not in the file beside, unless envFrom may hold it: the file overrides
// nothing.
bool PodPlanner::reads_conf(const Container& container) const {
  const bool for_ranks = serves_ranks(pod_, container);
  if (env_file_ && !for_ranks && container.env_from_prefixes.empty()) return false;
  return std::any_of(wishes_->begin(), wishes_->end(), [&](const Value& wish) {
    return wish.in_file && (for_ranks || wish.source != Source::Policy);
  });
}

// True if nothing of the user's is in the way of anything, and no file but ours is at our places.
bool PodPlanner::takes_all(const Container& container, const UserEnv& user) const {
  constexpr std::array kPlaces{conf_file::kPaths[0], conf_file::kPaths[1], conf_file::kNamedPaths[1],
                               conf_file::kFolder};
  return usual_.given && takes_usual() && user.is_free() && !serves_ranks(pod_, container) &&
         !conf_is_occupied(container, kPlaces);
}

// Says why a container gets no file although the policy delivers by file.
std::optional<Value> PodPlanner::objection_to_file(const Container& container, const UserEnv& user) const {
  if (conf_is_occupied(container)) {
    const std::string_view own = users_conf(container);
    if (own.empty()) {
      return left_out(conf_file::kName, Reason::ConfOccupied,
                      "The container mounts a volume of its own below the file's place.");
    }
    return left_out(conf_file::kName, Reason::ConfPresent,
                    "The container has a file of its own at " + std::string(own) + ".");
  }
  std::optional<Value> disabled;
  bool carries = false;
  for (const Value& wish : *wishes_) {
    if (!wish.in_file) continue;
    auto objection = user.objection(wish.name, is_policys(wish));
    if (!objection || UserEnv::leaves_room_for_file(*objection->reason)) {
      carries = carries || wish.source != Source::Policy;
      continue;
    }
    objection->name = conf_file::kName;
    // Env beats the file one variable at a time, so our index in the file would apply to the user's list.
    const bool idle =
        in_gid_group(wish.name) && user.takes_index_by_file();  // or NCCL reads the user's alone
    if (objection->reason == Reason::UserSetGroup && !idle) return objection;
    if (objection->reason == Reason::DisabledByUser) disabled = std::move(objection);
  }
  return carries ? std::nullopt : disabled;
}

// True if the file may stand at a path of our own, so that the image's /etc/nccl.conf counts as well: every
// NCCL of the pod reads NCCL_CONF_FILE, nobody else names a file there, no file of the user's would be
// hidden, and no rank is started without the container's env.
bool PodPlanner::may_name_conf(const Container& container, const UserEnv& user) const {
  return policy_.names_conf() && !policy_.sets_constant(variable::kConfFile) &&
         !user.objection(variable::kConfFile, true) && !serves_ranks(pod_, container) &&
         !conf_is_occupied(container, conf_file::kNamedPaths);
}

bool PodPlanner::is_policys(const Value& wish) const {
  return is_constant(wish) || (wish.state != State::LeftOut && policy_.varies(wish.name));
}

Value PodPlanner::too_early() const {
  Reason reason = Reason::OmittedByPolicy;
  if (match_.exposure == Exposure::SubInterface) reason = Reason::PodGidUnknown;
  if (match_.exposure == Exposure::PodOwned) reason = Reason::PodOwnsDevices;
  return left_out(conf_file::kName, reason,
                  "The container starts before nccl-env-resolve, which writes the file.");
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
  if (takes_all(container, user)) {
    const std::size_t position = plan.position;
    plan = usual_.given->plan;
    plan.position = position;
    plan.given = usual_.given;
  } else {
    choose(container, user, plan);
  }
  if (plan.mounts_conf && !first_consumer_) first_consumer_ = plan.position;
  if (!plan.engine_files.empty() && !first_engine_consumer_) first_engine_consumer_ = plan.position;
  warn_of(container, user, plan);
}

void PodPlanner::choose(const Container& container, const UserEnv& user, ContainerPlan& plan) {
  std::optional<Value> no_file;
  const std::vector<Value>* wishes = wishes_;
  if (reads_conf(container)) {
    no_file = objection_to_file(container, user);
    if (!no_file) wants_resolver_ = true;
    if (!no_file && is_before_resolver(plan.position)) {
      no_file = too_early();
      wishes = &unresolved_;
    }
    plan.mounts_conf = !no_file;
    plan.names_conf = plan.mounts_conf && may_name_conf(container, user);
  }
  const WithoutFile without = mount_engine_files(container, user, plan);
  const bool too_early = env_file_ && is_before_resolver(plan.position);
  plan.set.edit().reserve(wishes->size() + 2);
  for (const Value& wish : *wishes) {
    if (too_early && wish.by_file_key) {
      plan.omitted.edit().push_back(left_out(wish.name, Reason::TooEarly));
    } else if (wish.in_engine_file) {
      add_to_engine_file(wish, user, without, plan);
    } else {
      add(wish, user, no_file, plan);
    }
  }
  if (plan.names_conf) {
    plan.set.edit().push_back({.name = std::string(variable::kConfFile),
                               .value = std::string(conf_file::kNamedPath),
                               .in_env = true});
  }
  if (plan.mounts_conf) {
    plan.set.edit().push_back(
        {.name = std::string(conf_file::kName), .source = looks_ ? Source::Pod : Source::Node});
  } else if (no_file) {
    plan.omitted.edit().push_back(std::move(*no_file));
  }
}

// The file is one for all containers. A user's own variable beats its line; one that decides about a group
// does not, and keeps the whole file away.
std::optional<Value> PodPlanner::objection_to_engine_file(const Engine& engine, const Container& container,
                                                          const UserEnv& user, bool too_early) const {
  auto none = user.objection(engine.folder_variable, true);
  if (none && none->reason == Reason::UserSet) {
    return left_out(engine.file, Reason::UserSetGroup,
                    "The container sets " + std::string(engine.folder_variable) +
                        ", which names another file of " + std::string(engine.name) + ".");
  }
  if (none && none->reason != Reason::ConfPresent) return none;  // that file is NCCL's
  for (const Value& wish : *wishes_) {
    if (!wish.in_engine_file || file_engine_of(wish.name) != &engine) continue;
    none = user.objection(wish.name, is_policys(wish));
    if (none && none->reason == Reason::UserSetGroup) return none;
  }
  const std::string place = place_of(engine);
  const std::string_view places[] = {place};
  if (conf_is_occupied(container, places))
    return left_out(engine.file, Reason::ConfOccupied, "The container mounts a volume of its own there.");
  if (too_early) return left_out(engine.file, Reason::TooEarly);
  return std::nullopt;
}

// Mounts the files of engines that have something for the container.
PodPlanner::WithoutFile PodPlanner::mount_engine_files(const Container& container, const UserEnv& user,
                                                       ContainerPlan& plan) {
  WithoutFile without;
  for (const Engine* engine : policy_.engines) {
    const auto carries = [&](const Value& wish) {
      if (!wish.in_engine_file || file_engine_of(wish.name) != engine) return false;
      const auto objection = user.objection(wish.name, is_policys(wish));
      return !objection || UserEnv::leaves_room_for_file(*objection->reason);
    };
    if (std::none_of(wishes_->begin(), wishes_->end(), carries)) continue;
    if (auto none = objection_to_engine_file(*engine, container, user, is_before_resolver(plan.position))) {
      without.emplace_back(engine, std::move(*none));
      continue;
    }
    plan.engine_files.push_back(engine);
    plan.set.edit().push_back({.name = std::string(engine->folder_variable),
                               .value = std::string(conf_file::kFolder),
                               .in_env = true});
    plan.set.edit().push_back(
        {.name = std::string(engine->file), .source = looks_ ? Source::Pod : Source::Node});
    if (start_) wants_resolver_ = true;
  }
  return without;
}

void PodPlanner::add_to_engine_file(const Value& wish, const UserEnv& user, const WithoutFile& without,
                                    ContainerPlan& plan) const {
  const Engine* engine = file_engine_of(wish.name);
  const auto none =
      std::find_if(without.begin(), without.end(), [&](const auto& one) { return one.first == engine; });
  auto objection = user.objection(wish.name, is_policys(wish));
  if (objection && !UserEnv::leaves_room_for_file(*objection->reason)) {
    plan.omitted.edit().push_back(std::move(*objection));
  } else if (none != without.end()) {
    plan.omitted.edit().push_back(left_out(wish.name, *none->second.reason, none->second.detail));
  } else {
    plan.set.edit().emplace_back(wish).source = looks_ ? Source::Pod : Source::File;
  }
}

void PodPlanner::add(const Value& wish, const UserEnv& user, const std::optional<Value>& no_file,
                     ContainerPlan& plan) {
  auto objection = user.objection(wish.name, is_policys(wish));
  const bool open = objection && UserEnv::leaves_room_for_file(*objection->reason);
  const bool wanted = wish.state != State::LeftOut;
  if (objection && !(open && plan.mounts_conf && (!wanted || wish.in_file))) {
    plan.omitted.edit().push_back(std::move(*objection));
  } else if (!wanted) {
    plan.omitted.edit().push_back(wish);
  } else if (wish.in_env && !objection) {
    Value& entry = plan.set.edit().emplace_back(wish);
    entry.in_file = entry.in_file && plan.mounts_conf;
    wants_resolver_ = wants_resolver_ || entry.by_file_key;
  } else if (plan.mounts_conf) {
    Value& line = plan.set.edit().emplace_back(wish);
    line.source = looks_ ? Source::Pod : Source::File;
    line.in_env = line.by_file_key = false;
  } else {
    plan.omitted.edit().push_back(
        left_out(wish.name, *no_file->reason, no_file->detail + std::string(kFileStaysAway)));
  }
}

void PodPlanner::warn_of(const Container& container, const UserEnv& user, const ContainerPlan& plan) {
  WarningCase of{pod_, &policy_, match_, {}, &container, &user, &plan};
  for (const EnvEntry* entry : user.entries()) {
    if (!has_known_prefix(entry->name)) continue;
    of.entry = entry;
    add_warnings(Moment::Entry, of, plan_);
  }
  add_warnings(Moment::Container, of, plan_);
}

// Plans the volume and the init container. An init container that is there already is never moved.
void PodPlanner::plan_carriers() {
  const bool starts = start_ && wants_resolver_;
  if (starts) {
    plan_.volume = plan_volume(pod_, ConfVolume::Empty, {});
  } else if (takes_usual() && usual_.given && !pod_.own_volume &&
             first_consumer_.has_value() == usual_.given->plan.mounts_conf &&
             first_engine_consumer_.has_value() == !usual_.given->plan.engine_files.empty()) {
    if (!usual_.given->volume.empty())
      plan_.volume = {ListChange::Kind::Add, pod_.volume_count, usual_.given->volume};
  } else if (first_consumer_ || first_engine_consumer_) {
    FileKeys files;
    if (first_consumer_) files.emplace_back(conf_file::kName, text());
    if (first_engine_consumer_) {
      for (auto& file : engine_keys()) files.push_back(std::move(file));
    }
    plan_.volume = plan_volume(pod_, ConfVolume::FromAnnotation, files);
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

// Returns the place before the first init container that reads the file, else behind all init containers.
std::size_t PodPlanner::resolver_index() const {
  if (env_file_) return 0;  // a container in front would refer to a file that is not there
  std::size_t inits = 0;
  for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
    if (pod_.containers[i].kind != ContainerKind::Init || i == first_consumer_ || i == first_engine_consumer_)
      break;
    ++inits;
  }
  return inits;
}

}  // namespace nccl_env
