// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/template_differences.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "explain/job_checks.h"
#include "explain/judgement.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/judge/explain/pod_print.h"

namespace nccl_env {
namespace {

// As the operators' CRDs name them: kubeflow/training-operator, kubeflow/mpi-operator, sigs.k8s.io/lws and
// jobset, ray-project/kuberay, kserve/kserve, volcano-sh/apis (Job; that of Kubernetes has one template).
// explain job compares these, too.
constexpr std::array<std::string_view, 13> kOneJob{
    "PyTorchJob", "MPIJob", "PaddleJob",  "JAXJob",     "TFJob",  "XGBoostJob",         "LeaderWorkerSet",
    "JobSet",     "Job",    "RayCluster", "RayService", "RayJob", "LLMInferenceService"};

// The pod that comes of the template, under the template's name: labels of ranks are the operators' matter.
AnsweredPod pod_of(const NamedTemplate& from) {
  AnsweredPod made = *from.told;
  made.record.name = from.path;
  made.record.labels.clear();
  return made;
}

// True if the template's own findings speak of the same, and it is no worse beside others.
bool is_told(const PodAnswer& answer, const Finding& finding) {
  if (answer.state == PodState::NotInjected && answer.reason != Reason::DryRun)
    return !answer.findings.empty();
  return finding.code != Code::MixedLinks && std::ranges::any_of(answer.findings, [&](const Finding& own) {
           const bool same = finding.subject.path.empty() ? own.code == finding.code
                                                          : own.subject.path == finding.subject.path;
           return own.severity != Severity::Info && same;
         });
}

// The sentence is that of the worst finding.
void settle(PodAnswer& answer) {
  sort_findings(answer.findings);
  answer.sentence = is_good(answer.findings) ? answer.in_all : answer.findings.front().sentence;
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
  for (const auto& [finding, members, others] : job::check(view)) {
    for (const std::size_t rank : members) {
      PodAnswer& into = of_one_job[ranks[rank].member].told->answer;
      if (is_told(into, finding)) continue;
      into.findings.push_back(finding);
      into.findings.back().subject.kind = "Pod";
      into.findings.back().sentence = "It " + finding.sentence + ".";
      if (others.count > 0)
        into.findings.back().sentence +=
            " Compare " + printable(ranks[others.first].name) +
            (others.count > 1 ? " and " + std::to_string(others.count - 1) + " more." : ".");
    }
  }
  for (const NamedTemplate& each : of_one_job) settle(each.told->answer);
}

void tell_at_launcher(std::string_view variable, AnsweredPod& rank, PodAnswer& launcher) {
  const GivenContainer* container = rank.record.main_container();
  const Value* taken = container ? find_named(container->command, variable) : nullptr;
  if (!taken || taken->container.empty()) return;  // of its own command
  std::vector<Finding>& own = rank.answer.findings;
  const auto moved = std::stable_partition(own.begin(), own.end(), [&](const Finding& finding) {
    return finding.subject.path != variable || finding.severity == Severity::Info;
  });
  if (moved == own.end()) return;
  for (auto each = moved; each != own.end(); ++each) {
    if (!launcher.has(each->code)) launcher.findings.push_back(std::move(*each));
  }
  own.erase(moved, own.end());
  for (PodAnswer* each : {&rank.answer, &launcher}) {
    settle(*each);
    const Finding* leads = leading_finding(*each);
    each->remedy = leads ? remedy_of(*leads) : "";
  }
}

}  // namespace nccl_env
