// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: one class has the rules of one pod, which share what is read, planned and chosen of it.
#include "explain/pod_judgement.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "explain/judgement.h"
#include "explain/pod_changes.h"
#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/choose/node_traffic.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/old_nccl.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/decide/process_limits.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/decide/unmatched.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/interfaces.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/findings/explains.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/explain/selection_print.h"

namespace nccl_env {
namespace {

// One channel's buffers of NCCL's are 4 MiB and more (NCCL_BUFFSIZE), and a rank has several; kernels
// from 5.16 on give 8 MiB, older ones 64 KiB.
constexpr std::int64_t kEnoughLocked = 64 << 20;

constexpr std::size_t kMostChanges = 4;  // that one sentence names

constexpr const char* kWrongInCommand = "Take it out of that command.";
constexpr const char* kLaterWebhook =
    "Look for a webhook that changes pods after nccl-env's, and create the pod anew.";

// The remedies of findings on a value that nccl-env gave.
struct RemedyOfGiven {
  Code code;
  std::string_view remedy;
  bool of_template = true;
};
constexpr RemedyOfGiven kOfGiven[] = {
    {Code::ListNotExact, kInexactRemedy, false},
    // The node has lost what it had at the Binding.
    {Code::NoSuchDevice,
     "A card that the node had is gone or renamed: `nccl-env doctor` says which. Cordon the node until it is "
     "back, and create the pod anew, on another."},
    {Code::NoInterface, "Bring that interface up on the node; until then run the pod on another."},
};

constexpr const char* kNoteOwnRows =
    "The pod's sub-interface has GID rows of its own, which are not known before it starts.";

constexpr const char* kNoteEnvFrom =
    "The container's envFrom may hold further variables, which are not known here.";

constexpr std::string_view kFabricRemedy =
    "Correct spec.fabric of the policy, which no port of this node meets (`nccl-env nodes NAME`); if other "
    "nodes meet it, look at this one.";
constexpr std::string_view kLookForCard =
    "Look for the card in lspci and for its driver in dmesg on the node, and at the agent's log there; until "
    "it is back, cordon the node and run the pod on another.";

constexpr std::string_view kRowRemedy =
    "Give the interfaces of these ports their addresses, IPv4 or a routed IPv6, in RoCE v2 mode: `nccl-env "
    "nodes NAME`, or `show_gids` there, has their rows.";

// True if the fabric is known, and each of its ports lacks a usable row.
bool has_no_row(const PortChoice& choice) {
  return !choice.fabric.empty() && std::ranges::all_of(choice.verdicts, [](const PortVerdict& verdict) {
    return !verdict.of_fabric || (!verdict.fabric && verdict.rowless);
  });
}

bool is_down(const Port* port) {
  return port->state.value_or(PortState::Active) != PortState::Active;
}

// The table as it counts once it is too old: rows and devices stay what they were, states do not.
NodeFabric without_states(NodeFabric table) {
  for (Port& port : table.ports) {
    port.state.reset();
    port.state_since.reset();
  }
  if (!table.interfaces) return table;
  for (Interface& interface : *table.interfaces) interface.up.reset();
  return table;
}

// As a process of the pod sees it.
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

class Judge {
 public:
  Judge(const Pod& pod, const PodRecord& record, const PodSurroundings& around, PodAnswer& answer)
      : pod_(pod),
        record_(record),
        around_(around),
        answer_(answer),
        told_{{.kind = "Pod", .name_space = record.name_space, .name = record.name}, answer.findings},
        runs_(record.status &&
              (!around.exists || (has_its_values(answer.state) && record.phase != "Succeeded"))) {
    if (around_.table && is_stale(around_.table->dated(), around_.context))
      aged_ = without_states(*around_.table);
    if (!record_.status) return;
    exposure_ = record_.status->exposure;
    if (const GivenContainer* main = record_.main_container(); main && main->in_status) main_ = main;
    if (main_) list_ = main_->find(variable::kIbHca);
    if (around_.table && exposure_) seen_ = seen_in_pod(table(), *exposure_, record_.host_network);
    if (!around_.policy) return;
    plan_ = plan_pod(pod_, *around_.policy, {}, around_.claims);
    if (around_.table && exposure_)
      choice_ = choose_policy_ports(table(), *around_.policy, *exposure_, around_.context.now);
    if (!around_.table_known || record_.node.empty()) return;
    binding_ = plan_binding(around_.policy, record_.node, around_.table.get(), around_.context);
    today_ = values_today(record_, *binding_);
  }

  void run() {
    if (around_.exists && around_.table) add_lost_index();
    add_changes();
    if (has_its_values(answer_.state) && !record_.trouble.empty()) add_failed();
    add_selections();
    judge();
    tell_verdict();
  }

 private:
  void add_changes() {
    if (!record_.status || record_.node.empty() || !around_.policy) return;
    if (today_) answer_.details = details_today(record_, around_.table.get(), *today_);
    if (!around_.exists) return;
    answer_.changes = changes_since(record_, around_, today_);
    // Where the node gives a value today, today's reason does not explain what the pod has.
    for (const Change& change : answer_.changes) {
      if (change.now.value) answer_.details.erase(change.now.name);
    }
    std::vector<Change> constants, of_node;
    for (const Change& change : answer_.changes) {
      if (change.now.name == variable::kIbGidIndex && answer_.has(Code::GidIndexMoved)) continue;
      (is_constant(change.now.name) ? constants : of_node).push_back(change);
    }
    add_changed(of_node, Severity::Warning);
    add_changed(constants, Severity::Info);  // all ranks have the same, as long as all are of one generation
  }
  void add_changed(const std::vector<Change>& changes, Severity severity) {
    if (changes.empty()) return;
    const std::optional<Reason> reason = reason_of_changes(changes);
    told_.add(Code::ChangedSinceBound, severity, "",
              std::string("Changed since the pod was bound") +
                  (is_kept_over_boot(record_, around_.table.get()) ? ", and its node has booted since" : "") +
                  ": " + changes_text(changes) + ".",
              reason ? remedy_here(*reason) : "");
  }

  void add_lost_index() {
    const std::string lost = lost_index(record_, *around_.table);
    if (lost.empty()) return;
    // A node that gives no index today gives none to a new pod.
    const Value* omitted = today_ ? today_->omission(variable::kIbGidIndex) : nullptr;
    const bool none = omitted && omitted->reason;
    told_.add(Code::GidIndexMoved, Severity::Error, "",
              lost + " since the pod was bound: new connections fail.",
              (none ? "The node gives no index now (" + std::string(to_string(*omitted->reason)) +
                          "): " + std::string(remedy(*omitted->reason)) + " "
                    : "") +
                  "Create the pod anew, at best the whole job at once.");
  }

  void add_failed() {
    std::string sentence = record_.trouble + ".";
    sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
    told_.add(Code::PodFailed, Severity::Warning, "", std::move(sentence), record_.trouble_remedy());
  }

  // True if the node's fabric is known to be RoCE.
  [[nodiscard]] bool is_roce() const {
    return choice_ && !choice_->fabric.empty() &&
           link_layer_of(*choice_->fabric.front()) == LinkLayer::Ethernet;
  }

  // True if no port of the fabric is up.
  [[nodiscard]] bool is_fabric_down() const {
    return choice_ && !choice_->fabric.empty() && std::ranges::all_of(choice_->fabric, is_down);
  }

  // The remedy of a reason; where the node has no port for a list, by what is wrong with its ports.
  [[nodiscard]] std::string_view remedy_here(Reason reason) const {
    if (reason != Reason::NoFabricPort || !runs_ || !main_ || !choice_) return remedy(reason);
    if (is_fabric_down()) return words_of(Code::RailDown).remedy;
    if (has_no_row(*choice_)) return kRowRemedy;
    if (table().ports.empty()) return kLookForCard;
    const bool by_policy = std::ranges::all_of(choice_->verdicts, &PortVerdict::by_policy);
    return by_policy ? kFabricRemedy : remedy(reason);
  }

  // Returns why a container has no list: without a reason and a text where it has one, chose so, or another
  // finding tells it. A reason of another version is the text.
  [[nodiscard]] Value why_no_list(const GivenContainer& container) const {
    const Value* list = container.find(variable::kIbHca);
    const std::string missing = list ? record_.reason_missing(*list) : std::string();
    const std::optional<Reason> known = parse_reason(missing);
    if (!missing.empty())
      return {.name = list->name,
              .reason = known,
              .detail = known ? find_text(answer_.details, variable::kIbHca) : missing};
    // A list that the pod is to find itself, and will not: it sees the node's devices by the same rules, and
    // none of them is the fabric.
    const bool later = list && !list->value && list->source == Source::Pod;
    const Value* absent = later ? omission_today() : nullptr;
    if (absent && absent->reason == Reason::NoFabricPort) return *absent;
    const Value* rails = list || !plan_ ? nullptr : planned_omission(container);
    const bool unknown = rails && rails->reason == Reason::PodRailsUnknown && !answer_.has(Code::NoRail);
    return unknown ? *rails : Value();
  }

  // The plan of what a template makes; null of a pod that exists.
  [[nodiscard]] const BindingPlan* coming() const {
    return binding_ && !around_.exists ? &*binding_ : nullptr;
  }

  // Returns why the node gives no list to the sub-interfaces of what a template makes; null where it gives
  // one.
  [[nodiscard]] const Value* omission_today() const {
    if (!coming() || exposure_ != Exposure::SubInterface) return nullptr;
    return binding_->sub_interface.omission(variable::kIbHca);
  }

  [[nodiscard]] const Value* planned_omission(const GivenContainer& container) const {
    for (const ContainerPlan& plan : plan_->containers) {
      if (pod_.containers[plan.position].name == container.name)
        return find_named(plan.omitted, variable::kIbHca);
    }
    return nullptr;
  }

  // NCCL takes its own choice of devices where no list is given.
  void judge_no_list() {
    if (answer_.has(Code::HeldBack) || answer_.has(Code::FellBack)) return;
    const Value none = why_no_list(*main_);
    const std::optional<Reason> reason = none.reason;
    const std::string name(reason ? to_string(*reason) : none.detail);
    if (name.empty()) return;
    const std::string why(!reason ? "" : none.detail.empty() ? meaning(*reason) : none.detail);
    const bool gives_today = std::ranges::any_of(answer_.changes, [](const Change& change) {
      return change.now.name == variable::kIbHca && change.now.value;
    });
    if (gives_today)
      return add_no_list(name, why, "Create the pod anew: its node gives a list today.", kTakesAll, told_);
    std::string then(reason ? remedy_here(*reason) : "");
    if (around_.exists && reason && scope_of(*reason) == ReasonScope::Node)
      then += " Then create the pod anew.";
    add_no_list(name, why, then, std::string(kTakesAll) + hcas_instead(reason), told_);
  }

  // ": mlx5_0, which is not the fabric": the HCAs that NCCL takes where the node has no port for a list.
  [[nodiscard]] std::string hcas_instead(std::optional<Reason> reason) const {
    if (reason != Reason::NoFabricPort || !choice_ || !answer_.nccl_with_us) return {};
    const std::vector<std::string> names = hcas_beyond({}, *answer_.nccl_with_us);
    if (names.empty()) return {};
    const bool other = std::ranges::none_of(names, [&](const std::string& name) {
      return std::ranges::find(choice_->fabric, name, &Port::hca) != choice_->fabric.end();
    });
    return ": " + join_some(names, kMostNames) +
           (is_fabric_down() && other ? ", which is not the fabric" : "");
  }

  // Constants that the node leaves out for a reason of its own, and that ranks of other nodes have.
  void judge_constants() {
    if (answer_.has(Code::HeldBack) || answer_.has(Code::NoList)) return;  // by the same reason
    std::vector<std::string> names;
    std::optional<Reason> why;
    for (const Value& value : omitted_values(answer_, record_, *main_)) {
      const auto reason = is_constant(value.name) ? value.reason : std::nullopt;
      const Variable* known = find_variable(value.name);
      if (!reason || scope_of(*reason) != ReasonScope::Node || !known || known->ranks == Ranks::Any) continue;
      names.push_back(value.name);
      if (!why) why = reason;
    }
    if (!why) return;
    const std::string detail = find_text(answer_.details, names.front());
    told_.add(Code::ValuesDiffer, Severity::Warning, names.front(),
              "No " + join(names) + " (" + std::string(to_string(*why)) +
                  "), which ranks of other nodes may have" + (detail.empty() ? "." : ": " + detail),
              around_.table && table().rdma_namespace_mode == RdmaNamespaceMode::Exclusive
                  ? "Say them in spec.env of the policy alone, where no node decides them."
                  : remedy_here(*why));
  }

  // The Binding of what a template makes is refused.
  void judge_refusal() {
    const Value* why =
        coming() ? refusal_of(*coming(), consumed_exposure(pod_), reads_env_file(pod_)) : nullptr;
    if (!why) return;
    told_.add(Code::HeldBack, Severity::Error, "",
              "The policy says onUnresolved: Deny, so this node is refused (" +
                  std::string(to_string(*why->reason)) + "): " + why->detail,
              remedy_here(*why->reason));
  }

  // The devices of a shared plugin stay outside of the pod, as the node's reason says.
  void judge_outside() {
    const Value* list = omission_today();
    if (!list || list->reason != Reason::PodOwnsDevices) return;
    told_.add(
        Code::DeviceNotOpened, Severity::Warning, "",
        list->detail + " Those of a shared device plugin stay outside.",
        "Set the node to shared mode (rdma system set netns shared), or give the pod devices of its own "
        "by a plugin that moves them.");
  }

  // A shared device plugin brings devices and no GID. The policy may leave open whether the fabric is RoCE;
  // then the node's table tells it.
  void judge_rail() {
    if (!plan_ || !plan_->no_rail || exposure_ != Exposure::SubInterface) return;
    if (list_ && list_->value && list_->is_from(Source::Pod)) return;  // the pod has seen its own
    if (around_.policy->names(LinkLayer::Ethernet) || is_roce())
      told_.add(Code::NoRail, Severity::Warning, "", std::string(words_of(Code::NoRail).meaning));
  }

  // The pod's networks bring fewer rails than the policy expects, which the init container finds, too; or
  // than the node has, which may be meant.
  void judge_few_rails() {
    if (!plan_ || answer_.has(Code::NoList) || exposure_ != Exposure::SubInterface) return;
    if (!plan_->few_rails.empty())
      return told_.add(Code::MissingRail, Severity::Warning, "", plan_->few_rails,
                       "Ask for a network of each rail, or correct expectPorts of the policy.");
    const NetworkMatch networks = match_networks(pod_, *around_.policy);
    const std::size_t of_node = choice_ ? choice_->fabric.size() : 0;
    if (!networks.any || networks.rails == 0 || networks.rails >= of_node) return;
    if (link_layer_of(*choice_->fabric.front()) == LinkLayer::InfiniBand) return;  // whose rails need none
    told_.add(Code::MissingRail, Severity::Info, "",
              "The pod's networks bring " + std::to_string(networks.rails) + " of the node's " +
                  std::to_string(of_node) + " rails.",
              "Ask for a network of each rail.");
  }

  // Where the reason is no longer the node's, what changed since tells it.
  void judge_no_interface() {
    const Value* name = main_->find(variable::kSocketIfname);
    const auto detail = answer_.details.find(variable::kSocketIfname);
    if (!name || detail == answer_.details.end()) return;
    const auto reason = parse_reason(record_.reason_missing(*name));
    if (reason != Reason::InterfaceAbsent && reason != Reason::NodeInterfaceUnknown) return;
    told_.add(Code::NoInterface, Severity::Warning, variable::kSocketIfname,
              "No NCCL_SOCKET_IFNAME (" + std::string(to_string(*reason)) + "): " + detail->second +
                  " So NCCL chooses its interfaces itself.",
              remedy(*reason));
  }

  // Judges the user's own values, and what NCCL makes of all of them on the node as it is now.
  void judge() {
    std::vector<std::pair<std::string, std::vector<Finding>>> found;
    for (const GivenContainer& container : record_.containers) {
      if (record_.status && !container.in_status) continue;
      std::vector<Finding> of;
      judge_container(container, {told_.of, of});
      fold_consequences(Among::Container, of);
      if (container.name != conf_file::kResolver) found.emplace_back(container.name, std::move(of));
    }
    add_by_container(found);
    if (runs_) judge_all();
    fold_consequences(Among::Pod, answer_.findings);
    sort_findings(answer_.findings);
    if (!around_.exists) return;  // no command can ask for it
    for (Finding& finding : answer_.findings)
      finding.remedy = with_names(remedy_of(finding), record_.argument());
  }

  // Those that not all containers have begin with the container's name.
  void add_by_container(const std::vector<std::pair<std::string, std::vector<Finding>>>& containers) {
    std::map<std::string, std::set<std::string_view>> having;  // a sentence
    for (const auto& [name, findings] : containers) {
      for (const Finding& finding : findings) having[finding.sentence].insert(name);
    }
    for (const auto& [name, findings] : containers) {
      for (const Finding& finding : findings) {
        Finding& added = answer_.findings.emplace_back(finding);
        if (having[finding.sentence].size() < containers.size())
          added.sentence = "Container " + printable(name) + ": " + finding.sentence;
      }
    }
  }

  void judge_all() {
    judge_refusal();
    judge_rail();
    if (main_) judge_no_list();
    if (main_) judge_constants();
    judge_outside();
    judge_few_rails();
    if (main_) judge_no_interface();
    judge_limits();
    judge_left_out();
    if (main_ && answer_.nccl_with_us && today_) judge_short_list();
    if (main_ && answer_.nccl_with_us && today_) judge_own_index();
    for (const EngineChoices& one : answer_.engines)
      add_short(one.list, std::string(one.list) + " is the user's own and", one.offered, one.alone.devices,
                told_);
    if (main_) judge_interfaces();
  }

  void judge_container(const GivenContainer& container, const FindingSink& told) {
    const bool given = runs_ && container.in_status && container.name != conf_file::kResolver;
    if (given) judge_lost(container);
    NcclEnv own;
    for (const Value& value : container.values) {
      const bool users = value.state == State::Users, policys = given && value.is_from(Source::Policy);
      if (!value.value || (!users && !policys)) continue;
      judge_setting(value.name, *value.value, policys, told);
      if (users) own.insert_or_assign(value.name, *value.value);
    }
    for (const Value& value : container.command) {
      if (!value.value) continue;
      std::vector<Finding> of;
      judge_setting(value.name, *value.value, false, {told.of, of});
      for (Finding& finding : of) told.into.push_back(of_command(value, std::move(finding)));
      own.insert_or_assign(value.name, *value.value);
    }
    if (!record_.status)  // the pod may have one rank, which needs no other interface
      std::erase_if(told.into, [](const Finding& finding) { return finding.code == Code::LoopbackFirst; });
    if (!given) return;
    add_users_off(own, told);
    if (!around_.exists && record_.name.empty()) judge_host_id(own, told);
    judge_turned_off(container, told);
    judge_choice(container, told);
    judge_search(container, told);
  }

  // An NCCL that does not search takes row 0 of each port.
  void judge_search(const GivenContainer& container, const FindingSink& told) const {
    const auto own = std::ranges::find(pod_.containers, container.name, &Container::name);
    const Value *list = container.find(variable::kIbHca), *index = container.find(variable::kIbGidIndex);
    const auto none = parse_reason(find_text(container.omitted, variable::kIbGidIndex));
    if (!around_.policy || own == pod_.containers.end() || (list && list->state == State::Users) ||
        (index && index->value) || (none && none != Reason::GidNotUniform && !is_left_to_nccl(*none)))
      return;
    const bool on_host = exposure_ == Exposure::Host && today_ && around_.table && !today_->ports.empty();
    const auto serves = [&](int row) { return serves_all(table(), today_->ports, row); };
    if ((!around_.policy->names(LinkLayer::Ethernet) && !is_roce()) || (on_host && serves(0))) return;
    const auto fits = [&](const Port& port) {
      return !port.gids || std::ranges::any_of(*port.gids, serves, &GidRow::index);
    };
    const bool none_fits = on_host && std::ranges::none_of(table().ports, fits);
    if (const std::string old = old_nccl(*own, around_.version); none_fits && !old.empty())
      return told.add(
          Code::NcclTooOld, Severity::Error, variable::kIbGidIndex,
          old + "none serves all ports of the node.",
          "Make the ports' addresses alike in number and order, or take an image with NCCL 2.21.5 or "
          "later.");
    if (const std::string text = search_problem(*own, *around_.policy, around_.version); !text.empty())
      told.add(Code::NcclTooOld, Severity::Error, variable::kIbGidIndex, text + ".");
  }

  // "The command sets NCCL_IB_HCA=mlx5_9".
  static std::string set_text(const Value& value) {
    return (value.container.empty() ? "The command sets "
                                    : "The command of " + value.container + " gives all ranks ") +
           value.name + "=" + *value.value;
  }

  static Finding of_command(const Value& value, Finding finding) {
    finding.sentence = set_text(value) + ": " + continued(std::move(finding.sentence));
    return finding;
  }

  // "NCCL_IB_HCA is the user's own and", before a verb.
  static std::string whose(const Value& value) {
    if (value.source == Source::Command && value.value) return set_text(value) + ", which";
    const bool empty = value.value.value_or("").empty();
    return value.name + " is the user's own" + (empty ? ", empty, which counts as unset," : "") + " and";
  }

  // Another webhook, or a person, may take out of a pod what ours has put in.
  void judge_lost(const GivenContainer& container) {
    const auto text = [](const Value& value) {
      return value.name + "=" + value.value.value_or("(not in the pod)");
    };
    if (!container.replaced.empty()) {
      told_.add(Code::ValueOverridden, Severity::Error, "",
                "Container " + printable(container.name) +
                    " has a value in env that was not there when nccl-env gave it one by file: " +
                    join_some(container.replaced, kMostChanges, text) + ".",
                kLaterWebhook);
    }
    if (container.lost.empty()) return;
    told_.add(Code::ValueOverridden, Severity::Error, "",
              "Container " + printable(container.name) + " lacks what the pod's status lists, " +
                  join_some(container.lost, kMostChanges) +
                  ": neither its env nor a file of nccl-env's is in the pod.",
              kLaterWebhook);
  }

  // A template gives one ID to all of its pods.
  static void judge_host_id(const NcclEnv& own, const FindingSink& told) {
    const auto id = own.find("NCCL_HOSTID");
    if (id == own.end() || id->second.empty()) return;
    told.add(Code::ValueMisread, Severity::Warning, id->first,
             "NCCL_HOSTID=" + id->second +
                 " is the same in each pod of this template: NCCL takes pods of several nodes for one host.",
             "Remove NCCL_HOSTID, or give it another value on each node.");
  }

  // A constant of the policy turns off the network for which it gives the list.
  static void judge_turned_off(const GivenContainer& container, const FindingSink& told) {
    const Value* list = container.find(variable::kIbHca);
    if (!list || list->state == State::Users || list->state == State::LeftOut) return;
    for (const std::string_view name : {variable::kIbDisable, variable::kNet}) {
      const Value* value = container.find(name);
      if (!value || !value->value || !value->is_from(Source::Policy) || !turns_verbs_off(name, *value->value))
        continue;
      return told.add(
          Code::FellBack, Severity::Error, name,
          "The policy itself turns InfiniBand and RoCE off: with its " + value->name + "=" + *value->value +
              " NCCL uses sockets, and none of the HCAs that the pod gets.",
          "Take " + value->name + " out of the policy's env; if sockets are meant, say hca: Omit.");
    }
  }

  // Judges what NCCL makes of all values of the container on the node as it is now.
  void judge_choice(const GivenContainer& container, const FindingSink& told) {
    const std::optional<Environments> env = environments_of(container);
    if (!env) return;
    std::vector<Finding> now;
    const FindingSink all{told.of, now};
    const Value* list = container.find(variable::kIbHca);
    const bool listed = !around_.exists && env->list_known && !(list && !list->value);
    if (env->known || listed) judge_selection(select(env->with_us, env->notes), env->with_us, all);
    if (!env->known)
      std::erase_if(now, [](const Finding& finding) { return finding.subject.path != variable::kIbHca; });
    judge_lists(*seen_, env->lists, all);
    const Value why = why_no_list(container);
    for (Finding& finding : now) {
      if (counts(finding, list, why)) told.into.push_back(by_giver(std::move(finding), container, why));
    }
  }

  // The HCAs that a list of the user's own names in full, and the node's list leaves out.
  [[nodiscard]] std::vector<std::string> strangers_in(const Value& list) const {
    const std::string* ours = today_ ? today_->find(variable::kIbHca) : nullptr;
    if (!ours || list.value->starts_with('^')) return {};
    return hcas_beyond(names_of_list(*ours), select({{list.name, "=" + *list.value}}, {}));
  }

  static bool counts(const Finding& finding, const Value* list, const Value& why) {
    const bool fell_back = finding.code == Code::FellBack;
    // A table that does not count does not tell what NCCL finds.
    if (fell_back && (why.reason == Reason::StaleTable || why.reason == Reason::NoTable)) return false;
    // A pod that looked itself knows its devices better than its node's table does.
    const bool looked = list && list->is_from(Source::Pod);
    return !looked || (!fell_back && finding.code != Code::NoSuchDevice);
  }

  // Names who gave the variable and so mends it; where there is none, who should have.
  [[nodiscard]] Finding by_giver(Finding finding, const GivenContainer& container, const Value& why) const {
    const std::string& name = finding.subject.path;
    const Value* value = container.find(name);
    const bool users = value && value->state == State::Users;
    for (const RemedyOfGiven& row : kOfGiven) {
      if (row.code == finding.code && value && !users && (around_.exists || row.of_template))
        finding.remedy = row.remedy;
    }
    if (find_named(container.replaced, name)) finding.remedy = kLaterWebhook;
    if (value && value->is_from(Source::Policy)) finding.remedy = policys_remedy(name);
    const bool inexact = users && value->value && finding.code == Code::ListNotExact;
    if (const auto others = inexact ? strangers_in(*value) : std::vector<std::string>(); !others.empty()) {
      finding.sentence = name + " names " + join_some(others, kMostNames) + ", not of the node's fabric. " +
                         finding.sentence;
      finding.remedy = kOwnListRemedy;
    }
    if (value && value->source == Source::Command && value->value) {
      finding.remedy = kWrongInCommand;
      return of_command(*value, std::move(finding));
    }
    if (finding.code != Code::FellBack) return finding;
    if (users) {
      finding.remedy = words_of(Code::NoSuchDevice).remedy;
    } else if (why.reason && !why.detail.empty()) {
      finding.sentence = why.detail + " So NCCL silently falls back to sockets.";
      finding.remedy = remedy_here(*why.reason);
    }
    return finding;
  }

  // Ports of the fabric that were down when the pod was bound, and still are.
  void judge_left_out() {
    const bool held = list_ && list_->state == State::Given && list_->source != Source::Policy;
    const bool is_coming = coming() && exposure_ && list_ && list_->state != State::Users &&
                           values_of(*binding_, *exposure_).set.contains(variable::kIbHca);
    if ((!held && !is_coming) || !choice_ || choice_->reason || choice_->ports.empty()) return;
    if (!answer_.has(Code::RailDown)) add_left_out();
    add_slow();
  }

  // A warning where such a port is down, unless nobody saw it up and the list has a number of ports that may
  // be meant: the policy's number, else one in which rails come. Then it may never have had a cable.
  void add_left_out() {
    std::vector<const PortVerdict*> left_out;
    bool rowless = true;  // and up, all of them
    const std::size_t count = choice_->ports.size();
    const NodeFabricRule found = fabric_rule(*around_.policy, table());
    const std::optional<int> expected = found.rule ? found.rule->expect_ports : std::nullopt;
    bool lost = expected ? count < static_cast<std::size_t>(*expected) : !is_usual_count(count);
    for (const PortVerdict& verdict : choice_->verdicts) {
      if (!verdict.of_fabric || verdict.fabric) continue;
      left_out.push_back(&verdict);
      rowless = rowless && verdict.rowless && !is_down(verdict.port);
      // The agent knows since when a port has a state if it saw another one before.
      lost = lost || (is_down(verdict.port) && verdict.port->state_since);
    }
    if (left_out.empty()) return;
    const auto text = [&](const PortVerdict* verdict) {
      return verdict->port->hca + ":" + std::to_string(verdict->port->number) + " (" + verdict->why + ")";
    };
    told_.add(Code::RailDown, lost ? Severity::Warning : Severity::Info, variable::kIbHca,
              "The list has " + std::to_string(count) + " of the " + std::to_string(choice_->fabric.size()) +
                  " ports of the node's fabric, without " + join_some(left_out, kMostNames, text) +
                  (choice_->few.empty() ? "."
                                        : "; the policy expects " + std::to_string(expected.value_or(0)) +
                                              " (TooFewPorts), and the others are given all the same."),
              lost      ? (rowless ? kRowRemedy : "")
              : rowless ? "Nothing, if they have no address by design; else give their netdevs one."
                        : "Nothing, if they have no cable by design; else bring up their netdevs.");
  }

  // Each rank waits for its slowest rail.
  void add_slow() {
    std::vector<const Port*> slow;
    std::ranges::copy_if(choice_->ports, std::back_inserter(slow), [](const Port* port) {
      return port->state == PortState::Active && has_slowed(*port);  // not by a table that is too old
    });
    if (slow.empty()) return;
    const auto text = [](const Port* port) {
      std::ostringstream words;
      words << port_name(*port) << " at " << *port->rate_gbps << " of " << *port->max_rate_gbps << " Gb/s";
      return words.str();
    };
    told_.add(Code::RateLow, Severity::Warning, variable::kIbHca,
              "A port of the list runs slower than it did since the node booted: " +
                  join_some(slow, kMostNames, text) + ".");
  }

  // A user's own list of fewer HCAs than the node's fabric has may be meant so; not where a variable of the
  // user's own costs the container the node's list, and NCCL takes others.
  void judge_short_list() {
    const auto ours = today_->set.find(variable::kIbHca);
    if (ours == today_->set.end()) return;
    const std::vector<std::string> offered = names_of_list(ours->second),
                                   taken = hcas_of(*answer_.nccl_with_us);
    const Value* own = main_->find_in_env(variable::kIbHca);
    if (own && own->state == State::Users) {
      answer_.takes_nodes = !offered.empty() &&
                            std::set(taken.begin(), taken.end()) == std::set(offered.begin(), offered.end());
      if (!is_about(*answer_.nccl_with_us, variable::kIbHca))
        add_short(own->name, whose(*own), offered, taken, told_);
      return;
    }
    if (find_text(main_->omitted, variable::kIbHca) != to_string(Reason::UserSetGroup)) return;
    if (!is_good(answer_.findings) || hcas_beyond(offered, *answer_.nccl_with_us).empty()) return;
    told_.add(
        Code::UserListShort, Severity::Warning, variable::kIbHca,
        "NCCL_IB_HCA is left out, so that NCCL takes other HCAs than the node's " +
            std::to_string(offered.size()) + ": " + list_difference(offered, taken) + ". " + why_lost(),
        "Remove that variable from the container to have list and index of the node, or set NCCL_IB_HCA "
        "beside it, too.");
  }

  // The user's own index names rows of another network than NCCL, or the node's index, takes without it. On
  // all ports that may be meant, unless the policy names the fabric's networks.
  void judge_own_index() {
    const Value* own = main_->find_in_env(variable::kIbGidIndex);
    const auto env = environments_of(*main_);
    if (!own || own->state != State::Users || !own->value || exposure_ != Exposure::Host || !env) return;
    NcclEnv without = env->with_us;
    without.erase(own->name);
    const std::string* ours = today_->find(own->name);
    if (ours) without.insert_or_assign(own->name, *ours);
    const std::vector<Cidr>& subnets = fabric_subnets(*around_.policy, table());
    const auto used = used_rows(table(), *answer_.nccl_with_us),
               meant = used_rows(table(), select(without, {}));
    std::vector<std::string> odd;
    std::string where;  // on the first of them
    for (const auto& [hca, row] : used) {
      const auto other = meant.find(hca);
      if (!row.network || other == meant.end() || !other->second.network) continue;
      const Cidr& usual = *other->second.network;
      const auto holds = [&](const Cidr& subnet) { return subnet.contains(usual.address); };
      if (usual == *row.network || (!subnets.empty() && std::ranges::none_of(subnets, holds))) continue;
      if (odd.empty())
        where = " takes a row of " + format_cidr(*row.network) + ", where " +
                (ours ? "the node's index" : "NCCL without it") + " takes one of " + format_cidr(usual);
      odd.push_back(hca);
    }
    if (odd.empty()) return;
    const bool some = odd.size() < used.size();
    told_.add(Code::RankRowDiffers, some || !subnets.empty() ? Severity::Warning : Severity::Info, own->name,
              whose(*own) + where + ": on " +
                  (some ? std::to_string(odd.size()) + " of " + count_of(used.size(), "port") + ", " +
                              join_some(odd, kMostNames)
                        : "all ports") +
                  ".",
              "Remove NCCL_IB_GID_INDEX, unless that network is the fabric's: spec.fabric.subnets of the "
              "policy says which is.");
  }

  // "The container sets NCCL_IB_GID_INDEX itself."
  [[nodiscard]] std::string why_lost() const {
    for (const std::string_view name : {variable::kIbGidIndex, variable::kIbAddrFamily,
                                        variable::kIbAddrRange, variable::kIbRoceVersionNum}) {
      const Value* own = main_->find_in_env(name);
      if (own && own->state == State::Users) return "The container sets " + std::string(name) + " itself.";
    }
    return std::string(meaning(Reason::UserSetGroup));
  }

  // A pod's own network need not be called eth0. Only Multus writes down how it is called.
  void judge_interfaces() {
    const std::vector<std::string> has = interfaces_of(pod_);
    for (const Value* given : has.empty() ? std::vector<const Value*>() : main_->effective()) {
      if (!given->value || finds_interface(*given, has)) continue;
      told_.add(Code::NoInterface, Severity::Warning, given->name,
                given->name + "=" + *given->value + " names no interface that the pod's networks brought: " +
                    join_some(has, kMostChanges) + " (annotation k8s.v1.cni.cncf.io/network-status)");
    }
  }

  // Limits stop no pod by themselves where they are not known: the runtime may have lifted them.
  void judge_limits() {
    std::vector<bool> ours;  // per Pod::containers: true for those that the status names
    for (const Container& container : pod_.containers) {
      ours.push_back(std::ranges::any_of(record_.containers, [&](const GivenContainer& given) {
        return given.in_status && given.name == container.name;
      }));
    }
    if (std::string text = device_problem(pod_, ours); !text.empty())
      told_.add(Code::DeviceNotOpened, Severity::Warning, "", std::move(text),
                "Request the RDMA resource of the nodes' device plugin, or make the container privileged.");
    judge_rank_outside(ours);
    if (std::string text = shared_memory_problem(pod_, ours); !text.empty())
      told_.add(Code::SharedMemory, Severity::Info, "", std::move(text));
    std::string text = memory_lock_problem(pod_, ours);
    const auto limit = record_.file ? record_.file->memory_lock : std::nullopt;
    if (text.empty() || limit == -1) return;
    if (!limit) return told_.add(Code::MemoryLock, Severity::Info, "", text.append(kUnlessLifted));
    const bool low = *limit < kEnoughLocked;
    text += ", and the memlock limit in the pod is " + std::to_string(*limit / 1024) + " KiB" +
            (low ? ": memory cannot be registered for RDMA" : "");
    told_.add(Code::MemoryLock, low ? Severity::Warning : Severity::Info, "", std::move(text));
  }

  // A container that has GPUs and gets nothing, where those that get values (`ours`) have none.
  void judge_rank_outside(const std::vector<bool>& ours) {
    const Container *outside = nullptr, *inside = nullptr;
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      const bool has_gpu = asks_for_processor(pod_.containers[i]);
      if (ours[i] && has_gpu) return;
      if (ours[i] && !inside) inside = &pod_.containers[i];
      if (has_gpu && !outside) outside = &pod_.containers[i];
    }
    if (!outside || !inside) return;
    told_.add(Code::NoList, Severity::Warning, "",
              "Container " + printable(outside->name) +
                  " has the GPUs and gets nothing: the RDMA resource is asked for by container " +
                  printable(inside->name) + ".",
              "Ask for the RDMA resource in the container that runs the ranks.");
  }

  // The worst finding is the answer's sentence.
  void tell_verdict() {
    if (!has_its_values(answer_.state)) return;
    const bool own_devices = exposure_ == Exposure::PodOwned;
    answer_.node_unseen = main_ && !own_devices && (!around_.table || aged_) && !record_.is_finished();
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
    if (!seen_ || exposure_ == Exposure::PodOwned) return std::nullopt;
    Environments env;
    const auto values = container.effective();
    for (const Value* given : values) {
      const bool users = given->state == State::Users;
      if (!given->value && users) env.notes.push_back(note_elsewhere(given->name));
      if (!given->value) continue;
      env.with_us.insert_or_assign(given->name, *given->value);
      if (users) env.alone.insert_or_assign(given->name, *given->value);
      if (users || given->is_from(Source::Policy)) env.lists.insert_or_assign(given->name, *given->value);
    }
    if (container.env_from) env.notes.emplace_back(kNoteEnvFrom);
    const auto is_own_file = [](const auto& omitted) {
      return omitted.second == to_string(Reason::ConfPresent);
    };
    const bool file = std::ranges::any_of(container.omitted, is_own_file);
    const bool by_file = file && !env.with_us.contains(variable::kIbHca);
    if (file) env.notes.emplace_back(by_file ? kNoteOwnList : kNoteOwnFile);
    env.list_known =
        !by_file && std::ranges::find(env.notes, note_elsewhere(variable::kIbHca)) == env.notes.end();
    env.known = env.list_known && (!container.reads_file || record_.file->is_known()) &&
                std::ranges::find(values, State::Later, &Value::state) == values.end();
    return env;
  }

  // Where it is stale, without what it says of states.
  [[nodiscard]] const NodeFabric& table() const { return aged_ ? *aged_ : *around_.table; }

  [[nodiscard]] NcclSelection select(const NcclEnv& env, const std::vector<std::string>& notes) const {
    const bool own_rows = exposure_ == Exposure::SubInterface;
    NcclSelection selection = nccl_select(*seen_, env, around_.version, {!own_rows, record_.host_network});
    const bool has_rail = !plan_ || !plan_->no_rail;  // else it has no sub-interface
    if (own_rows && selection.needs_rows && has_rail) selection.notes.emplace_back(kNoteOwnRows);
    selection.notes.insert(selection.notes.begin(), notes.begin(), notes.end());
    return selection;
  }

  void add_selections() {
    const std::optional<Environments> env = main_ ? environments_of(*main_) : std::nullopt;
    if (!env) return;
    answer_.nccl_alone = select(env->alone, env->notes);
    if (env->known) answer_.nccl_with_us = select(env->with_us, env->notes);
    const auto own = std::ranges::find(pod_.containers, main_->name, &Container::name);
    if (around_.policy && own != pod_.containers.end())
      answer_.engines = engine_choices(*around_.policy, *seen_, *own, env->alone,
                                       env->known ? &env->with_us : nullptr, today_ ? &*today_ : nullptr);
  }

  const Pod& pod_;
  const PodRecord& record_;
  const PodSurroundings& around_;
  PodAnswer& answer_;
  const FindingSink told_;
  const bool runs_;                       // or will, or has failed, by what is known
  std::optional<Exposure> exposure_;      // by its status
  const GivenContainer* main_ = nullptr;  // that runs NCCL, if the status names it
  const Value* list_ = nullptr;           // its NCCL_IB_HCA
  std::optional<NodeFabric> aged_;
  std::optional<NodeFabric> seen_;      // the node as a process of the pod sees it
  std::optional<PortChoice> choice_;    // of the node's ports, into the table
  std::optional<Plan> plan_;            // by today's policy
  std::optional<BindingPlan> binding_;  // to its node, today
  std::optional<NodeValues> today_;     // of the node, for a pod of this shape
};

}  // namespace

void judge_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings,
               PodAnswer& into) {
  Judge(pod, record, surroundings, into).run();
}

}  // namespace nccl_env
