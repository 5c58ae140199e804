// SPDX-License-Identifier: Apache-2.0
#include "explain/job_ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "fabric/hca_name.h"
#include "nccl_env/core/nccl/rules.h"
#include "nccl_env/core/nccl/variables.h"

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

bool is_finished(const PodRecord& record) {
  return record.phase == "Succeeded" || record.phase == "Failed";
}

// The names of an exact list. Another list names devices only together with a table.
std::vector<std::string> exact_names(const GivenContainer& container) {
  const GivenValue* given = container.find(variable::kIbHca);
  std::vector<std::string> names;
  if (!given || given->state != GivenValue::State::Known) return names;
  const NcclNameList list = parse_nccl_name_list(given->value, kNewestNccl, nccl_max_hcas(kNewestNccl));
  if (!list.exact || list.exclude) return names;
  for (const NcclNameList::Entry& entry : list.entries)
    names.push_back(entry.name + (entry.port < 0 ? "" : ":" + std::to_string(entry.port)));
  return names;
}

// What every injected pod's main container requests; nothing if none is injected.
std::set<std::string> common_resources(std::span<const JobMember> members) {
  std::optional<std::set<std::string>> common;
  for (const JobMember& member : members) {
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

// Nothing was injected, nothing says why, and it asks for what the injected ones ask for.
bool was_missed(const JobMember& member, const std::set<std::string>& resources) {
  const GivenContainer* container = member.record.main_container();
  if (!container) return false;
  if (member.answer.state == PodState::MissedAtAdmission) return true;
  if (member.answer.state != PodState::Unknown || resources.empty()) return false;
  return std::all_of(resources.begin(), resources.end(), [&](const std::string& resource) {
    return std::find(container->resources.begin(), container->resources.end(), resource) !=
           container->resources.end();
  });
}

JobRank make_rank(const JobMember& member, const std::set<std::string>& resources) {
  JobRank rank;
  rank.name = rank_name(member.record);
  rank.missed = was_missed(member, resources);
  const GivenContainer* container = member.record.main_container();
  rank.compared = rank.missed || (container && container->in_status);
  if (!container) return rank;
  rank.hcas = exact_names(*container);
  const GivenValue* index = container->find(variable::kIbGidIndex);
  if (index && index->state == GivenValue::State::Known) rank.gid_index = index->value;
  return rank;
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

std::vector<JobRank> make_ranks(std::span<const JobMember> members) {
  const std::set<std::string> resources = common_resources(members);
  const bool all_finished = std::all_of(members.begin(), members.end(),
                                        [](const JobMember& member) { return is_finished(member.record); });
  std::vector<JobRank> ranks;
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    JobRank rank = make_rank(members[i], resources);
    rank.member = i;
    if (!all_finished && is_finished(members[i].record)) rank.compared = false;
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
