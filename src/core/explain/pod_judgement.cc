// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: one class has the rules of one pod, which share what is read, planned and chosen of it.
#include "explain/pod_judgement.h"

#include <algorithm>
#include <cctype>

#include "decide/match.h"
#include "decide/process_limits.h"
#include "engines/nccl/interfaces.h"
#include "explain/judgement.h"
#include "explain/pod_changes.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/explain/meant_choice.h"
#include "nccl_env/core/explain/selection_print.h"
#include "nccl_env/core/findings/explains.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {
namespace {

// One channel's buffers of NCCL's are 4 MiB and more (NCCL_BUFFSIZE), and a rank has several; kernels
// from 5.16 on give 8 MiB, older ones 64 KiB.
constexpr std::int64_t kEnoughLocked = 64 << 20;

constexpr std::size_t kMostChanges = 4;  // that one sentence names

// For a list that nccl-env gave: the node has lost what it had at the Binding.
constexpr const char* kCardsRemedy =
    "A card that the node had is gone or renamed: `nccl-env doctor` says which. Cordon the node until it is "
    "back, and create the pod anew, on another.";

constexpr const char* kLaterWebhook =
    "Look for a webhook that changes pods after nccl-env's, and create the pod anew.";

constexpr const char* kNoteOwnRows =
    "The pod's sub-interface has GID rows of its own, which are not known before it starts.";

NodeFabric seen_in_pod(const NodeFabric& table, Exposure exposure, bool host_network) {
  NodeFabric seen = table;
  if (!host_network) seen.interfaces.reset();
  if (exposure == Exposure::Host) return seen;
  for (Port& port : seen.ports) {
    port.link_layer = link_layer_of(port);
    if (port.link_layer == LinkLayer::InfiniBand) continue;  // every process sees these GIDs
    if (!port.transport && is_roce(port)) port.transport = Transport::RoCE;
    port.gids.reset();
    port.gid_table_length.reset();
  }
  return seen;
}

NcclSelection nccl_in_pod(const NodeFabric& seen, const NcclEnv& env, Exposure exposure, bool host_network,
                          const NcclVersion& version, const std::vector<std::string>& notes) {
  const bool own_rows = exposure == Exposure::SubInterface;
  NcclSelection selection = nccl_select(seen, env, version, {!own_rows, host_network});
  if (own_rows && selection.needs_rows) selection.notes.emplace_back(kNoteOwnRows);
  selection.notes.insert(selection.notes.begin(), notes.begin(), notes.end());
  return selection;
}

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

// Tells of a container that has GPUs and gets nothing, where those that get values (`ours`) have none.
void add_rank_outside(const Pod& pod, const std::vector<bool>& ours, const Subject& of,
                      std::vector<Finding>& into) {
  const Container *outside = nullptr, *inside = nullptr;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const bool has_gpu = asks_for_processor(pod.containers[i]);
    if (ours[i] && has_gpu) return;
    if (ours[i] && !inside) inside = &pod.containers[i];
    if (has_gpu && !outside) outside = &pod.containers[i];
  }
  if (!outside || !inside) return;
  into.push_back({Code::NoList, Severity::Warning, of,
                  "Container " + printable(outside->name) +
                      " has the GPUs and gets nothing: the RDMA resource is asked for by container " +
                      printable(inside->name) + ".",
                  "Ask for the RDMA resource in the container that runs the ranks."});
}

constexpr const char* kNoteEnvFrom =
    "The container's envFrom may hold further variables, which are not known here.";

class Judge {
 public:
  Judge(const Pod& pod, const PodRecord& record, const PodSurroundings& around, PodAnswer& answer)
      : pod_(pod), record_(record), around_(around), answer_(answer) {
    if (around_.table && is_stale(around_.table->time, around_.context))
      aged_ = without_states(*around_.table);
    if (around_.policy && record_.status) plan_ = plan_pod(pod_, *around_.policy, {}, around_.claims);
    const bool bound = plan_ && around_.table_known && !record_.node.empty();
    if (!around_.exists && bound)
      binding_ = plan_binding(around_.policy, record_.node, around_.table.get(), around_.context);
  }

  void run() {
    if (around_.exists && around_.table) add_lost_index();
    if (record_.status && !record_.node.empty()) add_changes();
    if (answer_.state == PodState::Given && !record_.trouble.empty()) add_failed();
    add_selections();
    judge();
    tell_verdict();
  }

 private:
  void add_finding(Code code, Severity severity, std::string sentence, std::string remedy = {}) {
    answer_.findings.push_back({code, severity, subject(), std::move(sentence), std::move(remedy)});
  }

  void add_changes() {
    answer_.details = details_today(record_, around_);
    if (!around_.exists) return;
    answer_.changes = changes_since(record_, around_);
    // Where the node gives a value today, today's reason does not explain what the pod has.
    for (const Change& change : answer_.changes) {
      if (change.now.value) answer_.details.erase(change.now.name);
    }
    std::vector<Change> constants, of_node;
    for (const Change& change : answer_.changes) {
      if (index_lost_ && change.now.name == variable::kIbGidIndex) continue;
      (is_constant(change.now.name) ? constants : of_node).push_back(change);
    }
    add_changed(of_node, Severity::Warning);
    add_changed(constants, Severity::Info);  // all ranks have the same, as long as all are of one generation
  }
  void add_changed(const std::vector<Change>& changes, Severity severity) {
    if (changes.empty()) return;
    const auto text = [](const Change& change) { return change_text(change); };
    add_finding(Code::ChangedSinceBound, severity,
                "Changed since the pod was bound: " + join_some(changes, kMostChanges, text) + ".",
                remedy_of_changes(changes));
  }

  void add_lost_index() {
    const std::string lost = lost_index(record_, *around_.table);
    index_lost_ = !lost.empty();
    if (!index_lost_) return;
    add_finding(Code::GidIndexMoved, Severity::Error,
                lost + " since the pod was bound: new connections fail.", remedy_of_lost_index());
  }

  // A node that gives no index today gives none to a new pod.
  [[nodiscard]] std::string remedy_of_lost_index() const {
    std::string anew = "Create the pod anew, at best the whole job at once.";
    const auto node = around_.policy ? values_today(record_, around_) : std::nullopt;
    const Value* omitted = node ? node->omission(variable::kIbGidIndex) : nullptr;
    if (!omitted || !omitted->reason) return anew;
    return "The node gives no index now (" + std::string(to_string(*omitted->reason)) +
           "): " + std::string(remedy(*omitted->reason)) + " " + anew;
  }

  void add_failed() {
    std::string sentence = record_.trouble + ".";
    sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
    add_finding(Code::PodFailed, Severity::Warning, std::move(sentence), record_.trouble_remedy());
  }

  // Another webhook, or a person, may take out of a pod what ours has put in.
  void judge_lost(const GivenContainer& container) {
    if (!container.replaced.empty()) {
      add_finding(Code::ValueOverridden, Severity::Error,
                  "Container " + printable(container.name) +
                      " has a value in env that was not there when nccl-env "
                      "gave it one by file: " +
                      join_some(container.replaced, kMostChanges) + ".",
                  kLaterWebhook);
    }
    if (container.lost.empty()) return;
    add_finding(Code::ValueOverridden, Severity::Error,
                "Container " + printable(container.name) + " lacks what the pod's status lists, " +
                    join_some(container.lost, kMostChanges) +
                    ": neither its env nor a file of nccl-env's is in the pod.",
                kLaterWebhook);
  }

  // The reason for which the container has no list, and its sentence where that is known; "" and "" where it
  // has one, chose so, or another finding tells it.
  [[nodiscard]] std::pair<std::string, std::string> why_no_list(const GivenContainer& container) const {
    const Value* list = container.find(variable::kIbHca);
    const std::string missing = list ? record_.reason_missing(*list) : std::string();
    const auto detail = answer_.details.find(variable::kIbHca);
    if (!missing.empty()) return {missing, detail == answer_.details.end() ? "" : detail->second};
    if (const Value* absent = absent_inside(list))
      return {std::string(to_string(*absent->reason)), absent->detail};
    const Value* rails = planned_omission(container, variable::kIbHca);
    if (list || !rails || rails->reason != Reason::PodRailsUnknown || has(Code::NoRail)) return {};
    return {std::string(to_string(*rails->reason)), rails->detail};
  }

  // The omission of a list that the pod is to find itself, and will not: it sees the node's devices by the
  // same rules, and none of them is the fabric. Null where that is not certain.
  [[nodiscard]] const Value* absent_inside(const Value* list) const {
    const bool later = list && !list->value && list->source == Source::Pod;
    const Value* omission = later ? omission_today(Exposure::SubInterface) : nullptr;
    return omission && omission->reason == Reason::NoFabricPort ? omission : nullptr;
  }

  // Why the node gives no list to what a template makes; null where it gives one or the exposure is another.
  [[nodiscard]] const Value* omission_today(Exposure exposure) const {
    if (!binding_ || record_.status->exposure != exposure) return nullptr;
    return values_of(*binding_, exposure).omission(variable::kIbHca);
  }

  [[nodiscard]] const Value* planned_omission(const GivenContainer& container, std::string_view name) const {
    if (!plan_) return nullptr;
    const auto found = std::ranges::find_if(plan_->containers, [&](const ContainerPlan& plan) {
      return pod_.containers[plan.position].name == container.name;
    });
    return found == plan_->containers.end() ? nullptr : find_named(found->omitted, name);
  }

  [[nodiscard]] bool has(Code code) const {
    return std::ranges::find(answer_.findings, code, &Finding::code) != answer_.findings.end();
  }

  // NCCL takes its own choice of devices where no list is given.
  void judge_no_list() {
    const GivenContainer* container = in_status();
    if (!container) return;
    const auto [name, detail] = why_no_list(*container);
    if (has(Code::HeldBack) || has(Code::FellBack) || name.empty()) return tell_no_port_of_node();
    const std::optional<Reason> reason = parse_reason(name);
    const std::string why = !detail.empty() ? detail : reason ? std::string(meaning(*reason)) : "";
    std::string then = reason ? std::string(remedy(*reason)) : std::string();
    const auto today = std::ranges::find_if(answer_.changes, [](const Change& change) {
      return change.now.name == variable::kIbHca && change.now.value;
    });
    const bool gives_today = today != answer_.changes.end();
    if (gives_today) then = "Create the pod anew: its node gives a list today.";
    add_no_list(name, why, then, true, subject(), answer_.findings);
    tell_no_port_of_node();
    if (!gives_today && around_.exists && reason && scope_of(*reason) == ReasonScope::Node)
      answer_.findings.back().remedy += " Then create the pod anew.";
  }

  void tell_no_port_of_node() {
    if (!around_.table || !around_.policy || !record_.status->exposure) return;
    tell_no_port(table(), *around_.policy, *record_.status->exposure, around_.context.now,
                 answer_.nccl_with_us ? &*answer_.nccl_with_us : nullptr, answer_.findings);
  }

  // The Binding of what a template makes is refused.
  void judge_refusal() {
    const Value* why =
        binding_ ? refusal_of(*binding_, consumed_exposure(pod_), reads_env_file(pod_)) : nullptr;
    if (!why) return;
    add_finding(Code::HeldBack, Severity::Error,
                "The policy says onUnresolved: Deny, so this node is refused (" +
                    std::string(to_string(*why->reason)) + "): " + why->detail,
                std::string(remedy(*why->reason)));
  }

  // The devices of a shared plugin stay outside of the pod, as the node's reason says.
  void judge_outside() {
    const Value* list = omission_today(Exposure::SubInterface);
    if (!list || list->reason != Reason::PodOwnsDevices) return;
    add_finding(Code::DeviceNotOpened, Severity::Warning,
                list->detail + " Those of a shared device plugin stay outside.",
                "Set the node to shared mode (rdma system set netns shared), or give the pod devices of its "
                "own by a plugin that moves them.");
  }

  // A shared device plugin brings devices and no GID. The policy may leave open whether the fabric is RoCE;
  // then the node's table tells it.
  void judge_rail() {
    const GivenContainer* container = in_status();
    const Value* list = container ? container->find(variable::kIbHca) : nullptr;
    if (!plan_ || !plan_->no_rail || record_.status->exposure != Exposure::SubInterface) return;
    if (list && list->value && list->is_from(Source::Pod)) return;  // the pod has seen its own
    if (!around_.policy->names(LinkLayer::Ethernet)) {
      const std::vector<const Port*> fabric = fabric_of_node();
      if (fabric.empty() || link_layer_of(*fabric.front()) != LinkLayer::Ethernet) return;
    }
    add_finding(Code::NoRail, Severity::Warning, std::string(words_of(Code::NoRail).meaning));
  }

  // The ports of the fabric behind a sub-interface; none where the table is not known.
  [[nodiscard]] std::vector<const Port*> fabric_of_node() const {
    if (!around_.table) return {};
    return choose_policy_ports(table(), *around_.policy, Exposure::SubInterface, around_.context.now).fabric;
  }

  // The pod's networks bring fewer rails than the policy expects, which the init container finds, too; or
  // than the node has, which may be meant.
  void judge_few_rails() {
    if (!plan_ || has(Code::NoList) || record_.status->exposure != Exposure::SubInterface) return;
    if (!plan_->few_rails.empty())
      return add_finding(Code::MissingRail, Severity::Warning, plan_->few_rails,
                         "Ask for a network of each rail, or correct expectPorts of the policy.");
    const NetworkMatch networks = match_networks(pod_, *around_.policy);
    const std::vector<const Port*> fabric = fabric_of_node();
    if (!networks.any || networks.rails == 0 || networks.rails >= fabric.size()) return;
    if (link_layer_of(*fabric.front()) == LinkLayer::InfiniBand) return;  // whose rails need no network
    add_finding(Code::MissingRail, Severity::Info,
                "The pod's networks bring " + std::to_string(networks.rails) + " of the node's " +
                    std::to_string(fabric.size()) + " rails.",
                "Ask for a network of each rail.");
  }

  // Where the reason is no longer the node's, what changed since tells it.
  void judge_no_interface() {
    const GivenContainer* container = in_status();
    const Value* name = container ? container->find(variable::kSocketIfname) : nullptr;
    const auto detail = answer_.details.find(variable::kSocketIfname);
    if (name && detail != answer_.details.end())
      add_no_interface(record_.reason_missing(*name), detail->second, subject(), answer_.findings);
  }

  [[nodiscard]] Subject subject() const {
    return {.kind = "Pod", .name_space = record_.name_space, .name = record_.name};
  }

  // Judges the user's own values, and what NCCL makes of all of them on the node as it is now.
  void judge() {
    auto& findings = answer_.findings;
    const bool runs =
        record_.status && (!around_.exists || (answer_.state == PodState::Given && !record_.is_finished()));
    std::vector<ContainerFindings> found;
    for (const GivenContainer& container : record_.containers) {
      if (record_.status && !container.in_status) continue;
      const bool resolver = container.name == conf_file::kResolver;
      std::vector<Finding> of;
      for (const Value& own : container.values) {
        if (own.state == State::Users && own.value) judge_setting(own.name, *own.value, subject(), of);
      }
      if (!record_.status)  // the pod may have one rank, which needs no other interface
        std::erase_if(of, [](const Finding& finding) { return finding.code == Code::LoopbackFirst; });
      if (runs && container.in_status && !resolver) judge_given(container, of);
      fold_consequences(Among::Container, of);
      if (!resolver) found.push_back({container.name, std::move(of)});
    }
    add_by_container(found, findings);
    if (runs) {
      judge_refusal();
      judge_rail();
      judge_no_list();
      judge_outside();
      judge_few_rails();
      judge_no_interface();
      judge_limits();
      judge_left_out();
      judge_short_list();
      add_short_lists(answer_.engines, subject(), findings);
      judge_interfaces();
    }
    fold_consequences(Among::Pod, findings);
    sort_findings(findings);
    if (!around_.exists) return;  // no command can ask for it
    for (Finding& finding : findings) finding.remedy = with_names(remedy_of(finding), record_.argument());
  }

  void judge_given(const GivenContainer& container, std::vector<Finding>& into) {
    judge_lost(container);
    NcclEnv own;
    for (const Value& value : container.values) {
      if (value.state == State::Users && value.value) own.insert_or_assign(value.name, *value.value);
    }
    add_users_off(own, subject(), into);
    if (!around_.exists && record_.name.empty()) add_host_id(own, subject(), into);
    for (const Value& value : container.values) {
      if (value.value && value.is_from(Source::Policy))
        judge_policys_setting(value.name, *value.value, subject(), into);
    }
    judge_choice(container, into);
  }

  // Judges what NCCL makes of all values of the container on the node as it is now.
  void judge_choice(const GivenContainer& container, std::vector<Finding>& into) {
    add_turned_off([&](std::string_view name) { return container.find(name); }, subject(), into);
    const std::optional<Environments> env = environments_of(container);
    if (!env) return;
    std::vector<Finding> now;
    const Value* list = container.find(variable::kIbHca);
    const bool listed = !around_.exists && env->list_known && !(list && !list->value);
    if (env->known || listed)
      now = judge_selection(select(env->with_us, env->notes), env->with_us, subject());
    if (!env->known)
      std::erase_if(now, [](const Finding& finding) { return finding.subject.path != variable::kIbHca; });
    judge_lists(seen(), env->lists, subject(), now);
    // A pod that looked itself knows its devices better than its node's table does.
    if (list && list->is_from(Source::Pod)) {
      std::erase_if(now, [](const Finding& finding) {
        return finding.code == Code::NoSuchDevice || finding.code == Code::FellBack;
      });
    }
    const bool users = list && list->state == State::Users;
    for (Finding& finding : now) {
      if (around_.exists && finding.code == Code::ListNotExact && list && !users)
        finding.remedy = kInexactRemedy;
      if (finding.code == Code::NoSuchDevice && list && !users) finding.remedy = kCardsRemedy;
      const Value* named = container.find(finding.subject.path);
      if (finding.code == Code::NoInterface && named && named->state != State::Users)
        finding.remedy = "Bring that interface up on the node; until then run the pod on another.";
      const auto is_of_it = [&](const std::string& replaced) {
        return replaced.starts_with(finding.subject.path + "=");
      };
      if (!finding.subject.path.empty() && std::ranges::any_of(container.replaced, is_of_it))
        finding.remedy = kLaterWebhook;
      const Value* of = container.find(finding.subject.path);
      if (of && of->is_from(Source::Policy)) finding.remedy = policys_remedy(finding.subject.path);
    }
    const auto [reason, detail] = why_no_list(container);
    const std::optional<Reason> known = parse_reason(reason);
    const Value omission = left_out(variable::kIbHca, known.value_or(Reason::NoTable), detail);
    tell_fallback(users, known ? &omission : nullptr, now);
    into.insert(into.end(), now.begin(), now.end());
  }

  // Ports of the fabric that were down when the pod was bound, and still are.
  void judge_left_out() {
    const GivenContainer* container = in_status();
    const Value* list = container ? container->find(variable::kIbHca) : nullptr;
    const bool held = list && list->state == State::Given && list->source != Source::Policy;
    const bool coming = binding_ && record_.status->exposure && list && list->state != State::Users &&
                        values_of(*binding_, *record_.status->exposure).set.contains(variable::kIbHca);
    if ((!held && !coming) || !around_.table || !around_.policy || !record_.status->exposure) return;
    judge_list_ports(table(), *around_.policy, *record_.status->exposure, around_.context.now, subject(),
                     answer_.findings);
  }

  // "The container sets NCCL_IB_GID_INDEX itself."
  static std::string why_lost(const GivenContainer& container) {
    for (const std::string_view name : {variable::kIbGidIndex, variable::kIbAddrFamily,
                                        variable::kIbAddrRange, variable::kIbRoceVersionNum}) {
      const Value* own = container.find_in_env(name);
      if (own && own->state == State::Users) return "The container sets " + std::string(name) + " itself.";
    }
    return std::string(meaning(Reason::UserSetGroup));
  }

  // A user's own list of fewer HCAs than the node's fabric has may be meant so.
  void judge_short_list() {
    const GivenContainer* container = in_status();
    if (!container) return;
    const Value* own = container->find_in_env(variable::kIbHca);
    const bool users = own && own->state == State::Users;
    const auto omitted = container->omitted.find(variable::kIbHca);
    const bool lost =
        omitted != container->omitted.end() && omitted->second == to_string(Reason::UserSetGroup);
    if ((!users && !lost) || !answer_.nccl_with_us || record_.node.empty()) return;
    const auto node = around_.policy ? values_today(record_, around_) : std::nullopt;
    if (!node) return;
    const auto list = node->set.find(variable::kIbHca);
    if (list == node->set.end()) return;
    if (users)
      add_short_list(*answer_.nccl_with_us, own->value.value_or(""), list->second, subject(),
                     answer_.findings);
    else
      add_lost_list(*answer_.nccl_with_us, list->second, why_lost(*container), subject(), answer_.findings);
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

  // Per Pod::containers: true for those that the status names.
  [[nodiscard]] std::vector<bool> containers_of_status() const {
    std::vector<bool> ours;
    for (const Container& container : pod_.containers) {
      ours.push_back(std::ranges::any_of(record_.containers, [&](const GivenContainer& given) {
        return given.in_status && given.name == container.name;
      }));
    }
    return ours;
  }

  // Limits stop no pod by themselves where they are not known: the runtime may have lifted them.
  void judge_limits() {
    const std::vector<bool> ours = containers_of_status();
    add_device_problem(pod_, ours, subject(), answer_.findings);
    add_rank_outside(pod_, ours, subject(), answer_.findings);
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
    answer_.node_unseen = container && !own_devices && (!around_.table || aged_) && !record_.is_finished();
    if (!is_good(answer_.findings)) {
      answer_.sentence = answer_.findings.front().sentence;
      answer_.remedy = remedy_of(answer_.findings.front());
    } else if (const Finding* off = meant_choice(answer_.findings)) {
      answer_.sentence = off->sentence + " " + answer_.sentence;
      answer_.remedy = remedy_of(*off);
    } else if (answer_.node_unseen) {
      answer_.sentence += " Whether NCCL can use it on node " + record_.node + " now is not known: " +
                          (aged_                           ? "its table is too old"
                           : around_.table_known           ? "there is no NodeFabric of that node"
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

  // The variables of a container: the user's alone, with the policy's constants, and all; `known` if those
  // are all that it has.
  struct Environments {
    NcclEnv alone, lists, with_us;
    std::vector<std::string> notes;
    bool known = false;
    bool list_known = false;  // NCCL_IB_HCA does not come from where it is not seen
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
        if (given->state == State::Users || given->is_from(Source::Policy))
          env.lists.insert_or_assign(given->name, *given->value);
      } else if (given->state == State::Users) {
        env.notes.push_back(note_elsewhere(given->name));
      }
    }
    if (container.env_from) env.notes.emplace_back(kNoteEnvFrom);
    env.list_known = std::ranges::find(env.notes, note_elsewhere(variable::kIbHca)) == env.notes.end();
    if (has_own_file(container))
      env.notes.emplace_back(
          "The container's own file may hold further variables, which are not known here.");
    env.known = env.list_known && (!container.reads_file || is_told(*record_.file)) &&
                std::ranges::find(values, State::Later, &Value::state) == values.end();
    return env;
  }

  [[nodiscard]] static bool has_own_file(const GivenContainer& container) {
    return std::ranges::any_of(container.omitted, [](const auto& omitted) {
      return omitted.second == to_string(Reason::ConfPresent);
    });
  }

  // Where it is stale, without what it says of states.
  [[nodiscard]] const NodeFabric& table() const { return aged_ ? *aged_ : *around_.table; }
  [[nodiscard]] NodeFabric seen() const {
    return seen_in_pod(table(), *record_.status->exposure, record_.host_network);
  }
  [[nodiscard]] NcclSelection select(const NcclEnv& env, const std::vector<std::string>& notes) const {
    NcclSelection selection =
        nccl_in_pod(seen(), env, *record_.status->exposure, record_.host_network, around_.version, notes);
    if (plan_ && plan_->no_rail) std::erase(selection.notes, kNoteOwnRows);  // it has no sub-interface
    return selection;
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
  PodAnswer& answer_;
  std::optional<NodeFabric> aged_;
  std::optional<Plan> plan_;            // by today's policy
  std::optional<BindingPlan> binding_;  // that a pod made of a template gets
  bool index_lost_ = false;
};

}  // namespace

void judge_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings,
               PodAnswer& into) {
  Judge(pod, record, surroundings, into).run();
}

}  // namespace nccl_env
