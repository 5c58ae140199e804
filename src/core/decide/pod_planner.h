// SPDX-License-Identifier: Apache-2.0
// The plan of one pod that a policy matches: what each container gets and by which carrier, the file, its
// volume and the init container.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/conf_delivery.h"
#include "decide/resolver_container.h"
#include "nccl_env/core/decide/compiled_policy.h"
#include "nccl_env/core/decide/container_env.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/match.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/decide/warnings.h"
#include "nccl_env/core/engines/engine.h"

namespace nccl_env {

// The lines of nccl.conf, where the pod itself looks or not.
SharedValues file_lines(const std::vector<Value>& wishes, bool looks);

// Plans the containers of one pod that a policy matches, and the volume and init container that bring
// nccl.conf to them. Keeps references to its constructor's arguments.
class PodPlanner {
 public:
  // `resolver`: as in PlanOptions; absent also where a switch says Binding.
  PodPlanner(const Pod& pod, const CompiledPolicy& compiled, const std::optional<Resolver>& resolver,
             const PodMatch& match, Plan& plan);

  // Fills in the plan's form, containers, file, volume, resolver and warnings.
  void run();

 private:
  [[nodiscard]] std::vector<Value> wishes_for(Finder finder, const Rails& rails) const;
  void prepare(const std::optional<Resolver>& resolver);
  void prepare_start(const Resolver& resolver, bool env_file);
  [[nodiscard]] std::optional<Reason> reason_for_file() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool may_add_resolver();
  [[nodiscard]] const Container& served() const;
  [[nodiscard]] bool is_resolver(std::size_t position) const;
  [[nodiscard]] bool is_before_resolver(std::size_t position) const;
  [[nodiscard]] Form form() const;
  [[nodiscard]] bool reads_conf(const Container& container) const;
  [[nodiscard]] FileKeys engine_keys() const;
  [[nodiscard]] std::optional<Value> objection_to_engine_file(const Engine& engine,
                                                              const Container& container, const UserEnv& user,
                                                              bool too_early) const;
  // Engines whose file a container does not get, and why.
  using WithoutFile = std::vector<std::pair<const Engine*, Value>>;
  [[nodiscard]] WithoutFile mount_engine_files(const Container& container, const UserEnv& user,
                                               ContainerPlan& plan);
  void add_to_engine_file(const Value& wish, const UserEnv& user, const WithoutFile& without,
                          ContainerPlan& plan) const;
  [[nodiscard]] bool takes_usual() const { return wishes_ == &usual_.wishes; }
  [[nodiscard]] bool takes_all(const Container& container, const UserEnv& user) const;
  [[nodiscard]] std::optional<Value> objection_to_file(const Container& container, const UserEnv& user) const;
  [[nodiscard]] bool may_name_conf(const Container& container, const UserEnv& user) const;
  [[nodiscard]] Value too_early() const;
  ContainerPlan plan_container(std::size_t position);
  void fill(const Container& container, ContainerPlan& plan);
  void choose(const Container& container, const UserEnv& user, ContainerPlan& plan);
  // True also for a constant that differs by kind of node.
  [[nodiscard]] bool is_policys(const Value& wish) const;
  void add(const Value& wish, const UserEnv& user, const std::optional<Value>& no_file, ContainerPlan& plan);
  void warn(NoResolver why) { add_warnings(Moment::Resolver, {pod_, &policy_, match_, why}, plan_); }
  void warn_of(const Container& container, const UserEnv& user, const ContainerPlan& plan);
  void plan_carriers();
  [[nodiscard]] std::size_t resolver_index() const;

  const Pod& pod_;
  const NcclPolicy& policy_;
  const PodMatch& match_;
  const PodShape& shape_;  // whose texts it reads
  const ShapeWishes& usual_;
  const OwnEntries own_;
  std::string possible_list_;      // why no file has an index: of the first container that may have a list
  OwnEntries::Literals literals_;  // the values that this plan would set as literals
  Plan& plan_;
  std::vector<Value> own_wishes_;  // where the usual ones are not right
  const std::vector<Value>* wishes_ = &own_wishes_;
  std::optional<ResolverContainer> start_;            // finds the values inside the pod; absent: nothing does
  std::vector<Value> unresolved_;                     // the wishes of containers that start before it
  bool wants_resolver_ = false;                       // a container could read a file that start_ writes
  bool looks_ = false;                                // start_ looks at the pod's own devices
  bool env_file_ = false;                             // what a node gives comes by fileKeyRef
  std::optional<std::size_t> first_consumer_;         // of nccl.conf
  std::optional<std::size_t> first_engine_consumer_;  // of an engine's file
};

}  // namespace nccl_env
