// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decide/match.h"
#include "decide/our_entries.h"
#include "decide/resolver_container.h"
#include "decide/user_env.h"
#include "decide/wanted.h"
#include "nccl_env/core/decide/decide.h"

namespace nccl_env {

// Plans the containers of one pod that a policy matches, and what carries nccl.conf to them. Refers to all
// that it is made of.
class PodPlanner {
 public:
  PodPlanner(const Pod& pod, const NcclPolicy& policy, const PlanOptions& options, const PodMatch& match,
             Plan& plan);

  // Fills in the plan's form, containers, file, volume, resolver and warnings.
  void run();

 private:
  void prepare(const std::optional<Resolver>& resolver);
  void prepare_start(const std::optional<Resolver>& resolver);
  [[nodiscard]] const Container& served() const;
  void warn(const std::string& text) { plan_.warnings.push_back("nccl-env: " + text); }
  [[nodiscard]] bool is_resolver(std::size_t position) const;
  [[nodiscard]] bool is_before_resolver(std::size_t position) const;
  [[nodiscard]] Form form() const;
  [[nodiscard]] bool has_file() const;
  void list_file();
  [[nodiscard]] std::optional<Omission> objection_to_file(const Container& container,
                                                          const UserEnv& user) const;
  [[nodiscard]] Omission too_early() const;
  ContainerPlan plan_container(std::size_t position);
  void fill(const Container& container, ContainerPlan& plan);
  void add(const Wish& wish, const UserEnv& user, const std::optional<Omission>& no_file,
           ContainerPlan& plan) const;
  void warn_of(const Container& container, const UserEnv& user, const ContainerPlan& plan);
  void plan_carriers();
  [[nodiscard]] std::size_t resolver_index() const;

  const Pod& pod_;
  const NcclPolicy& policy_;
  const PodMatch& match_;
  const OwnEntries own_;
  OwnEntries::Literals literals_;  // the values that this plan would set as literals
  Plan& plan_;
  std::vector<Wish> wishes_;
  std::optional<ResolverContainer> start_;  // the pod looks for itself, through this
  std::vector<Wish> unresolved_;            // of containers that start before it
  bool wants_resolver_ = false;             // a container could read what it writes
  std::optional<std::size_t> first_consumer_;
};

}  // namespace nccl_env
