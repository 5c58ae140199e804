// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/template_differences.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "engines/nccl/interfaces.h"
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

bool has_own_list(const Explanation& explanation) {
  return find_named(explanation.containers.front().own, variable::kIbHca) != nullptr;
}

// Tells of templates whose own list takes other HCAs than another template's ranks take.
void compare_rails(std::span<const NamedTemplate> ranks) {
  std::vector<std::vector<std::string>> taken;
  for (const NamedTemplate& each : ranks) taken.push_back(hcas_of(*each.explanation));
  const auto most = std::ranges::max_element(taken, {}, &std::vector<std::string>::size);
  const NamedTemplate& whole = ranks[static_cast<std::size_t>(most - taken.begin())];
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<Finding>& findings = ranks[i].explanation->findings;
    if (taken[i].empty() || taken[i] == *most || !has_own_list(*ranks[i].explanation) || !is_good(findings))
      continue;
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

// True if the rank's node is of InfiniBand; absent where neither that nor the opposite is certain.
std::optional<bool> is_infiniband(const Explanation& explanation) {
  const ExplainedContainer& container = explanation.containers.front();
  const Value* omitted = find_named(container.omitted, variable::kIbGidIndex);
  if (omitted && omitted->reason == Reason::InfiniBand) return true;
  const Value* index = container.find(variable::kIbGidIndex);
  return index && index->value ? std::optional(false) : std::nullopt;
}

void add_odd(const NamedTemplate& rank, Code code, Severity severity, std::string sentence,
             std::string remedy = {}, std::string_view variable = variable::kIbHca) {
  rank.explanation->findings.push_back({code,
                                        severity,
                                        {.kind = "Pod", .path = std::string(variable)},
                                        std::move(sentence),
                                        std::move(remedy)});
  sort_findings(rank.explanation->findings);
}

// "Pod/p0 and 14 more"
std::string first_of(const std::vector<const NamedTemplate*>& ranks) {
  return printable(ranks.front()->path) +
         (ranks.size() > 1 ? " and " + std::to_string(ranks.size() - 1) + " more" : "");
}

// Tells of ranks whose nodes are of InfiniBand where most are of RoCE, or the other way round. True if any
// is.
bool compare_links(std::span<const NamedTemplate> ranks) {
  std::vector<const NamedTemplate*> roce, infiniband;
  for (const NamedTemplate& each : ranks) {
    if (const auto is = is_infiniband(*each.explanation)) (*is ? infiniband : roce).push_back(&each);
  }
  if (roce.empty() || infiniband.empty()) return false;
  const bool few = infiniband.size() <= roce.size();
  for (const NamedTemplate* odd : few ? infiniband : roce)
    add_odd(*odd, Code::MixedLinks, Severity::Error,
            "Its node " + printable(odd->explanation->node) + " has " + (few ? "InfiniBand" : "RoCE") +
                ", that of " + first_of(few ? roce : infiniband) + " " + (few ? "RoCE" : "InfiniBand") +
                ": the two do not connect.");
  return true;
}

// Tells of ranks whose nodes give other HCAs than most do; where none does, than the one that gives most.
void compare_nodes(std::span<const NamedTemplate> ranks) {
  std::map<std::vector<std::string>, std::vector<const NamedTemplate*>> ranks_of;
  std::size_t all = 0;
  for (const NamedTemplate& each : ranks) {
    if (has_own_list(*each.explanation)) continue;
    auto names = hcas_of(*each.explanation);
    if (names.empty()) continue;
    ranks_of[std::move(names)].push_back(&each);
    ++all;
  }
  if (ranks_of.size() < 2) return;
  auto usual = std::ranges::max_element(ranks_of, {}, [](const auto& of) { return of.second.size(); });
  if (usual->second.size() * 2 <= all)
    usual = std::ranges::max_element(ranks_of, {}, [](const auto& of) { return of.first.size(); });
  for (const auto& [names, odd] : ranks_of) {
    if (names == usual->first) continue;
    const bool fewer = names.size() < usual->first.size();
    for (const NamedTemplate* rank : odd) {
      if (!is_good(rank->explanation->findings)) continue;
      add_odd(*rank, fewer ? Code::MissingRail : Code::OddNode, fewer ? Severity::Error : Severity::Warning,
              "Its node " + printable(rank->explanation->node) + " gives " +
                  (fewer ? count_of(names.size(), "HCA") + ", that of " : "other HCAs than that of ") +
                  first_of(usual->second) + (fewer ? " " + std::to_string(usual->first.size()) : "") + ": " +
                  list_difference(usual->first, names) + ".");
    }
  }
}

// Tells of ranks that are not on their node's network, or are where most are not: a pod of its own network
// has other GIDs, of which nothing is known before it starts. True if any is.
bool compare_networks(std::span<const NamedTemplate> ranks) {
  std::vector<const NamedTemplate*> on_network, without;
  for (const NamedTemplate& each : ranks) {
    if (each.explanation->exposure == Exposure::Host)
      on_network.push_back(&each);
    else if (!is_infiniband(*each.explanation))
      without.push_back(&each);
  }
  if (on_network.empty() || without.empty()) return false;
  const bool few = on_network.size() < without.size();
  for (const NamedTemplate* odd : few ? on_network : without)
    add_odd(*odd, Code::OddNode, Severity::Warning,
            std::string("Its ranks are ") + (few ? "" : "not ") +
                "on their node's network (hostNetwork), and those of " +
                first_of(few ? without : on_network) + (few ? " are not." : " are."),
            "Say the same hostNetwork for all ranks.");
  return true;
}

// Tells of ranks that lack a secondary network of the kind that they have, and another one has. Templates may
// be meant to have fewer rails.
void compare_secondary_networks(std::span<const NamedTemplate> ranks) {
  const auto networks = [](const NamedTemplate& rank) -> const std::vector<std::string>& {
    return rank.explanation->demands.networks;
  };
  const auto most =
      std::ranges::max_element(ranks, {}, [&](const NamedTemplate& rank) { return networks(rank).size(); });
  for (const NamedTemplate& each : ranks) {
    if (each.explanation->exposure == Exposure::Host || !lacks_kin(networks(each), networks(*most))) continue;
    add_odd(each, Code::OddNode, each.path.starts_with("Pod/") ? Severity::Warning : Severity::Info,
            "It asks for " + count_of(networks(each).size(), "secondary network") + ", " +
                printable(most->path) + " for " + std::to_string(networks(*most).size()) + ": " +
                list_difference(networks(*most), networks(each)) + ".",
            "Ask for the same networks in all ranks.");
  }
}

// Tells of a rank's own interface where a rank without one has another on the same node.
void compare_interfaces(std::span<const NamedTemplate> ranks) {
  const auto name_of = [](const NamedTemplate& rank) {
    std::string name = value_of(*rank.explanation, variable::kSocketIfname).value_or("");
    return name.starts_with('=') ? name.substr(1) : name;
  };
  const auto own_of = [](const NamedTemplate& rank) {
    return find_named(rank.explanation->containers.front().own, variable::kSocketIfname);
  };
  std::map<std::string_view, const NamedTemplate*> given;  // the first one of each node
  for (const NamedTemplate& each : ranks) {
    if (!own_of(each) && !name_of(each).empty()) given.emplace(each.explanation->node, &each);
  }
  for (const NamedTemplate& each : ranks) {
    const Value* own = own_of(each);
    const auto other = given.find(each.explanation->node);
    if (!own || !own->value || other == given.end() || !is_good(each.explanation->findings)) continue;
    const NcclNameList list = parse_nccl_name_list(*own->value, kNewestNccl, kNcclMaxInterfaces);
    if (own->value->size() < 2 || list.selects(name_of(*other->second), -1)) continue;  // a prefix, a list
    add_odd(each, Code::OddNode, Severity::Warning,
            "NCCL_SOCKET_IFNAME is " + words(*own->value) + " here, of the user's own, and " +
                words(name_of(*other->second)) + " in " + printable(other->second->path) +
                " on the same node.",
            "Remove NCCL_SOCKET_IFNAME from it, or set it alike on all ranks.", variable::kSocketIfname);
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
  if (!compare_links(ranks) && !compare_networks(ranks)) compare_nodes(ranks);
  compare_secondary_networks(ranks);
  compare_interfaces(ranks);
  for (const std::string& name : names_of(ranks)) {
    const Variable* known = find_variable(name);
    if (known && (known->ranks == Ranks::Equal || known->ranks == Ranks::Fabric))
      compare_variable(ranks, *known);
  }
}

}  // namespace nccl_env
