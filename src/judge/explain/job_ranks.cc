// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/job_ranks.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

std::string noted(const PodRecord& record, std::string_view key) {
  const std::string label = find_text(record.labels, key);
  return label.empty() ? find_text(record.annotations, key) : label;
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

bool asks_for(const GivenContainer& container, const std::string& resource) {
  return std::ranges::find(container.resources, resource) != container.resources.end();
}

// Resources that main containers of injected pods request.
struct Asked {
  std::optional<std::set<std::string>> by_all = {};  // nothing if none is injected
  std::set<std::pair<std::string, std::string>> by_role = {};

  explicit Asked(std::span<const AnsweredPod> members) {
    for (const AnsweredPod& member : members) {
      const GivenContainer* container = member.record.main_container();
      if (!container || !container->in_status) continue;
      for (const std::string& resource : container->resources)
        by_role.emplace(role_of(member.record), resource);
      if (!by_all) by_all.emplace(container->resources.begin(), container->resources.end());
      std::erase_if(*by_all, [&](const std::string& resource) { return !asks_for(*container, resource); });
    }
  }
};

JobRank make_rank(const AnsweredPod& member, const Asked& asked) {
  const PodState state = member.answer.state;
  JobRank rank;
  rank.name = rank_name(member.record);
  rank.role = hca_family(rank.name);
  const GivenContainer* container = member.record.main_container();
  if (!container) return rank;
  const auto is_asked = [&](const std::string& resource) { return asks_for(*container, resource); };
  const auto of_role = [&](const std::string& resource) {
    return asked.by_role.contains({role_of(member.record), resource});
  };
  const std::set<std::string> by_all = asked.by_all.value_or(std::set<std::string>());
  // Nothing was injected, nothing says why, and it asks for what the injected ones ask for.
  const bool looks_missed =
      state == PodState::Unknown && !by_all.empty() && std::ranges::all_of(by_all, is_asked);
  rank.missed = state == PodState::MissedAtAdmission || looks_missed;
  rank.compared = rank.missed || container->in_status;  // a template under DryRun, too
  rank.without = !rank.compared && (state == PodState::NotInjected || state == PodState::Unknown) &&
                 std::ranges::any_of(container->resources, of_role);
  if (rank.without) std::ranges::remove_copy_if(by_all, std::back_inserter(rank.lacks), is_asked);
  rank.hcas = exact_names(*container);
  const Value* index = container->find(variable::kIbGidIndex);
  if (index && index->value) rank.gid_index = *index->value;
  return rank;
}

bool has_failed(const PodRecord& record) {
  return record.is_finished() && !record.trouble.empty();
}

}  // namespace

std::string rank_name(const PodRecord& record) {
  for (const auto& labels : kRankLabels) {
    std::vector<std::string> parts;
    for (const std::string_view label : labels) {
      if (!label.empty()) parts.push_back(noted(record, label));
    }
    if (std::ranges::find(parts, "") == parts.end()) return join(parts, "-");
  }
  return record.name;
}

std::vector<JobRank> make_ranks(std::span<const AnsweredPod> members) {
  const Asked asked(members);
  const bool all_finished = std::ranges::all_of(members, &PodRecord::is_finished, &AnsweredPod::record);
  struct Attempts {
    int all = 0, failed = 0;
  };
  std::map<std::string, Attempts> attempts;
  std::vector<JobRank> ranks;
  for (const AnsweredPod& member : members) {
    JobRank& rank = ranks.emplace_back(make_rank(member, asked));
    rank.member = ranks.size() - 1;
    if (!all_finished && member.record.is_finished()) rank.compared = rank.without = false;
    ++attempts[rank.name].all;
    attempts[rank.name].failed += has_failed(member.record) ? 1 : 0;
  }
  // A rank that was tried again has several pods.
  for (JobRank& rank : ranks) {
    const auto& [all, failed] = attempts[rank.name];
    if (all == 1) continue;
    rank.replaced = failed < all && has_failed(members[rank.member].record);
    rank.name = members[rank.member].record.name;
  }
  std::ranges::sort(ranks, hca_name_less, &JobRank::name);
  return ranks;
}

}  // namespace nccl_env
