// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/job_ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"

namespace nccl_env {
namespace {

std::string noted(const PodRecord& record, std::string_view key) {
  if (const auto label = record.labels.find(key); label != record.labels.end()) return label->second;
  const auto annotation = record.annotations.find(key);
  return annotation == record.annotations.end() ? std::string() : annotation->second;
}

// Labels whose values, joined, name a rank; the last one has to be there. Sources: the constants of
// kubeflow/training-operator and mpi-operator, sigs.k8s.io/jobset and lws, volcano-sh, kubernetes/kubernetes.
constexpr std::array<std::array<std::string_view, 3>, 8> kRankLabels{{
    {"training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"},
    {"training.kubeflow.org/job-role", "training.kubeflow.org/replica-index"},
    {"jobset.sigs.k8s.io/replicatedjob-name", "jobset.sigs.k8s.io/job-index",
     "batch.kubernetes.io/job-completion-index"},
    {"leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index"},
    {"volcano.sh/task-spec", "volcano.sh/task-index"},
    {"training.kubeflow.org/job-role"},
    {"batch.kubernetes.io/job-completion-index"},
    {"apps.kubernetes.io/pod-index"},
}};

// The names of an exact list, and of one of ours, which is exact on its node. Another list names devices only
// together with a table.
std::vector<std::string> exact_names(const GivenContainer& container) {
  const Value* given = container.find(variable::kIbHca);
  if (!given || !given->value) return {};
  const NcclNameList list = parse_nccl_name_list(*given->value, kNewestNccl, nccl_max_hcas(kNewestNccl));
  const bool exact = list.exact || given->is_from(Source::Node);
  return exact && !list.exclude ? list.names() : std::vector<std::string>();
}

// Returns what every injected pod's main container requests; nothing if none is injected.
std::set<std::string> common_resources(std::span<const AnsweredPod> members) {
  std::optional<std::set<std::string>> common;
  for (const AnsweredPod& member : members) {
    const GivenContainer* container = member.record.main_container();
    if (!container || !container->in_status) continue;
    const std::set<std::string> here(container->resources.begin(), container->resources.end());
    if (!common) {
      common = here;
    } else {
      std::erase_if(*common, [&](const std::string& resource) { return !here.contains(resource); });
    }
  }
  return common.value_or(std::set<std::string>());
}

// True if nothing was injected, nothing says why, and the pod asks for what the injected ones ask for.
bool was_missed(const AnsweredPod& member, const std::set<std::string>& resources) {
  const GivenContainer* container = member.record.main_container();
  if (!container) return false;
  if (member.answer.state == PodState::MissedAtAdmission) return true;
  if (member.answer.state != PodState::Unknown || resources.empty()) return false;
  return std::ranges::all_of(resources, [&](const std::string& resource) {
    return std::ranges::find(container->resources, resource) != container->resources.end();
  });
}

}  // namespace

std::string rank_name(const PodRecord& record) {
  for (const auto& labels : kRankLabels) {
    std::string name;
    bool all = true;
    for (const std::string_view label : labels) {
      if (label.empty()) continue;
      const std::string part = noted(record, label);
      all = all && !part.empty();
      name += (name.empty() ? "" : "-") + part;
    }
    if (all) return name;
  }
  return record.name;
}

namespace {

// The part of a rank's labels that other pods of its kind share: "worker"; "" where labels do not tell.
std::string role_of(const PodRecord& record) {
  for (const std::string_view label :
       {"training.kubeflow.org/replica-type", "training.kubeflow.org/job-role",
        "jobset.sigs.k8s.io/replicatedjob-name", "volcano.sh/task-spec", "ray.io/node-type"}) {
    const std::string role = noted(record, label);
    if (!role.empty())
      return role == "master" || role == "Master" ? "worker" : role;  // rank 0 of a PyTorchJob
  }
  return {};
}

// By the roles of injected pods, what they ask for.
using Asked = std::set<std::pair<std::string, std::string>>;
Asked asked_by_role(std::span<const AnsweredPod> members) {
  Asked asked;
  for (const AnsweredPod& member : members) {
    const GivenContainer* container = member.record.main_container();
    if (!container || !container->in_status) continue;
    for (const std::string& resource : container->resources) asked.emplace(role_of(member.record), resource);
  }
  return asked;
}

// True if the pod asks for a device as a rank of its kind does, and was given nothing.
bool is_without(const AnsweredPod& member, const Asked& asked) {
  const GivenContainer* container = member.record.main_container();
  const PodState state = member.answer.state;
  if (!container || (state != PodState::NotInjected && state != PodState::Unknown)) return false;
  return std::ranges::any_of(container->resources, [&](const std::string& resource) {
    return asked.contains({role_of(member.record), resource});
  });
}

JobRank make_rank(const AnsweredPod& member, const std::set<std::string>& resources, const Asked& asked) {
  JobRank rank;
  rank.name = rank_name(member.record);
  rank.role = hca_family(rank.name);
  rank.missed = was_missed(member, resources);
  rank.without = !rank.missed && is_without(member, asked);
  const GivenContainer* container = member.record.main_container();
  rank.compared = rank.missed || (container && container->in_status);
  if (!container) return rank;
  for (const std::string& resource : rank.without ? resources : std::set<std::string>()) {
    if (std::ranges::find(container->resources, resource) == container->resources.end())
      rank.lacks.push_back(resource);
  }
  rank.hcas = exact_names(*container);
  const Value* index = container->find(variable::kIbGidIndex);
  if (index && index->value) rank.gid_index = *index->value;
  return rank;
}

bool has_failed(const PodRecord& record) {
  return record.is_finished() && !record.trouble.empty();
}

}  // namespace

std::vector<JobRank> make_ranks(std::span<const AnsweredPod> members) {
  const std::set<std::string> resources = common_resources(members);
  const Asked asked = asked_by_role(members);
  const bool all_finished = std::ranges::all_of(members, &PodRecord::is_finished, &AnsweredPod::record);
  std::vector<JobRank> ranks;
  struct Attempts {
    int all = 0, failed = 0;
  };
  std::map<std::string, Attempts> attempts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    JobRank rank = make_rank(members[i], resources, asked);
    rank.member = i;
    if (!all_finished && members[i].record.is_finished()) rank.compared = rank.without = false;
    ++attempts[rank.name].all;
    attempts[rank.name].failed += has_failed(members[i].record) ? 1 : 0;
    ranks.push_back(std::move(rank));
  }
  // A rank that was tried again has several pods.
  for (JobRank& rank : ranks) {
    const Attempts& of_rank = attempts[rank.name];
    if (of_rank.all == 1) continue;
    rank.replaced = of_rank.failed < of_rank.all && has_failed(members[rank.member].record);
    rank.name = members[rank.member].record.name;
  }
  std::ranges::sort(ranks, hca_name_less, &JobRank::name);
  return ranks;
}

}  // namespace nccl_env
