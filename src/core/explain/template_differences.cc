// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/template_differences.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "engines/nccl/ports.h"
#include "explain/judgement.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

// As the operators' CRDs name them: kubeflow/training-operator, kubeflow/mpi-operator, sigs.k8s.io/lws and
// jobset, ray-project/kuberay, kserve/kserve, volcano-sh/apis (Job; that of Kubernetes has one template).
// explain job compares these, too.
constexpr std::array<std::string_view, 13> kOneJob{
    "PyTorchJob", "MPIJob", "PaddleJob",  "JAXJob",     "TFJob",  "XGBoostJob",         "LeaderWorkerSet",
    "JobSet",     "Job",    "RayCluster", "RayService", "RayJob", "LLMInferenceService"};

// The value that NCCL takes in the template's first container: "" where none is set; nothing where it is not
// known.
std::optional<std::string> value_of(const Explanation& explanation, std::string_view name) {
  const ExplainedContainer& container = explanation.containers.front();
  const Value* value = find_named(container.own, name);
  if (!value) value = container.find(name);
  return value ? value->value : std::string();
}

std::string words(const std::string& value) {
  return value.empty() ? "not set" : printable(value);
}

std::set<std::string> names_of(std::span<const NamedTemplate> templates) {
  std::set<std::string> names;
  const auto add = [&](const std::vector<Value>& values) {
    for (const Value& value : values) names.insert(value.name);
  };
  for (const NamedTemplate& each : templates) {
    const ExplainedContainer& container = each.explanation->containers.front();
    add(container.own);
    add(container.env);
    if (container.conf) add(*container.conf);
  }
  return names;
}

// Tells the templates whose value is not the usual one; where none is, those whose user sets it.
void compare_variable(std::span<const NamedTemplate> templates, const Variable& variable) {
  const std::string name(variable.name);
  struct Same {
    const NamedTemplate* first;
    std::size_t templates;
  };
  std::map<std::string, Same> by_meaning;
  bool any_own = false;
  for (const NamedTemplate& each : templates) {
    const auto value = value_of(*each.explanation, name);
    if (!value) return;
    ++by_meaning.try_emplace(nccl_meaning(variable, *value), Same{&each, 0}).first->second.templates;
    any_own = any_own || find_named(each.explanation->containers.front().own, name);
  }
  if (by_meaning.size() < 2) return;
  const auto usual =
      std::ranges::max_element(by_meaning, {}, [](const auto& of) { return of.second.templates; });
  const bool most = usual->second.templates * 2 > templates.size();
  for (const NamedTemplate& each : templates) {
    const std::string here = *value_of(*each.explanation, name);
    const std::string meaning = nccl_meaning(variable, here);
    const bool own = find_named(each.explanation->containers.front().own, name) != nullptr;
    const bool told = std::ranges::any_of(each.explanation->findings, [&](const Finding& finding) {
      return finding.subject.path == name && finding.severity != Severity::Info;
    });
    if (told || (most ? meaning == usual->first : here.empty() || (any_own && !own))) continue;
    const auto other =
        most ? usual : std::ranges::find_if(by_meaning, [&](const auto& of) { return of.first != meaning; });
    const NamedTemplate& there = *other->second.first;
    each.explanation->findings.push_back(
        {Code::ValuesDiffer,
         variable.ranks == Ranks::Equal ? Severity::Error : Severity::Warning,
         {.kind = "Pod", .path = name},
         name + " is " + words(here) + " here, and " + words(*value_of(*there.explanation, name)) + " in " +
             printable(there.path) +
             (most && other->second.templates > 1
                  ? " and " + std::to_string(other->second.templates - 1) + " more"
                  : "") +
             ": it " + std::string(agreement_text(variable.ranks)) + "."});
    sort_findings(each.explanation->findings);
  }
}

// The HCAs that the template's ranks take, in natural order: by its table, else those of an exact list of the
// user's own; none where they are not known.
std::vector<std::string> hcas_of(const Explanation& explanation) {
  std::vector<std::string> names;
  if (const auto& chosen = explanation.nccl_with_us) {
    for (const NcclSelection::ChosenPort& port : chosen->ports) names.push_back(port.hca);
  } else if (const Value* own = find_named(explanation.containers.front().own, variable::kIbHca);
             own && own->value && own->value->starts_with('=')) {
    names = parse_nccl_name_list(*own->value, kNewestNccl, nccl_max_hcas(kNewestNccl)).names();
  }
  std::ranges::sort(names, hca_name_less);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Tells of templates whose own list takes other HCAs than another template's ranks take.
void compare_rails(std::span<const NamedTemplate> ranks) {
  std::vector<std::vector<std::string>> taken;
  for (const NamedTemplate& each : ranks) taken.push_back(hcas_of(*each.explanation));
  const auto most = std::ranges::max_element(taken, {}, &std::vector<std::string>::size);
  const NamedTemplate& whole = ranks[static_cast<std::size_t>(most - taken.begin())];
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<Finding>& findings = ranks[i].explanation->findings;
    const bool own = find_named(ranks[i].explanation->containers.front().own, variable::kIbHca) != nullptr;
    if (taken[i].empty() || taken[i] == *most || !own || !is_good(findings)) continue;
    const bool fewer = taken[i].size() < most->size();
    findings.push_back({fewer ? Code::MissingRail : Code::OddNode,
                        fewer ? Severity::Error : Severity::Warning,
                        {.kind = "Pod", .path = std::string(variable::kIbHca)},
                        "Its ranks take " + count_of(taken[i].size(), "HCA") +
                            " by NCCL_IB_HCA of the user's own, those of " + printable(whole.path) + " " +
                            std::to_string(most->size()) + ": " + list_difference(*most, taken[i]) + ".",
                        "Set NCCL_IB_HCA alike on all ranks, or nowhere."});
    sort_findings(findings);
  }
}

// Tells of a template that gets nothing and asks for a device as `given` does, which gets its node's values:
// a GPU.
void compare_demands(const NamedTemplate& given, Explanation& without) {
  const std::vector<std::string>&wanted = given.explanation->demands.resources,
        &asked = without.demands.resources;
  std::vector<std::string> lacks;
  std::ranges::copy_if(wanted, std::back_inserter(lacks), [&](const std::string& resource) {
    return std::ranges::find(asked, resource) == asked.end();
  });
  if (lacks.size() == wanted.size() || !without.findings.empty()) return;
  const std::string reason(to_string(*without.reason));
  without.findings.push_back(
      {Code::OddNode,
       Severity::Warning,
       {.kind = "Pod"},
       "Its ranks get nothing (" + reason + "), and those of " + printable(given.path) +
           " their node's values" +
           (lacks.empty() ? "" : ": they ask for " + join(lacks) + ", and these do not") + ".",
       lacks.empty() && !without.remedy.empty()
           ? without.remedy
           : "Let all ranks ask for the same devices, and none opt out."});
  if (lacks.empty()) without.remedy.clear();  // the finding's
}

}  // namespace

bool holds_ranks_of_one_job(std::string_view kind) {
  return std::ranges::find(kOneJob, kind) != kOneJob.end();
}

void compare_templates(std::span<const NamedTemplate> of_one_job) {
  std::vector<NamedTemplate> ranks;
  for (const NamedTemplate& each : of_one_job) {
    if (each.explanation->inject && !each.explanation->containers.empty()) ranks.push_back(each);
  }
  if (ranks.empty()) return;
  for (const NamedTemplate& each : of_one_job) {
    if (!each.explanation->inject && each.explanation->reason && each.explanation->reason != Reason::DryRun)
      compare_demands(ranks.front(), *each.explanation);
  }
  if (ranks.size() < 2) return;
  compare_rails(ranks);
  for (const std::string& name : names_of(ranks)) {
    const Variable* known = find_variable(name);
    if (known && (known->ranks == Ranks::Equal || known->ranks == Ranks::Fabric))
      compare_variable(ranks, *known);
  }
}

}  // namespace nccl_env
