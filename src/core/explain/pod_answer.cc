// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/pod_answer.h"

#include <algorithm>

#include "explain/nccl_in_pod.h"
#include "explain/pod_notes.h"

namespace nccl_env {
namespace {

// The hook's name in what the API server says of it (manifests/base/hooks.yaml).
constexpr std::string_view kBindingHook = "binding.nccl-env.io";
constexpr std::string_view kDenied = "denied the request: ";

constexpr const char* kResolverRemedy =
    "See `kubectl describe pod` and the init container's log. The image of nccl-env-resolve has to be one "
    "that "
    "the pod's namespace may pull and run; resolve: Binding in the policy does without it.";

constexpr const char* kCreateAnew =
    "Delete the pod and let its owner create it anew: variables can't be added to a pod that exists.";

class Answerer {
 public:
  Answerer(const Pod& pod, const PodRecord& record, const PodSurroundings& around)
      : pod_(pod), record_(record), around_(around) {}

  PodAnswer answer() {
    if (!record_.status) {
      tell_absence();
    } else if (record_.node.empty()) {
      tell_wait();
    } else if (record_.starts_itself() && record_.file) {
      tell_start(*record_.file);
    } else if (!record_.bound && lacks_node_values()) {
      tell_missed_binding();
    } else {
      tell_given();
    }
    if (record_.status && !record_.node.empty()) add_changes();
    add_selections();
    answer_.notes = notes_of(record_, around_, answer_.changes);
    return std::move(answer_);
  }

 private:
  void set(PodState state, std::string sentence, std::string remedy = {}, bool finding = false) {
    answer_.state = state;
    answer_.sentence = std::move(sentence);
    answer_.remedy = std::move(remedy);
    answer_.finding = finding;
  }

  void skip(Reason reason, const std::string& detail) {
    answer_.reason = reason;
    set(PodState::NotInjected, detail.empty() ? std::string(meaning(reason)) : detail,
        std::string(remedy(reason)));
  }

  void tell_absence() {
    // What the pod itself says needs no policy: one that matches nothing and skips nothing, asked about it.
    NcclPolicy nobodys;
    nobodys.skip_resources.clear();
    const Plan alone = plan_pod(pod_, nobodys);
    if (alone.reason && alone.reason != Reason::NotRdma && alone.reason != Reason::BudgetExceeded)
      return skip(*alone.reason, alone.detail);
    if (!around_.namespace_policy) return tell_unknown();
    const std::string& policy = *around_.namespace_policy;
    if (policy.empty()) {
      return skip(Reason::NamespaceNotOptedIn,
                  "Namespace " + record_.name_space + " has no label nccl-env.io/policy.");
    }
    if (around_.policy_problem) return skip(*around_.policy_problem, around_.policy_detail);
    if (!around_.policy) return tell_unknown();
    const Plan plan = plan_pod(pod_, *around_.policy);
    if (!plan.inject) return skip(plan.reason.value_or(Reason::NotRdma), plan.detail);
    set(PodState::MissedAtAdmission,
        "Policy " + policy +
            " matches the pod, and nothing was injected: it was created before the namespace was labelled or "
            "the policy matched it, or while no webhook answered.",
        kCreateAnew, true);
  }

  void tell_unknown() {
    std::string sentence = "Nothing was injected: the pod has no annotation nccl-env.io/status. ";
    if (around_.namespace_policy) {
      sentence += "Its namespace follows policy " + *around_.namespace_policy +
                  ": either that does not match the pod, or the webhook was not asked.";
    } else {
      sentence +=
          "Either its namespace is not opted in, or the policy does not match it, or the webhook was "
          "not asked.";
    }
    const GivenContainer* container = record_.main_container();
    if (container && !container->resources.empty()) {
      sentence += " Its container " + container->name + " requests " + container->resources.front() +
                  ": if other pods that do so have the annotation, this one was missed.";
    }
    set(PodState::Unknown, std::move(sentence),
        std::string("Ask who may read ") + (around_.namespace_policy ? "" : "namespaces and ") +
            "ncclpolicies to run this command, or create the pod anew.");
  }

  [[nodiscard]] std::string last_word() const {
    if (!record_.unscheduled.empty()) return record_.unscheduled;
    return around_.events.empty() ? std::string() : around_.events.back();
  }

  void tell_wait() {
    const std::string word = last_word();
    const bool of_ours = word.find(kBindingHook) != std::string::npos;
    if (const std::size_t at = word.find(kDenied); of_ours && at != std::string::npos) {
      return set(PodState::WaitingForNode,
                 "The pod is held back, because its policy says onUnresolved: Deny. " +
                     word.substr(at + kDenied.size()),
                 "The scheduler tries again by itself once the node's table is right.", true);
    }
    if (of_ours) {
      return set(PodState::WaitingForNode,
                 "The pod is held back, because no webhook answers for its Binding: " + word,
                 "Look after the webhook (nccl-env doctor does not); the scheduler tries again by itself.",
                 true);
    }
    std::string sentence =
        record_.starts_itself() ? "The pod finds its values itself when it starts; it has no node yet"
        : record_.reads_node()  ? "The values of the node come with the Binding; the pod has no node yet"
                                : "The pod has all that it gets; it has no node yet";
    if (!record_.gates.empty()) {
      sentence += ": its scheduling gate '" + record_.gates.front() + "' is closed.";
    } else {
      sentence += word.empty() ? "." : ": " + word;
    }
    set(PodState::WaitingForNode, std::move(sentence));
  }

  // Reads them, by env or by file, and has none.
  [[nodiscard]] bool lacks_node_values() const {
    if (record_.starts_itself()) return false;
    const bool by_file = record_.file && !record_.file->at_start;
    const bool no_file = by_file && record_.file->state == GivenFile::State::Missing;
    const auto any = [&](GivenValue::State state) {
      return std::any_of(
          record_.containers.begin(), record_.containers.end(), [&](const GivenContainer& container) {
            return std::any_of(container.values.begin(), container.values.end(),
                               [&](const GivenValue& given) {
                                 return given.from == GivenValue::From::Node && given.state == state;
                               });
          });
    };
    return (any(GivenValue::State::Missing) || no_file) && !any(GivenValue::State::Known) &&
           (!by_file || no_file);
  }

  void tell_missed_binding() {
    set(PodState::MissedAtBinding,
        "The pod was bound to node " + record_.node + " without nccl-env's annotations, so the variables" +
            (record_.file ? " and files" : "") +
            " that read them are empty and NCCL takes its defaults: no webhook answered for the Binding.",
        kCreateAnew, true);
  }

  void tell_start(const GivenFile& file) {
    const std::string why = file.detail.empty() ? "" : " (" + file.detail + ")";
    switch (file.state) {
      case GivenFile::State::Waiting:
        return set(
            PodState::NotStarted,
            "The pod finds its values itself, and its init container nccl-env-resolve has not ended yet" +
                why + ".",
            file.stuck ? kResolverRemedy : "", file.stuck);
      case GivenFile::State::Failed:
        if (file.stuck) {
          return set(PodState::NotStarted,
                     "The pod does not start: its init container nccl-env-resolve failed" + why + ".",
                     kResolverRemedy, true);
        }
        return set(PodState::Given,
                   "The pod has what policy " + record_.status->policy +
                       " gives it, and found none of its node's values: nccl-env-resolve failed" + why + ".",
                   "`kubectl logs " + record_.name + " -c nccl-env-resolve` may tell more.", true);
      case GivenFile::State::Foreign:
        return set(PodState::Given, "The pod has what policy " + record_.status->policy +
                                        " gives it; what it found itself is not known.");
      default:
        return tell_given();
    }
  }

  void tell_given() {
    const bool lacks = std::any_of(
        record_.containers.begin(), record_.containers.end(), [&](const GivenContainer& container) {
          const auto given = container.effective();
          return std::any_of(given.begin(), given.end(), [&](const GivenValue* value) {
            return !record_.reason_missing(*value).empty();
          });
        });
    set(PodState::Given, lacks ? "The pod has what its node can give; some values it cannot."
                               : "The pod has what policy " + record_.status->policy + " gives it.");
  }

  void add_changes() {
    answer_.details = details_today(record_, around_);
    answer_.changes = changes_since(record_, around_);
    if (answer_.changes.empty()) return;
    answer_.finding = true;
    if (answer_.remedy.empty())
      answer_.remedy = "Create the pod anew to have today's values, at best the whole job at once.";
  }

  [[nodiscard]] const GivenContainer* in_status() const {
    const GivenContainer* container = record_.main_container();
    return container && container->in_status ? container : nullptr;
  }

  // What is in the file, an empty one too.
  [[nodiscard]] static bool is_told(const GivenFile& file) {
    const bool failed = file.state == GivenFile::State::Failed && !file.stuck;
    return (file.state == GivenFile::State::Known && !file.cut) || file.state == GivenFile::State::Missing ||
           failed;
  }

  void add_selections() {
    const GivenContainer* container = in_status();
    if (!container || !around_.table || !record_.status->exposure) return;
    const Exposure exposure = *record_.status->exposure;
    if (exposure == Exposure::PodOwned) return;
    NcclEnv alone, with_us;
    std::vector<std::string> notes;
    for (const GivenValue* given : container->effective()) {
      if (given->state == GivenValue::State::Known) {
        with_us.insert_or_assign(given->name, given->value);
        if (given->from == GivenValue::From::User) alone.insert_or_assign(given->name, given->value);
      } else if (given->state == GivenValue::State::Elsewhere) {
        notes.push_back("The container takes " + given->name +
                        " from elsewhere; its value is not known here and counts as unset.");
      }
    }
    if (container->env_from)
      notes.emplace_back("The container's envFrom may hold further variables, which are not known here.");
    const NodeFabric seen = seen_in_pod(*around_.table, exposure, record_.host_network);
    const auto select = [&](const NcclEnv& env) {
      NcclSelection selection = nccl_in_pod(seen, env, exposure, record_.host_network, around_.version);
      selection.notes.insert(selection.notes.begin(), notes.begin(), notes.end());
      return selection;
    };
    answer_.nccl_alone = select(alone);
    if (!container->reads_file || is_told(*record_.file)) answer_.nccl_with_us = select(with_us);
  }

  const Pod& pod_;
  const PodRecord& record_;
  const PodSurroundings& around_;
  PodAnswer answer_;
};

}  // namespace

std::string_view to_string(PodState state) {
  switch (state) {
    case PodState::Given:
      return "given";
    case PodState::WaitingForNode:
      return "waiting";
    case PodState::NotInjected:
      return "not injected";
    case PodState::MissedAtAdmission:
      return "missed at admission";
    case PodState::MissedAtBinding:
      return "missed at Binding";
    case PodState::NotStarted:
      return "not started";
    case PodState::Unknown:
      break;
  }
  return "not known";
}

PodAnswer answer_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings) {
  return Answerer(pod, record, surroundings).answer();
}

}  // namespace nccl_env
