// SPDX-License-Identifier: Apache-2.0
// Long because each state of a pod has its sentence here, and all of them their order.
#include "nccl_env/core/explain/pod_answer.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "decide/process_limits.h"
#include "decide/wanted.h"
#include "engines/nccl/interfaces.h"
#include "explain/judgement.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {

namespace {

// Returns what the node would give to the pod today; nothing where that is not known.
std::optional<NodeValues> values_today(const PodRecord& record, const PodSurroundings& around) {
  const Exposure exposure = record.status->exposure.value_or(Exposure::PodOwned);
  if (!around.table_known) return std::nullopt;
  const BindingPlan plan = plan_binding(around.policy, record.node, around.table.get(), around.context);
  // A value that a pod found itself depends on more than its node's table; constants do not.
  return values_for(plan, record.starts_itself() ? Exposure::PodOwned : exposure, record.host_network);
}

class Comparison {
 public:
  Comparison(const PodRecord& record, const PodSurroundings& around)
      : at_start_(record.starts_itself()),
        file_known_(record.file && record.file->state == GivenFile::State::Known && !record.file->cut),
        unread_(record.bound && !record.bound->env_file.empty()),
        table_(around.table.get()),
        node_(values_today(record, around)),
        constants_only_(at_start_ ||
                        record.status->exposure.value_or(Exposure::PodOwned) == Exposure::PodOwned),
        wishes_(make_wishes(*around.policy, record.status->exposure.value_or(Exposure::PodOwned),
                            record.host_network, at_start_ ? Finder::Pod : Finder::Node, {},
                            gives_nvshmem(record))) {}

  void compare(const GivenContainer& container, std::vector<Change>& into) const {
    for (const Value& wish : wishes_) {
      if (!is_comparable(wish, container)) continue;
      const Value* given = container.find(wish.name);
      if (!given && wish.name == variable::kNvshmemHcaList) continue;  // it did not ask for it
      // A variable that the user sets, or that was left to the user, does not change.
      if (given ? given->state == State::Users : is_users(container, wish.name)) continue;
      if (given && (given->state == State::Later || (given->by_file_key && unread_))) continue;
      add(container, given, held_value(wish, node_ ? *node_ : none_), into);
    }
    for (const Value* given : container.effective()) {
      if (!find_named(wishes_, given->name) && is_comparable(*given))
        add(container, given, left_out(given->name, Reason::OmittedByPolicy), into);
    }
  }

 private:
  // A record does not tell which container asks for NVSHMEM, but which has its list of us.
  [[nodiscard]] static bool gives_nvshmem(const PodRecord& record) {
    return std::ranges::any_of(record.containers, [](const GivenContainer& container) {
      const Value* list = container.find(variable::kNvshmemHcaList);
      return list && list->state != State::Users;
    });
  }

  // Two kinds of values are not compared: those that a pod finds itself, and those of a file that the
  // container does not read or that could not be written.
  [[nodiscard]] bool is_comparable(const Value& wish, const GivenContainer& container) const {
    if (wish.source == Source::Pod || (wish.source == Source::Node && !node_)) return false;
    if (!at_start_ || wish.in_env) return true;
    if (wish.state == State::LeftOut) {
      const Value* given = container.find(wish.name);
      return given && given->is_from(Source::Policy);
    }
    return file_known_ && container.reads_file && wish.name != variable::kSocketIfname;
  }

  // The same for a value that today's policy does not name.
  [[nodiscard]] bool is_comparable(const Value& given) const {
    if (given.state == State::Users || given.state == State::Later) return false;
    if (given.name == variable::kConfFile || given.value == conf_file::kFolder)
      return false;  // our own files
    if (given.source == Source::Policy || (node_ && !constants_only_)) return true;
    // A line of a file is a constant if it comes from no node.
    return !given.is_from(Source::Node) && given.value && !is_found(given.name);
  }

  // True for a variable that a node or a pod gives.
  [[nodiscard]] static bool is_found(std::string_view name) {
    const auto all = node_variables();
    return std::ranges::find(all, name) != all.end();
  }

  [[nodiscard]] static bool is_users(const GivenContainer& container, std::string_view name) {
    const auto omitted = container.omitted.find(name);
    if (omitted == container.omitted.end()) return false;
    const auto reason = parse_reason(omitted->second);
    return reason == Reason::UserSet || reason == Reason::UserSetGroup || reason == Reason::DisabledByUser ||
           reason == Reason::EnvFromPresent || reason == Reason::ConfPresent ||
           reason == Reason::ConfOccupied || reason == Reason::PodRailsUnknown ||
           reason == Reason::EnginesUnavailable;
  }

  void add(const GivenContainer& container, const Value* given, Value today,
           std::vector<Change>& into) const {
    Change change{{container.name}, given ? given->value : std::nullopt, std::move(today)};
    const auto& now = change.now.value;
    const bool lists = table_ && change.now.name == variable::kIbHca && change.then && now;
    const bool same = lists ? same_hca_list(*change.then, *now, *table_) : change.then == now;
    if (!same) into.push_back(std::move(change));
  }

  const bool at_start_;
  const bool file_known_;
  const bool unread_;  // what comes by EnvFile is empty, whatever the node gives
  const NodeFabric* const table_;
  const std::optional<NodeValues> node_;
  const NodeValues none_;
  const bool constants_only_;  // for a pod with devices of its own, or one that finds its values
  const std::vector<Value> wishes_;
};

// Beside a value of the user's own stands what its node would give.
void add_beside_users(const PodRecord& record, const NodeValues& node, const NodeFabric* table,
                      std::map<std::string, std::string, std::less<>>& details) {
  const GivenContainer* container = record.main_container();
  if (!container || !container->in_status) return;
  for (const Value& own : container->values) {
    const auto value = node.set.find(own.name);
    if (own.state != State::Users || !own.value || value == node.set.end()) continue;
    const bool same = own.name == variable::kIbHca && table ? same_hca_list(*own.value, value->second, *table)
                                                            : *own.value == value->second;
    if (!same) details.insert_or_assign(own.name, "the node's: " + value->second);
  }
}

// Returns the values that a pod of this shape would get differently today, by comparing the node's values of
// today with those that the pod was given. Returns none if policy or table is not known.
std::vector<Change> changes_since(const PodRecord& record, const PodSurroundings& surroundings) {
  std::vector<Change> changes;
  if (!record.status || record.node.empty() || !surroundings.policy) return changes;
  const Comparison comparison(record, surroundings);
  for (const GivenContainer& container : record.containers) {
    if (container.in_status) comparison.compare(container, changes);
  }
  return changes;
}

// For PodAnswer::details.
std::map<std::string, std::string, std::less<>> details_today(const PodRecord& record,
                                                              const PodSurroundings& surroundings) {
  std::map<std::string, std::string, std::less<>> details;
  if (!record.status || record.node.empty() || !surroundings.policy) return details;
  const auto node = values_today(record, surroundings);
  if (!node) return details;
  for (const Value& omission : node->omitted) {
    if (record.reason_at_binding(omission.name) == to_string(*omission.reason))
      details.emplace(omission.name, omission.detail);
  }
  details.insert(node->why.begin(), node->why.end());
  add_beside_users(record, *node, surroundings.table.get(), details);
  return details;
}

// Notes: sentences beside the answer.
void add_notes_of_binding(const PodRecord& record, const PodSurroundings& around,
                          const std::vector<Change>& changes, std::vector<std::string>& notes) {
  const StatusNote& status = *record.status;
  const NodeNote& bound = *record.bound;
  if (bound.reason.empty() && record.foreign.empty() &&
      (bound.policy != status.policy || bound.generation != status.generation)) {
    notes.push_back("At Binding it was policy " + bound.policy + ", generation " +
                    std::to_string(bound.generation) + ": the policy was changed in between.");
  }
  if (around.table_known && around.table && around.table->time && !bound.table.empty()) {
    const std::string now = format_timestamp(*around.table->time);
    if (now != bound.table && changes.empty() && around.policy)
      notes.push_back("The node's table is of " + now + " today, and gives the same values.");
  }
}

std::vector<std::string> notes_of(const PodRecord& record, const PodSurroundings& around,
                                  const std::vector<Change>& changes) {
  std::vector<std::string> notes;
  for (const std::string& key : record.unreadable)
    notes.push_back("The annotation " + key + " holds what nccl-env never writes; it is not read.");
  if (record.ending) notes.emplace_back("The pod is being deleted.");
  const auto fallback = record.status ? parse_reason(record.status->fallback) : std::nullopt;
  if (fallback) notes.push_back(std::string(to_string(*fallback)) + ": " + std::string(meaning(*fallback)));
  if (!record.status) {
    if (record.reads_node())
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
  if (record.bound && !record.starts_itself()) add_notes_of_binding(record, around, changes, notes);
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

// One channel's buffers of NCCL's are 4 MiB and more (NCCL_BUFFSIZE), and a rank has several; kernels
// from 5.16 on give 8 MiB, older ones 64 KiB.
constexpr std::int64_t kEnoughLocked = 64 << 20;

constexpr std::size_t kMostChanges = 4;  // that one sentence names

// True for a value that finds one of the interfaces or lo, and for one that names no interface.
bool finds_interface(const Value& given, const std::vector<std::string>& has) {
  if (given.name == variable::kSocketIfname) {
    const NcclNameList list = parse_nccl_name_list(*given.value, kNewestNccl, kNcclMaxInterfaces);
    const auto selected = [&](std::string_view interface) { return list.selects(interface, -1); };
    return selected("lo") || std::ranges::any_of(has, selected);
  }
  if (given.name != "UCX_NET_DEVICES" || given.state == State::Users) return true;
  const std::vector<std::string_view> entries = entries_of(*given.value);  // NAME:PORT is an HCA
  const auto is_absent = [&](std::string_view entry) {
    return entry.find(':') == std::string_view::npos && std::ranges::find(has, entry) == has.end();
  };
  return std::ranges::none_of(entries, is_absent);
}

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
    } else if (is_unread() && lacks_node_values()) {
      tell_unread();
    } else if ((!record_.bound || !record_.bound->reason.empty()) && lacks_node_values()) {
      tell_missed_binding();
    } else if (record_.file && record_.file->at_start) {
      tell_start(*record_.file);
    } else {
      tell_given();
    }
    const std::string otherwise = answer_.state == PodState::NotInjected ? answer_.sentence : std::string();
    if (!record_.foreign.empty()) tell_foreign();
    if (record_.status && !record_.node.empty()) add_changes();
    add_selections();
    answer_.notes = notes_of(record_, around_, answer_.changes);
    if (around_.table) add_lost_index();
    judge();
    tell_verdict();
    if (!record_.foreign.empty() && !otherwise.empty()) answer_.notes.push_back(otherwise);
    return std::move(answer_);
  }

 private:
  void set(PodState state, std::string sentence, std::string remedy = {}, std::optional<Code> found = {}) {
    answer_.state = state;
    answer_.sentence = std::move(sentence);
    answer_.remedy = std::move(remedy);
    answer_.findings.clear();
    if (found) add_finding(*found, Severity::Error, answer_.sentence, answer_.remedy);
  }
  void add_finding(Code code, Severity severity, std::string sentence, std::string remedy = {}) {
    answer_.findings.push_back({code, severity, subject(), std::move(sentence), std::move(remedy)});
  }

  void skip(Reason reason, const std::string& detail) {
    answer_.reason = reason;
    set(PodState::NotInjected, detail.empty() ? std::string(meaning(reason)) : detail,
        std::string(remedy(reason)));
  }

  void tell_absence() {
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
    if (!plan.inject && plan.reason.value_or(Reason::NotRdma) == Reason::NotRdma) {
      skip(Reason::NotRdma, plan.detail);
      answer_.remedy = unmatched_remedy(pod_, *around_.policy, nullptr);
      return;
    }
    if (!plan.inject) return skip(*plan.reason, plan.detail);
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
        std::string("Ask someone who may read ") + (around_.namespace_policy ? "" : "namespaces and ") +
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
                 "The scheduler tries again by itself once the node's table is right.", Code::HeldBack);
    }
    if (of_ours) {
      return set(PodState::WaitingForNode,
                 "The pod is held back, because no webhook answers for its Binding: " + word,
                 "Look after the webhook (nccl-env doctor does not); the scheduler tries again by itself.",
                 Code::HeldBack);
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
    if (record_.bound) answer_.reason = parse_reason(record_.bound->reason);
    set(PodState::MissedAtBinding,
        "The pod was bound to node " + record_.node + " without values of it, so the variables" +
            (record_.file ? " and files" : "") +
            " that read them are empty and NCCL takes its defaults: " + why_missed(),
        create_anew(record_), Code::MissedAtBinding);
  }

  // Returns the reason that the Binding left in the pod, else a reason that holds today and may explain it.
  [[nodiscard]] std::string why_missed() const {
    const std::string policy = "policy " + record_.status->policy;
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

  void tell_start(const GivenFile& file) {
    const std::string why = file.detail.empty() ? "" : " (" + file.detail + ")";
    switch (file.state) {
      case GivenFile::State::Waiting:
        return set(PodState::NotStarted,
                   "The pod's init container nccl-env-resolve, which writes its values, has not ended yet" +
                       why + ".",
                   file.stuck ? kResolverRemedy : "",
                   file.stuck ? std::optional(Code::HeldBack) : std::nullopt);
      case GivenFile::State::Failed:
        if (file.stuck) {
          return set(PodState::NotStarted,
                     "The pod does not start: its init container nccl-env-resolve failed" + why + ".",
                     kResolverRemedy, Code::HeldBack);
        }
        return set(
            PodState::Given, "The pod found none of its node's values: nccl-env-resolve failed" + why + ".",
            "`kubectl logs " + record_.name + " -c nccl-env-resolve` may tell more.", Code::LookFailed);
      case GivenFile::State::Foreign:
        return set(PodState::Given,
                   "The pod has what policy " + record_.status->policy +
                       " gives it; what it found itself is not known: the message of nccl-env-resolve " +
                       (file.detail.empty() ? "is not one that nccl-env writes." : "is missing."),
                   "`kubectl logs " + record_.name +
                       " -c nccl-env-resolve` may tell more; the container's /etc/nccl.conf has the values.");
      default:
        tell_given();
        if (file.cut)
          answer_.sentence +=
              " What it found itself is known in part: the kubelet cut the message of nccl-env-resolve.";
    }
  }

  void tell_given() {
    const bool lacks = std::ranges::any_of(record_.containers, [&](const GivenContainer& container) {
      const auto given = container.effective();
      return std::ranges::any_of(given,
                                 [&](const Value* value) { return !record_.reason_missing(*value).empty(); });
    });
    set(PodState::Given, lacks ? "The pod has what its node can give; some values it can't give."
                               : "The pod has what policy " + record_.status->policy + " gives it.");
  }

  void add_changes() {
    answer_.details = details_today(record_, around_);
    answer_.changes = changes_since(record_, around_);
    // Where the node gives a value today, today's reason does not explain what the pod has.
    for (const Change& change : answer_.changes) {
      if (change.now.value) answer_.details.erase(change.now.name);
    }
    if (answer_.changes.empty()) return;
    add_finding(Code::ChangedSinceBound, Severity::Warning,
                "Changed since the pod was bound: " +
                    join_some(answer_.changes, kMostChanges,
                              [](const Change& change) { return change_text(change); }) +
                    ".",
                remedy_of_changes(answer_.changes));
  }

  void add_lost_index() {
    const std::string lost = lost_index(record_, *around_.table);
    if (lost.empty()) return;
    add_finding(Code::GidIndexMoved, Severity::Error,
                lost + " since the pod was bound: new connections fail.",
                "Create the pod anew, at best the whole job at once.");
  }

  [[nodiscard]] Subject subject() const {
    return {.kind = "Pod", .name_space = record_.name_space, .name = record_.name};
  }

  // Judges the user's own values, and what NCCL makes of all of them on the node as it is now.
  void judge() {
    auto& findings = answer_.findings;
    for (const GivenContainer& container : record_.containers) {
      if (record_.status && !container.in_status) continue;
      for (const Value& own : container.values) {
        if (own.state == State::Users && own.value) judge_setting(own.name, *own.value, subject(), findings);
      }
    }
    if (answer_.state == PodState::Given && !record_.is_finished()) {
      for (const GivenContainer& container : record_.containers) {
        if (container.in_status && container.name != conf_file::kResolver) judge_choice(container);
      }
      judge_limits();
      judge_left_out();
      judge_short_list();
      add_short_lists(answer_.engines, subject(), findings);
      judge_interfaces();
    }
    sort_findings(findings);
  }

  // Judges what NCCL makes of all values of the container on the node as it is now.
  void judge_choice(const GivenContainer& container) {
    const std::optional<Environments> env = environments_of(container);
    if (!env || !env->known) return;
    std::vector<Finding> now = judge_selection(select(env->with_us, env->notes), subject());
    const Value* list = container.find(variable::kIbHca);
    // A pod that looked itself knows its devices better than its node's table does.
    if (list && list->is_from(Source::Pod)) {
      std::erase_if(now, [](const Finding& finding) {
        return finding.code == Code::NoSuchDevice || finding.code == Code::FellBack;
      });
    }
    const bool users = list && list->state == State::Users;
    for (Finding& finding : now) {
      if (finding.code == Code::ListNotExact && list && !users) finding.remedy = kInexactRemedy;
    }
    tell_fallback(users, nullptr, now);
    answer_.findings.insert(answer_.findings.end(), now.begin(), now.end());
  }

  // Ports of the fabric that were down when the pod was bound, and still are.
  void judge_left_out() {
    const GivenContainer* container = in_status();
    const Value* list = container ? container->find(variable::kIbHca) : nullptr;
    if (!list || !list->is_from(Source::Node) || !around_.table || !around_.policy ||
        !record_.status->exposure)
      return;
    add_left_out_ports(*around_.table, *around_.policy, *record_.status->exposure, around_.context.now,
                       subject(), answer_.findings);
  }

  // A user's own list of fewer HCAs than the node's fabric has may be meant so.
  void judge_short_list() {
    const GivenContainer* container = in_status();
    const Value* own = container ? container->find_in_env(variable::kIbHca) : nullptr;
    if (!own || own->state != State::Users || !answer_.nccl_with_us || record_.node.empty()) return;
    const auto node = around_.policy ? values_today(record_, around_) : std::nullopt;
    if (!node) return;
    const auto list = node->set.find(variable::kIbHca);
    if (list != node->set.end())
      add_short_list(*answer_.nccl_with_us, list->second, subject(), answer_.findings);
  }

  // A pod's own network need not be called eth0. Only Multus writes down how it is called.
  void judge_interfaces() {
    const GivenContainer* container = in_status();
    const std::vector<std::string> has = interfaces_of(pod_);
    if (!container || has.empty()) return;
    for (const Value* given : container->effective()) {
      if (!given->value || finds_interface(*given, has)) continue;
      add_finding(Code::NoInterface, Severity::Warning,
                  given->name + "=" + *given->value +
                      " names no interface that the pod's networks brought: " + join_some(has, kMostChanges) +
                      " (annotation k8s.v1.cni.cncf.io/network-status)");
      answer_.findings.back().subject.path = given->name;
    }
  }

  // Limits stop no pod by themselves where they are not known: the runtime may have lifted them.
  void judge_limits() {
    std::vector<bool> ours;
    for (const Container& container : pod_.containers) {
      ours.push_back(std::ranges::any_of(record_.containers, [&](const GivenContainer& given) {
        return given.in_status && given.name == container.name;
      }));
    }
    add_device_problem(pod_, ours, subject(), answer_.findings);
    if (std::string text = shared_memory_problem(pod_, ours); !text.empty())
      add_finding(Code::SharedMemory, Severity::Info, std::move(text));
    std::string text = memory_lock_problem(pod_, ours);
    const auto limit = record_.file ? record_.file->memory_lock : std::nullopt;
    if (text.empty() || limit == -1) return;
    if (!limit) return add_finding(Code::MemoryLock, Severity::Info, text.append(kUnlessLifted));
    const bool low = *limit < kEnoughLocked;
    text += ", and the memlock limit in the pod is " + std::to_string(*limit / 1024) + " KiB" +
            (low ? ": memory cannot be registered for RDMA" : "");
    add_finding(Code::MemoryLock, low ? Severity::Warning : Severity::Info, std::move(text));
  }

  // The worst finding is the answer's sentence.
  void tell_verdict() {
    if (answer_.state != PodState::Given) return;
    const GivenContainer* container = in_status();
    const bool own_devices = record_.status->exposure == Exposure::PodOwned;
    answer_.node_unseen = container && !own_devices && !around_.table && !record_.is_finished();
    if (!is_good(answer_.findings)) {
      answer_.sentence = answer_.findings.front().sentence;
      answer_.remedy = remedy_of(answer_.findings.front());
    } else if (answer_.node_unseen) {
      answer_.sentence += " Whether NCCL can use it on node " + record_.node + " now is not known: " +
                          (around_.table_known             ? "there is no NodeFabric of that node"
                           : around_.table_problem.empty() ? "its table was not read"
                                                           : around_.table_problem) +
                          ".";
    }
  }

  [[nodiscard]] const GivenContainer* in_status() const {
    const GivenContainer* container = record_.main_container();
    return container && container->in_status ? container : nullptr;
  }

  // True if the file's content is known, also if it is empty.
  [[nodiscard]] static bool is_told(const GivenFile& file) {
    const bool failed = file.state == GivenFile::State::Failed && !file.stuck;
    return (file.state == GivenFile::State::Known && !file.cut) || file.state == GivenFile::State::Missing ||
           failed;
  }

  void add_engines(const NodeFabric& seen, const Container& own, const NcclEnv& alone,
                   const NcclEnv* with_us) {
    const auto node = record_.node.empty() ? std::nullopt : values_today(record_, around_);
    answer_.engines = engine_choices(*around_.policy, seen, own, alone, with_us, node ? &*node : nullptr);
  }

  // The variables of a container: the user's alone, and all; `known` if those are all that it has.
  struct Environments {
    NcclEnv alone, with_us;
    std::vector<std::string> notes;
    bool known = false;
  };

  // Nothing where the node's table does not tell what the container sees.
  [[nodiscard]] std::optional<Environments> environments_of(const GivenContainer& container) const {
    if (!around_.table || !record_.status || !record_.status->exposure ||
        *record_.status->exposure == Exposure::PodOwned)
      return std::nullopt;
    Environments env;
    const auto values = container.effective();
    for (const Value* given : values) {
      if (given->value) {
        env.with_us.insert_or_assign(given->name, *given->value);
        if (given->state == State::Users) env.alone.insert_or_assign(given->name, *given->value);
      } else if (given->state == State::Users) {
        env.notes.push_back(note_elsewhere(given->name));
      }
    }
    if (container.env_from) env.notes.emplace_back(kNoteEnvFrom);
    env.known = (!container.reads_file || is_told(*record_.file)) &&
                std::ranges::find(values, State::Later, &Value::state) == values.end();
    return env;
  }

  [[nodiscard]] NodeFabric seen() const {
    return seen_in_pod(*around_.table, *record_.status->exposure, record_.host_network);
  }
  [[nodiscard]] NcclSelection select(const NcclEnv& env, const std::vector<std::string>& notes) const {
    return nccl_in_pod(seen(), env, *record_.status->exposure, record_.host_network, around_.version, notes);
  }

  void add_selections() {
    const GivenContainer* container = in_status();
    const std::optional<Environments> env = container ? environments_of(*container) : std::nullopt;
    if (!env) return;
    answer_.nccl_alone = select(env->alone, env->notes);
    if (env->known) answer_.nccl_with_us = select(env->with_us, env->notes);
    if (!around_.policy) return;
    const auto own = std::ranges::find(pod_.containers, container->name, &Container::name);
    if (own != pod_.containers.end())
      add_engines(seen(), *own, env->alone, env->known ? &env->with_us : nullptr);
  }

  const Pod& pod_;
  const PodRecord& record_;
  const PodSurroundings& around_;
  PodAnswer answer_;
};

}  // namespace

std::string_view to_string(PodState state) {
  constexpr std::array<std::string_view, 8> kNames{
      "given",   "waiting",     "not injected", "missed at admission", "missed at Binding",
      "foreign", "not started", "not known"};
  return name_in(kNames, state);
}

PodAnswer answer_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings) {
  return Answerer(pod, record, surroundings).answer();
}

}  // namespace nccl_env
