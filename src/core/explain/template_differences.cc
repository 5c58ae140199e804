// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/template_differences.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "explain/job_checks.h"
#include "explain/judgement.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

// As the operators' CRDs name them: kubeflow/training-operator, kubeflow/mpi-operator, sigs.k8s.io/lws and
// jobset, ray-project/kuberay, kserve/kserve, volcano-sh/apis (Job; that of Kubernetes has one template).
// explain job compares these, too.
constexpr std::array<std::string_view, 13> kOneJob{
    "PyTorchJob", "MPIJob", "PaddleJob",  "JAXJob",     "TFJob",  "XGBoostJob",         "LeaderWorkerSet",
    "JobSet",     "Job",    "RayCluster", "RayService", "RayJob", "LLMInferenceService"};

void add_container(const ExplainedContainer& from, PodRecord& into) {
  GivenContainer& container = into.containers.front();
  container.env_from = from.env_from;
  const auto add = [&](const std::vector<Value>& values) {
    for (const Value& value : values) {
      if (!find_named(container.values, value.name)) container.values.push_back(value);
    }
  };
  add(from.own);
  add(from.env);
  container.file = from.conf.value_or(std::vector<Value>());
  for (const Value& value : from.omitted) {
    if (value.reason) container.omitted.emplace(value.name, to_string(*value.reason));
    if (value.name != variable::kIbGidIndex || value.reason != Reason::InfiniBand) continue;
    container.values.push_back(value);
    container.values.back().source = Source::Node;
    into.bound.emplace().host.emplace(value.name, to_string(*value.reason));
  }
}

// The pod that comes of the template, as far as the explanation tells.
AnsweredPod pod_of(const NamedTemplate& from) {
  const Explanation& explanation = *from.explanation;
  AnsweredPod made;
  made.record.name = from.path;
  made.record.node = explanation.node;
  made.record.host_network = explanation.exposure == Exposure::Host;
  made.record.networks = explanation.demands.networks;
  GivenContainer& container = made.record.containers.emplace_back();
  container.resources = explanation.demands.resources;
  container.in_status = explanation.inject && !explanation.containers.empty();
  if (container.in_status) add_container(explanation.containers.front(), made.record);
  made.answer.state =
      explanation.reason && explanation.reason != Reason::DryRun ? PodState::NotInjected : PodState::Given;
  made.answer.reason = explanation.reason;
  made.answer.remedy = explanation.remedy;
  made.answer.findings = explanation.findings;
  made.answer.nccl_with_us = explanation.nccl_with_us;
  return made;
}

// True if the template's own findings speak of the same, and it is no worse beside others.
bool is_told(const Explanation& explanation, const Finding& finding) {
  if (!explanation.inject) return !explanation.findings.empty();
  return finding.code != Code::MixedLinks &&
         std::ranges::any_of(explanation.findings, [&](const Finding& own) {
           const bool same = finding.subject.path.empty() ? own.code == finding.code
                                                          : own.subject.path == finding.subject.path;
           return own.severity != Severity::Info && same;
         });
}

}  // namespace

bool holds_ranks_of_one_job(std::string_view kind) {
  return std::ranges::find(kOneJob, kind) != kOneJob.end();
}

void compare_templates(std::span<const NamedTemplate> of_one_job) {
  std::vector<AnsweredPod> pods;
  for (const NamedTemplate& each : of_one_job) pods.push_back(pod_of(each));
  std::vector<JobRank> ranks = make_ranks(pods);
  for (JobRank& rank : ranks) rank.role.clear();
  const job::View view{pods, ranks, of_one_job.front().path.starts_with("Pod/") ? "rank" : "template"};
  job::Founds founds;
  job::check_demands(view, founds);
  job::check_networks(view, founds);
  job::check_secondary_networks(view, founds);
  job::check_values(view, founds);
  job::check_rails(view, founds);
  job::check_links(view, founds);
  for (const auto& [finding, members, others] : founds.all) {
    for (const std::size_t rank : members) {
      Explanation& into = *of_one_job[ranks[rank].member].explanation;
      if (is_told(into, finding)) continue;
      into.findings.push_back(finding);
      into.findings.back().subject.kind = "Pod";
      into.findings.back().sentence = "It " + finding.sentence + ".";
      if (others.count > 0)
        into.findings.back().sentence +=
            " Compare " + printable(ranks[others.first].name) +
            (others.count > 1 ? " and " + std::to_string(others.count - 1) + " more." : ".");
      if (into.remedy == finding.remedy) into.remedy.clear();
    }
  }
  for (const NamedTemplate& each : of_one_job) sort_findings(each.explanation->findings);
}

}  // namespace nccl_env
