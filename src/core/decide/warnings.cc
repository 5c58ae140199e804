// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/warnings.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/launcher.h"
#include "nccl_env/core/decide/old_nccl.h"
#include "nccl_env/core/decide/process_limits.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/pod/env_references.h"
#include "nccl_env/core/policy/known_names.h"

namespace nccl_env {
namespace {

// Returns the container if its plan leaves a variable out for that reason, else null.
const Container* if_left_out(const WarningCase& of, Reason reason) {
  for (const Value& value : of.plan->omitted) {
    if (value.reason == reason) return of.container;
  }
  return nullptr;
}

// Says what is wrong with a variable that is read as it stands there.
std::string entry_problem(const EnvEntry& entry) {
  if (!entry.is_literal()) return {};
  const auto problem = setting_problem(entry.name, entry.value);
  return problem && !problem->as_meant ? problem->sentence : "";
}

using Of = const WarningCase&;

struct Warning {
  Moment moment;
  bool judged;                 // by an explanation, too: Plan::judged
  std::string (*text)(Of of);  // "": it does not apply
};
constexpr bool kJudged = true, kAlone = false;

constexpr std::array kWarnings{
    Warning{Moment::Skip, kJudged,
            [](Of of) {
              const auto skip = of.match.skip;
              const bool policy_fails = skip == Reason::PolicyMissing || skip == Reason::PolicyInvalid;
              const bool told = skip == Reason::InvalidInjectValue || skip == Reason::ClaimUnknown ||
                                (policy_fails && looks_like_rdma(of.pod));
              return told ? of.match.detail + " Nothing was injected." : "";
            }},
    Warning{Moment::Skip, kAlone,
            [](Of of) {
              const bool told = of.match.skip == Reason::NotRdma && of.policy->mode != PolicyMode::DryRun;
              return told ? launcher_warning(of.pod, *of.policy, nullptr) : "";
            }},
    Warning{Moment::Skip, kJudged,
            [](Of of) {
              const bool told = of.match.skip == Reason::NotRdma && of.policy->mode != PolicyMode::DryRun;
              return told ? several_without_rdma(of.pod, *of.policy) : "";
            }},
    Warning{
        Moment::Resolver, kAlone,
        [](Of of) {
          return of.no_resolver == NoResolver::NameTaken
                     ? "a container has the name nccl-env-resolve, which is the init container's that would "
                       "look"
                     : "policy " + of.policy->name + " is too long for the env of an init container";
        }},
    Warning{Moment::Entry, kJudged, [](Of of) { return about(of.container, entry_problem(*of.entry)); }},
    Warning{Moment::Container, kAlone,
            [](Of of) {
              return about(if_left_out(of, Reason::EnvFromPresent),
                           "envFrom could hold NCCL variables, so nothing was injected that it might set");
            }},
    Warning{Moment::Container, kJudged,
            [](Of of) {
              const EnvReferences references(*of.container);
              const auto stays = [&](const EnvEntry& entry) {
                const bool known = may_be_known(entry.name) && has_known_prefix(entry.name);
                if (!known || entry.has_source || entry.is_literal()) return false;
                const auto& value = references.value_of(entry);
                return value && !first_reference(*value).empty();
              };
              const auto found = std::ranges::find_if(of.container->env, stays);
              return found == of.container->env.end()
                         ? std::string()
                         : about(of.container, reference_problem(found->name, *references.value_of(*found)));
            }},
    Warning{Moment::Container, kAlone,
            [](Of of) {
              const bool own_rows = of.match.exposure != Exposure::Host &&
                                    !of.policy->is_only(LinkLayer::InfiniBand) && of.user->pins_index();
              return about(own_rows ? of.container : nullptr,
                           "NCCL_IB_GID_INDEX: the pod has a GID table of its own, in which the index of a "
                           "guide or of a node may be another row");
            }},
    Warning{Moment::Container, kAlone,
            [](Of of) {
              return about(if_left_out(of, Reason::ConfPresent),
                           "its own file (" + std::string(of.user->conf()) +
                               ") could hold NCCL variables, so nothing was injected that it might "
                               "set: put all values there, or remove it to get the policy's");
            }},
    Warning{Moment::Container, kJudged,
            [](Of of) {
              const Value* none = find_named(of.plan->omitted, variable::kIbGidIndex);
              const bool counts = of.policy->names(LinkLayer::Ethernet) && !of.user->pins_index() &&
                                  (!none || is_left_to_nccl(*none->reason));
              return counts ? about(of.container, search_problem(*of.container, *of.policy)) : "";
            }},
    // The author of a value other than the only valid one would believe that it works.
    Warning{Moment::Pod, kAlone,
            [](Of of) -> std::string {
              const auto works = [](auto resolve) {
                return resolve.value_or(key::kAtBinding) == key::kAtBinding;
              };
              if (works(of.pod.label(key::kResolve)) && works(of.pod.annotation(key::kResolve))) return {};
              return "nccl-env.io/resolve can only be \"Binding\": it has no effect";
            }},
    Warning{
        Moment::Pod, kAlone,
        [](Of of) -> std::string {
          if (!of.pod.misplaces_env) return {};
          return "spec.env stands beside the containers, where it has no effect: write it into a container";
        }},
    Warning{Moment::Pod, kAlone, [](Of of) { return of.match.problem; }},
    Warning{Moment::Pod, kAlone, [](Of of) { return launcher_warning(of.pod, *of.policy, of.made); }},
    Warning{Moment::Pod, kJudged,
            [](Of of) -> std::string {
              if (of.match.no_rail && of.policy->names(LinkLayer::Ethernet)) return no_rail_text();
              return of.match.lacks_network ? of.match.rails_unknown : "";
            }},
    Warning{Moment::Pod, kJudged, [](Of of) { return device_problem(of.pod, of.match.in_scope); }},
    Warning{Moment::Pod, kJudged, [](Of of) { return shared_memory_problem(of.pod, of.match.in_scope); }},
    Warning{Moment::Pod, kJudged,
            [](Of of) {
              std::string text = memory_lock_problem(of.pod, of.match.in_scope);
              return text.empty() ? text : text.append(kUnlessLifted);
            }},
};

}  // namespace

bool looks_like_rdma(const Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& container) {
    return std::any_of(container.resources.begin(), container.resources.end(),
                       [](std::string_view resource) { return known_exposure(resource).has_value(); });
  });
}

void add_warnings(Moment moment, const WarningCase& of, Plan& into) {
  for (const Warning& warning : kWarnings) {
    if (warning.moment != moment || into.warnings.size() == kMostWarnings) continue;
    std::string text = warning.text(of);
    if (text.empty()) continue;
    into.judged.set(into.warnings.size(), warning.judged);
    into.warnings.push_back("nccl-env: " + text);
  }
}

}  // namespace nccl_env
