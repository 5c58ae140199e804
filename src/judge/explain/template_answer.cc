// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/template_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "explain/judgement.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/judge/explain/pod_answer.h"
#include "nccl_env/judge/explain/pod_record.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostDemands = 32;

void add_demand(std::string_view what, std::vector<std::string>& into) {
  if (into.size() >= kMostDemands || std::ranges::find(into, what) != into.end()) return;
  into.emplace_back(what);
}

// "nics: ResourceClaimTemplate ml/rdma (mrdma.google.com)".
std::string claim_text(const PodClaim& claim, std::string_view name_space, const PodClaims::Entry* known) {
  std::vector<std::string> classes;
  for (const DeviceRequest& request : known && known->requests ? *known->requests : DeviceRequests())
    classes.insert(classes.end(), request.classes.begin(), request.classes.end());
  return std::string(claim.name) + ": " + describe(claim_ref(claim, name_space)) +
         (classes.empty() ? "" : " (" + join(classes) + ")");
}

PodDemands demands_of(const Pod& pod, const PodClaims* claims) {
  PodDemands demands;
  for (const Container& container : pod.containers) {
    for (const std::string_view resource : container.resources) add_demand(resource, demands.resources);
  }
  for (std::size_t i = 0; i < pod.claims.size() && i < kMostDemands; ++i) {
    const bool known = claims && i < claims->entries.size();
    add_demand(claim_text(pod.claims[i], pod.name_space, known ? &claims->entries[i] : nullptr),
               demands.claims);
  }
  for (const std::string& network : networks_of(pod).names) add_demand(network, demands.networks);
  for (const HostPathVolume& volume : pod.host_paths) {
    if (volume.path == "/dev" || volume.path.starts_with("/dev/")) add_demand(volume.path, demands.devices);
  }
  for (const std::string_view resource : pod.misplaced) add_demand(resource, demands.misplaced);
  return demands;
}

// "8 HCAs" of a list of the node's, "1 HCA of the 8 that NCCL finds" by one of the policy's; "" if not known.
std::string hcas_text(const Value& list, const PodAnswer& answer) {
  if (list.is_from(Source::Policy) && answer.nccl_with_us) {
    const std::size_t taken = hcas_beyond({}, *answer.nccl_with_us).size();
    const std::size_t found = hcas_beyond({}, *answer.nccl_alone).size();
    return count_of(taken, "HCA") +
           (found > taken ? " of the " + std::to_string(found) + " that NCCL finds" : "");
  }
  // In a plain list that is not ours, a name is a prefix.
  if (list.is_from(Source::Policy) && !list.value->starts_with('=')) return {};
  return count_of(static_cast<std::size_t>(std::ranges::count(*list.value, ',')) + 1, "HCA");
}

// True for a value of ours that the container has or will have.
bool is_ours(const Value& value) {
  return value.state != State::Users && value.state != State::LeftOut && value.name != variable::kConfFile;
}

// "3 variables: 8 HCAs, GID index 3", as far as it is known.
std::string given_text(const GivenContainer& container, const PodAnswer& answer, const std::string& node) {
  std::size_t all = 0, later = 0;
  bool at_start = false;
  std::string known;
  for (const Value* value : container.effective()) {
    if (!is_ours(*value)) continue;
    ++all;
    if (!value->value) {
      ++later;
      at_start = at_start || value->source == Source::Pod;
    } else if (value->name == variable::kIbHca) {
      const std::string hcas = hcas_text(*value, answer);
      if (!hcas.empty()) known = hcas + (known.empty() ? "" : ", ") + known;
    } else if (value->name == variable::kIbGidIndex) {
      known += (known.empty() ? "GID index " : ", GID index ") + *value->value;
    }
  }
  std::string text = count_of(all, "variable");
  if (!known.empty()) text += ": " + known;
  if (later > 0)
    text += "; " + (later == all ? "all" : std::to_string(later)) +
            (at_start       ? " found inside the pod"
             : node.empty() ? " known once it has a node"
                            : " known with the table of " + printable(node));
  return text;
}

// "own values (NCCL_IB_HCA), which take the node's HCAs; nothing is added".
std::string own_text(const PodAnswer& answer, const GivenContainer& container) {
  std::set<std::string> names, reasons;
  for (const auto& [name, reason] : container.omitted) {
    if (reason == to_string(Reason::UserSet)) names.insert(name);
    if (reason != to_string(Reason::OmittedByPolicy)) reasons.insert(reason);
  }
  return std::string(to_string(PodState::OwnValues)) + " (" + join(names.empty() ? reasons : names) +
         (answer.takes_nodes ? "), which take the node's HCAs" : ")") + "; nothing is added";
}

// What the container that runs NCCL gets, and what not.
std::string injected_text(const AnsweredPod& made) {
  const GivenContainer* container = made.record.main_container();
  if (!container || !container->in_status) return "no container gets variables";
  const PodAnswer& answer = made.answer;
  const bool own = answer.state == PodState::OwnValues;
  std::string text = own ? own_text(answer, *container) : given_text(*container, answer, made.around.node);
  if (own && answer.takes_nodes) return text;
  const auto left_out = [](const Value& value) { return value.name + in_brackets(value.reason); };
  std::vector<std::string> decided;  // of what is given or left out
  std::string by = "its command";
  for (const Value& set : container->command) {
    if (!set.container.empty()) by = "the command of " + set.container;
    if (container->find_given(set.name) || container->omitted.contains(set.name)) decided.push_back(set.name);
  }
  if (!decided.empty()) text += "; " + by + " decides " + join(decided);
  std::vector<Value> omitted = omitted_values(answer, made.record, *container);
  std::erase_if(omitted, [&](const Value& value) {
    return (own && value.reason == Reason::UserSet) || is_unneeded(value, *container) ||
           find_named(container->command, value.name);
  });
  if (!omitted.empty()) text += "; left out: " + join(omitted, ", ", left_out);
  const Value* list = container->find(variable::kIbHca);
  if (list && is_ours(*list) && list->value && answer.nccl_with_us && answer.nccl_with_us->ports.empty())
    text += "; NCCL uses no HCA with them (-o wide)";
  const auto others = std::ranges::count(made.record.containers, true, &GivenContainer::in_status);
  return others > 1 ? text + "; that is container " + printable(container->name) : text;
}

// Returns the value that is known of a line before the pod has started: a constant, or its node's.
const std::string* known_value(const Value& planned, const NodeValues* node) {
  if (planned.source == Source::Node && node) return node->find(planned.name);
  return planned.source == Source::Policy && planned.value ? &*planned.value : nullptr;
}

// Gives a value that the init container of EnvFile only copies, into a variable or the file of an engine.
void copy_value(const NodeValues& node, Value& into) {
  const std::string* known = node.find(into.name);
  if (known) into.value = into.by_file_key ? std::string(node.env_text(into.name)) : *known;
  into.state = known ? State::Given : State::LeftOut;
}

// Fills in what the plan knows of files, and its sentences on what it leaves out: the status has neither.
// `node`: null where it is not known.
void fill_container(const Plan& plan, const ContainerPlan& planned, const NodeValues* node,
                    GivenContainer& into) {
  for (Value& value : into.values) {
    if (node && value.by_file_key && value.source == Source::Node && !value.value) copy_value(*node, value);
  }
  for (Value& line : into.engine_lines) {
    const Value* constant = line.value ? nullptr : find_named(planned.set, line.name);
    if (constant && constant->value) {
      line.value = constant->value;
      line.state = State::Given;
    } else if (node && line.source == Source::File && !line.value) {
      copy_value(*node, line);
    }
  }
  for (Value known : into.reads_file ? plan.file : SharedValues()) {
    const std::string* value = known_value(known, node);
    const auto line = std::ranges::find(into.file, known.name, &Value::name);
    const bool there = line != into.file.end();
    if (!value && there && node && known.source != Source::Pod && node->omission(known.name)) {
      line->source = Source::Node;
      line->state = State::LeftOut;  // the Binding's record has the reason
    }
    if (!value || (there ? line->value.has_value() : known.source == Source::Node)) continue;
    known.value = *value;
    known.state = State::Given;
    there ? void(*line = std::move(known)) : into.file.push_back(std::move(known));
  }
  for (const Value& omitted : planned.omitted) {
    if (!omitted.detail.empty()) into.decided.insert_or_assign(omitted.name, omitted.detail);
  }
}

// The plan as the webhook carries it out; under DryRun as it would.
Plan enforced_plan(const TemplateInput& input) {
  if (input.plan.reason != Reason::DryRun) return input.plan;
  NcclPolicy enforced = *input.around.policy;
  enforced.mode = PolicyMode::Enforce;
  return within_patch_bounds(input.pod, plan_pod(input.pod, enforced, input.options, input.around.claims));
}

// Takes out what a pod that was printed has of its run: this one has not run.
nlohmann::json never_run(nlohmann::json object) {
  object.erase("status");
  if (object["metadata"].contains("annotations"))
    object["metadata"]["annotations"].erase("k8s.v1.cni.cncf.io/network-status");
  object["spec"].erase("nodeName");
  return object;
}

// Makes the pod as the webhook does, with the Binding of its node where that is known.
nlohmann::json made_of(const TemplateInput& input, const Plan& plan) {
  const std::string patch = render_pod_patch(input.pod, plan, input.binding).text;
  nlohmann::json made = never_run(patch.empty() ? input.object : input.object.patch(parse_json(patch)));
  if (input.binding) made["spec"]["nodeName"] = input.around.node;
  if (!input.pod.name_space.empty()) made["metadata"]["namespace"] = input.pod.name_space;
  return made;
}

void add_notes(const TemplateInput& input, const Plan& plan, AnsweredPod& into) {
  std::vector<std::string>& notes = into.answer.notes;
  for (std::size_t i = 0; i < plan.warnings.size(); ++i) {
    if (!plan.judged[i]) notes.push_back(plan.warnings[i]);
  }
  if (!plan.inject || !input.binding) return;
  const NodeValues& values = values_of(*input.binding, plan.exposure);
  notes.insert(notes.end(), values.notes.begin(), values.notes.end());
}

// Says what the pods get in one line, and which finding of theirs leads. The sentence was that of a skip.
void sum_up(const std::optional<Reason>& skipped, AnsweredPod& into) {
  PodAnswer& answer = into.answer;
  answer.in_all = skipped ? "skip, " + std::string(to_string(*skipped)) + ": " + answer.sentence
                          : (answer.state == PodState::OwnValues ? "" : "inject, ") + injected_text(into);
  if (skipped == Reason::DryRun) answer.in_all += " It would set " + injected_text(into) + ".";
  answer.sentence = is_good(answer.findings) ? answer.in_all : answer.findings.front().sentence;
}

// Answers for the pod as it is made, once `fill` has added to its record what only the template's plan tells.
template <class Fill>
void answer_made(const nlohmann::json& made, const Fill& fill, AnsweredPod& into) {
  ReviewParser parser;
  const std::string text = dump_json(made);
  const Result<Pod> pod = parser.parse_pod(text);
  if (!pod) {
    into.answer.findings.push_back({Code::ObjectRefused,
                                    Severity::Error,
                                    {.kind = "Pod"},
                                    "The pod that admission makes of it is refused: " + pod.error().message});
    return;
  }
  into.around.exists = false;
  into.record = read_pod_record(*pod, made);
  fill(into.record);
  into.answer = answer_pod(*pod, into.record, into.around);
}

}  // namespace

AnsweredPod answer_template(const TemplateInput& input) {
  const Plan plan = enforced_plan(input);
  const bool dry = input.plan.reason == Reason::DryRun && plan.inject;
  AnsweredPod told{{}, {}, input.around};
  PodSurroundings& around = told.around;
  around.plan = &plan;
  around.namespace_policy = input.plan.policy;
  around.table_known = input.binding != nullptr;
  const auto fill = [&](PodRecord& record) {
    std::optional<NodeValues> node;
    if (input.binding)
      node = values_for(*input.binding, plan.exposure, input.pod.host_network, record.no_index);
    for (const ContainerPlan& planned : plan.containers) {
      const std::string_view name = input.pod.containers[planned.position].name;
      const auto container = std::ranges::find(record.containers, name, &GivenContainer::name);
      if (container == record.containers.end()) continue;
      fill_container(plan, planned, node ? &*node : nullptr, *container);
    }
    give_to_ranks(input.pod, input.from_launcher, record);
  };
  answer_made(made_of(input, plan), fill, told);
  around.plan = nullptr;
  around.claims = nullptr;
  add_notes(input, plan, told);
  if (plan.reason == Reason::NotRdma) told.answer.demands = demands_of(input.pod, input.around.claims);
  if (dry) {
    told.answer.state = PodState::NotInjected;
    told.answer.reason = Reason::DryRun;
    told.answer.remedy = remedy(Reason::DryRun);
    told.answer.sentence = input.plan.detail;
  }
  sum_up(dry ? input.plan.reason : plan.reason, told);
  return told;
}

AnsweredPod answer_template(const nlohmann::json& object, PodSurroundings around) {
  AnsweredPod told{{}, {}, std::move(around)};
  nlohmann::json made = never_run(object);
  if (made["metadata"].contains("annotations")) {  // those of another review do not count
    for (const std::string_view written : {key::kStatus, key::kNode})
      made["metadata"]["annotations"].erase(std::string(written));
  }
  answer_made(
      made, [](const PodRecord&) {}, told);
  sum_up(told.answer.reason, told);
  return told;
}

}  // namespace nccl_env
