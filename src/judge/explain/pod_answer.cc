// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/pod_answer.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "explain/judgement.h"
#include "explain/pod_judgement.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/old_nccl.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/decide/warnings.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/explain/pod_record.h"

namespace nccl_env {

namespace {

// True if a pod gets nothing, for this reason, and nobody has chosen that: a mistake in the pod or in its
// namespace's policy, or a pod that asks for RDMA and is beyond a limit.
bool is_mistake(Reason reason, const Pod& pod) {
  const bool of_policy = reason == Reason::PolicyMissing || reason == Reason::PolicyInvalid;
  const bool hurts = of_policy || reason == Reason::BudgetExceeded;
  return reason == Reason::InvalidInjectValue || (hurts && looks_like_rdma(pod));
}

// Sentences beside the answer.
std::vector<std::string> notes_of(const PodRecord& record, const PodSurroundings& around, PodState state) {
  std::vector<std::string> notes;
  for (const std::string& key : record.unreadable) {
    if (key == key::kStatus) continue;  // the answer tells it
    notes.push_back("The annotation " + key + " holds what nccl-env never writes; it is not read.");
  }
  if (!record.trouble.empty() && !has_its_values(state)) {
    notes.push_back("Now " + record.trouble + ": " + record.trouble_remedy());
  }
  if (record.ending) notes.emplace_back("The pod is being deleted.");
  const auto fallback = record.status ? parse_reason(record.status->fallback) : std::nullopt;
  if (fallback) notes.push_back(std::string(to_string(*fallback)) + ": " + std::string(meaning(*fallback)));
  for (const GivenContainer& container : record.containers) {
    if (container.in_status && container.env_from && has_its_values(state))
      notes.push_back("Container " + container.name +
                      ": its envFrom may hold variables of NCCL's, which beat those of a file and are not "
                      "known here.");
  }
  if (!record.status) {
    if (record.reads_node() && !record.has_unreadable_status())
      notes.emplace_back(
          "Containers read annotations of nccl-env: the manifest was copied from another pod.");
    return notes;
  }
  const StatusNote& status = *record.status;
  if (around.namespace_policy && *around.namespace_policy != status.policy) {
    notes.push_back(around.namespace_policy->empty()
                        ? "The namespace is not opted in any more."
                        : "The namespace follows policy " + *around.namespace_policy + " today.");
  }
  if (around.policy_problem) notes.push_back(around.policy_detail);
  if (around.policy && around.policy->name == status.policy &&
      around.policy->generation != status.generation) {
    notes.push_back("Policy " + status.policy + " is at generation " +
                    std::to_string(around.policy->generation) + " today; the pod was created at " +
                    std::to_string(status.generation) + ".");
  }
  // A pod that found its values itself took none from its Binding.
  if (record.bound && !record.starts_itself() && record.bound->reason.empty() && record.foreign.empty() &&
      (record.bound->policy != status.policy || record.bound->generation != status.generation))
    notes.push_back("At Binding it was policy " + record.bound->policy + ", generation " +
                    std::to_string(record.bound->generation) + ": the policy was changed in between.");
  return notes;
}

// The hook's name in the API server's messages (manifests/base/hooks.yaml).
constexpr std::string_view kBindingHook = "binding.nccl-env.io";
constexpr std::string_view kDenied = "denied the request: ";

constexpr const char* kResolverRemedy =
    "See `kubectl describe pod` and the init container's log. The image of nccl-env-resolve has to be one "
    "that the pod's namespace may pull and run; the label nccl-env.io/resolve=Binding on the namespace does "
    "without it.";

// kubectl prints the foreign values with the pod, so a pod made from that output would have them again.
constexpr const char* kTakeOut =
    "Delete the pod and have it created from its owner or its own manifest, not from what `kubectl get pod` "
    "prints: take out all annotations with nccl-env.io/ in their key, and each env entry and volume that "
    "reads one.";

// Variables can't be added to a pod that exists. A Job, also one of a JobSet, counts a deleted pod as failed;
// a suspended Job or JobSet deletes its pods itself and counts none.
std::string create_anew(const PodRecord& record) {
  const PodOwner owner = record.owners.empty() ? PodOwner() : record.owners.front();
  const auto set = record.labels.find("jobset.sigs.k8s.io/jobset-name");
  const bool of_set = set != record.labels.end();
  const std::string& name = of_set ? set->second : owner.name;
  const bool is_job = owner.kind == "Job" && owner.batch;
  // People copy the command, so a name has to be plain: the pod may be from a file.
  if (!is_job || !is_dns_subdomain(name) || !is_dns_subdomain(record.name_space)) {
    return std::string("Delete the pod and ") +
           (owner.name.empty() ? "create it from its own manifest" : "let its owner create it anew") +
           ": variables can't be added to a pod that exists.";
  }
  const std::string patch = "`kubectl patch " + (of_set ? "jobset " + name : "job " + name) + " -n " +
                            record.name_space + (of_set ? " --type merge" : "") +
                            " -p '{\"spec\":{\"suspend\":true}}'`";
  return std::string("Suspend the ") + (of_set ? "JobSet" : "Job") +
         " and resume it, since each pod that is deleted counts as failed: " + patch +
         ", then the same with false. All its pods are created anew.";
}

class Answerer {
 public:
  Answerer(const Pod& pod, const PodRecord& record, const PodSurroundings& around)
      : pod_(pod), record_(record), around_(around) {}

  PodAnswer answer() {
    if (record_.has_unreadable_status()) {
      tell_unreadable();
    } else if (!record_.status) {
      tell_absence();
    } else if (record_.node.empty()) {
      around_.exists ? tell_wait() : tell_given();
    } else if (around_.exists && record_.starts_itself() && record_.file) {
      tell_start(*record_.file);
    } else if (is_unread() && lacks_node_values()) {
      tell_unread();
    } else if ((!record_.bound || !record_.bound->reason.empty() || was_edited_away()) &&
               lacks_node_values()) {
      tell_missed_binding();
    } else if (around_.exists && record_.file && record_.file->at_start) {
      tell_start(*record_.file);
    } else {
      tell_given();
    }
    const std::string otherwise = answer_.state == PodState::NotInjected ? answer_.sentence : std::string();
    if (!record_.foreign.empty()) tell_foreign();
    judge_pod(pod_, record_, around_, answer_);
    answer_.notes = notes_of(record_, around_, answer_.state);
    if (!record_.foreign.empty() && !otherwise.empty()) answer_.notes.push_back(otherwise);
    return std::move(answer_);
  }

 private:
  void set(PodState state, std::string sentence, std::string remedy = {}, std::optional<Code> found = {}) {
    answer_.state = state;
    answer_.sentence = std::move(sentence);
    answer_.remedy = std::move(remedy);
    answer_.findings.clear();
    if (found) told_.add(*found, Severity::Error, "", answer_.sentence, answer_.remedy);
  }
  void skip(Reason reason, const std::string& detail) {
    answer_.reason = reason;
    set(PodState::NotInjected, detail.empty() ? std::string(meaning(reason)) : detail,
        std::string(remedy(reason)));
    if (is_mistake(reason, pod_)) tell_no_list();
  }

  // A skip that is a mistake.
  void tell_no_list() {
    add_no_list(to_string(*answer_.reason), answer_.sentence, answer_.remedy,
                may_have_devices(pod_) ? kTakesAll : " So NCCL finds no HCA, and uses sockets", told_);
    if (around_.exists) answer_.sentence = answer_.findings.back().sentence;
  }

  void skip(const Plan& plan) {
    const Reason reason = plan.reason.value_or(Reason::NotRdma);
    skip(reason, plan.detail);
    if (reason != Reason::NotRdma) return;
    answer_.remedy = unmatched_remedy(pod_, *around_.policy, around_.claims, around_.one_of);
    std::string how = unmatched_rdma(pod_, *around_.policy, around_.claims);
    if (how.empty()) how = several_without_rdma(pod_, *around_.policy, around_.one_of);
    if (how.empty()) {
      if (std::string text = gpus_without_rdma(pod_, *around_.policy); !text.empty())
        told_.add(Code::NoList, Severity::Info, "",
                  text + ": NCCL uses TCP if it talks to pods of other nodes.");
      return;
    }
    answer_.sentence = std::move(how);
    tell_no_list();
  }

  void tell_unreadable() {
    set(PodState::Unknown,
        "The pod's annotation nccl-env.io/status is not what this version of nccl-env writes, so it is not "
        "known what the pod was given.",
        "Use the nccl-env of the webhook's version, which `nccl-env check` tells; if that writes no such "
        "text, create the pod anew.",
        Code::ObjectRefused);
  }

  void tell_absence() {
    if (around_.plan) return skip(*around_.plan);
    // Some reasons are in the pod alone: they remain under a policy that matches nothing and skips nothing.
    NcclPolicy nobodys;
    nobodys.skip_resources.clear();
    const Plan alone = plan_pod(pod_, nobodys);
    if (alone.reason && alone.reason != Reason::NotRdma && alone.reason != Reason::BudgetExceeded)
      return skip(*alone.reason, alone.detail);
    if (!around_.namespace_policy) return tell_unknown();
    const std::string& policy = *around_.namespace_policy;
    if (policy.empty()) {
      return skip(Reason::NamespaceNotOptedIn,
                  around_.policy_detail.empty()
                      ? "Namespace " + record_.name_space + " has no label nccl-env.io/policy."
                      : around_.policy_detail);
    }
    if (around_.policy_problem) return skip(*around_.policy_problem, around_.policy_detail);
    if (!around_.policy) return tell_unknown();
    const Plan plan = within_patch_bounds(pod_, plan_pod(pod_, *around_.policy));
    if (plan.reason == Reason::ClaimUnknown) return tell_claims();
    if (!plan.inject) return skip(plan);
    set(PodState::MissedAtAdmission,
        "Policy " + policy +
            " matches the pod, and nothing was injected: no webhook answered when it was created" +
            (record_.created ? " (" + format_timestamp(*record_.created) + ")" : "") +
            ", or the namespace was labelled later, or the policy matched it later.",
        create_anew(record_), Code::MissedAtAdmission);
  }

  // A claim's requests are in another object, which only the webhook looks up.
  void tell_claims() {
    set(PodState::Unknown,
        "Nothing was injected: the pod has no annotation nccl-env.io/status. Policy " +
            *around_.namespace_policy +
            " goes by devices that the pod claims: either it does not match them, or the webhook was not "
            "asked.",
        "Create the pod anew; `nccl-env explain -f` with --claims tells what it would get.");
  }

  void tell_unknown() {
    const bool by_policy = around_.namespace_policy.has_value();
    std::string sentence =
        "Nothing was injected: the pod has no annotation nccl-env.io/status. " +
        (by_policy ? "Its namespace follows policy " + *around_.namespace_policy +
                         ": either that does not match the pod, or the webhook was not asked."
                   : "Either its namespace is not opted in, or the policy does not match it, or the webhook "
                     "was not asked.");
    const GivenContainer* container = record_.main_container();
    if (container && !container->resources.empty()) {
      const auto& all = container->resources;
      const auto known = std::ranges::find_if(
          all, [](const std::string& resource) { return known_exposure(resource).has_value(); });
      sentence += " Its container " + container->name + " requests " +
                  (known == all.end() ? all.front() : *known) +
                  ": if other pods that do so have the annotation, this one was missed.";
    }
    set(PodState::Unknown, std::move(sentence),
        std::string("Ask someone who may read ") + (by_policy ? "" : "namespaces and ") +
            "ncclpolicies to run this command, or create the pod anew.");
  }

  void tell_wait() {
    const std::string word = !record_.unscheduled.empty() ? record_.unscheduled
                             : around_.events.empty()     ? std::string()
                                                          : around_.events.back();
    const bool of_ours = word.find(kBindingHook) != std::string::npos;
    if (const std::size_t at = word.find(kDenied); of_ours && at != std::string::npos) {
      return set(PodState::WaitingForNode,
                 "The pod is held back, because its policy says onUnresolved: Deny. " +
                     word.substr(at + kDenied.size()),
                 "The scheduler tries again by itself once the node's table is right.", Code::HeldBack);
    }
    if (of_ours) {
      return set(PodState::WaitingForNode,
                 "The pod is held back, because no webhook answers for its Binding: " + word,
                 "Look after the webhook (nccl-env doctor does not); the scheduler tries again by itself.",
                 Code::HeldBack);
    }
    set(PodState::WaitingForNode,
        (record_.starts_itself() ? "The pod finds its values itself when it starts; it has no node yet"
         : record_.reads_node()  ? "The values of the node come with the Binding; the pod has no node yet"
                                 : "The pod has all that it gets; it has no node yet") +
            (!record_.gates.empty() ? ": its scheduling gate '" + record_.gates.front() + "' is closed."
             : word.empty()         ? "."
                                    : ": " + word));
  }

  // True if the pod reads values of its node, by env or by file, and has none.
  [[nodiscard]] bool lacks_node_values() const {
    if (record_.starts_itself()) return false;
    const bool by_file = record_.file && !record_.file->at_start;
    const bool no_file = by_file && record_.file->state == GivenFile::State::Missing;
    bool missing = false, known = false;
    for (const GivenContainer& container : record_.containers) {
      if (container.name == conf_file::kResolver) continue;  // it reads for the others
      for (const Value& given : container.values) {
        if (given.is_from(Source::Node)) (given.value ? known : missing) = true;
      }
    }
    return (missing || no_file) && !known && (!by_file || no_file);
  }

  // True if its Binding gave values, and none to pods as this: the policy was changed since its CREATE, or is
  // another.
  [[nodiscard]] bool was_edited_away() const {
    return (record_.bound->policy != record_.status->policy ||
            record_.bound->generation != record_.status->generation) &&
           record_.reason_at_binding(variable::kIbHca).empty();
  }

  // True if the node's kubelet does not read what comes by EnvFile.
  [[nodiscard]] bool is_unread() const { return record_.bound && !record_.bound->env_file.empty(); }

  void tell_unread() {
    answer_.reason = parse_reason(record_.bound->env_file);
    set(PodState::MissedAtBinding,
        "The pod's variables are empty on node " + record_.node + ": " +
            (answer_.reason ? std::string(meaning(*answer_.reason)) : record_.bound->env_file),
        answer_.reason ? std::string(remedy(*answer_.reason)) : std::string(), Code::MissedAtBinding);
  }

  // Names the values, and whose they are.
  void tell_foreign() {
    std::set<std::string> names;
    for (const GivenContainer& container : record_.containers) {
      for (const Value* given : container.effective()) {
        if (given->state == State::Foreign) names.insert(given->name);
      }
    }
    answer_.reason.reset();
    set(PodState::Foreign,
        "Values that the pod reads are not its own, " + join(names) + ": " + record_.foreign + ".", kTakeOut,
        Code::Foreign);
  }

  void tell_missed_binding() {
    if (record_.bound)
      answer_.reason =
          record_.bound->reason.empty() ? Reason::PolicyChanged : parse_reason(record_.bound->reason);
    set(PodState::MissedAtBinding,
        "The pod was bound to node " + record_.node + " without values of it, so the variables" +
            (record_.file ? " and files" : "") +
            " that read them are empty and NCCL takes its defaults: " + why_missed(),
        create_anew(record_), Code::MissedAtBinding);
  }

  // Returns the reason that the Binding left in the pod, else a reason that holds today and may explain it.
  [[nodiscard]] std::string why_missed() const {
    const std::string policy = "policy " + record_.status->policy;
    if (answer_.reason == Reason::PolicyChanged)
      return policy + ", by which it was created, was changed before, and gives pods of its kind none.";
    if (record_.bound) {
      const std::string why = answer_.reason ? std::string(meaning(*answer_.reason)) : std::string();
      return policy + ", by which it was created, was gone by then, and no other policy gave any. " + why;
    }
    if (around_.namespace_policy && around_.namespace_policy->empty())
      return "its namespace has lost the label nccl-env.io/policy, without which no webhook is asked.";
    if (around_.policy_problem) return "no policy gave any. " + around_.policy_detail;
    if (around_.policy && around_.policy->mode == PolicyMode::DryRun)
      return "policy " + around_.policy->name + " is in mode DryRun, or no webhook answered for the Binding.";
    return "no webhook answered for the Binding.";
  }

  [[nodiscard]] std::string resolver_log() const {
    return "`kubectl logs " + record_.argument() + " -c nccl-env-resolve` may tell more";
  }

  void tell_start(const GivenFile& file) {
    using enum GivenFile::State;
    const std::string why = file.detail.empty() ? "" : " (" + file.detail + ")";
    const std::string without =
        resolver_log() +
        "; the label nccl-env.io/resolve=Binding on the namespace does without that container.";
    if (file.state == Waiting)
      return set(
          PodState::NotStarted,
          "The pod's init container nccl-env-resolve, which writes its values, has not ended yet" + why + ".",
          !file.stuck    ? std::string()
          : file.crashes ? without
                         : kResolverRemedy,
          file.stuck ? std::optional(Code::HeldBack) : std::nullopt);
    if (file.state == Failed && file.stuck)
      return set(PodState::NotStarted,
                 "The pod does not start: its init container nccl-env-resolve failed" + why + ".", without,
                 Code::HeldBack);
    if (file.state == Failed)
      return set(PodState::Given,
                 "The pod found none of its node's values: nccl-env-resolve failed" + why + ".",
                 resolver_log() + ".", Code::LookFailed);
    if (file.state == Foreign)
      return set(PodState::Given,
                 "The pod has what policy " + record_.status->policy +
                     " gives it; what it found itself is not known: the message of nccl-env-resolve " +
                     (file.detail.empty() ? "is not one that nccl-env writes." : "is missing."),
                 "`kubectl logs " + record_.name +
                     " -c nccl-env-resolve` may tell more; the container's /etc/nccl.conf has the values.");
    tell_given();
    if (file.cut)
      answer_.sentence +=
          " What it found itself is known in part: the kubelet cut the message of nccl-env-resolve.";
  }

  // True if the policy matches the pod, and what is its user's own leaves nothing to give.
  [[nodiscard]] bool keeps_own() const {
    const GivenContainer* main = record_.main_container();
    if (!main) return false;
    const auto is_given = [](const Value* value) {  // or was to be, and its node has none
      return value->state != State::Users && value->name != variable::kConfFile;
    };
    const auto given = main->effective();
    return std::ranges::none_of(given, is_given) &&
           std::ranges::any_of(main->omitted, [](const auto& omitted) { return is_users(omitted.second); });
  }

  void tell_given() {
    const bool lacks = std::ranges::any_of(record_.containers, [&](const GivenContainer& container) {
      const auto given = container.effective();
      return std::ranges::any_of(given, [&](const Value* value) {
        const std::string missing = record_.reason_missing(*value);
        const std::optional<Reason> reason = parse_reason(missing);
        return reason ? !is_left_to_nccl(*reason) && reason != Reason::InfiniBand : !missing.empty();
      });
    });
    const std::string &created = record_.status->policy, bound = record_.bound ? record_.bound->policy : "";
    if (keeps_own())
      return set(PodState::OwnValues, "The pod keeps values of its own: policy " + created + " adds none.");
    set(PodState::Given, lacks ? "The pod has what its node can give; some values it can't give."
                         : bound.empty() || bound == created
                             ? "The pod has what policy " + created + " gives it."
                             : "The pod has what policy " + created + " gave it when it was created, and " +
                                   bound + " when it was bound.");
  }

  const Pod& pod_;
  const PodRecord& record_;
  const PodSurroundings& around_;
  PodAnswer answer_;
  const FindingSink told_{{.kind = "Pod", .name_space = record_.name_space, .name = record_.name},
                          answer_.findings};
};

}  // namespace

PodAnswer answer_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings) {
  return Answerer(pod, record, surroundings).answer();
}

}  // namespace nccl_env
