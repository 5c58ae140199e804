// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/job_ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "nccl/ports.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/nccl/name_list.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/nccl/version.h"

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
  return std::all_of(resources.begin(), resources.end(), [&](const std::string& resource) {
    return std::find(container->resources.begin(), container->resources.end(), resource) !=
           container->resources.end();
  });
}

// "worker-3" of Kubeflow, "workers-0-2" of a JobSet, "0-3" of a LeaderWorkerSet, "worker-1" of Volcano, "5"
// of a Job or StatefulSet; the pod's name where its labels do not tell.
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

JobRank make_rank(const AnsweredPod& member, const std::set<std::string>& resources) {
  JobRank rank;
  rank.name = rank_name(member.record);
  rank.missed = was_missed(member, resources);
  const GivenContainer* container = member.record.main_container();
  rank.compared = rank.missed || (container && container->in_status);
  if (!container) return rank;
  rank.hcas = exact_names(*container);
  const Value* index = container->find(variable::kIbGidIndex);
  if (index && index->value) rank.gid_index = *index->value;
  return rank;
}

}  // namespace

std::vector<JobRank> make_ranks(std::span<const AnsweredPod> members) {
  const std::set<std::string> resources = common_resources(members);
  const bool all_finished = std::all_of(
      members.begin(), members.end(), [](const AnsweredPod& member) { return member.record.is_finished(); });
  std::vector<JobRank> ranks;
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    JobRank rank = make_rank(members[i], resources);
    rank.member = i;
    if (!all_finished && members[i].record.is_finished()) rank.compared = false;
    ++counts[rank.name];
    ranks.push_back(std::move(rank));
  }
  // A rank that was tried again has several pods.
  for (JobRank& rank : ranks) {
    if (counts[rank.name] > 1) rank.name = members[rank.member].record.name;
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const JobRank& left, const JobRank& right) { return hca_name_less(left.name, right.name); });
  return ranks;
}

}  // namespace nccl_env
