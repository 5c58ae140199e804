// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/missed_pods.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct MissedKind {
  PodState state;
  Code code;
  const char* key;
};

// In the order in which they are printed.
constexpr std::array kMissedKinds{
    MissedKind{PodState::MissedAtAdmission, Code::MissedAtAdmission, "missedAtAdmission"},
    MissedKind{PodState::MissedAtBinding, Code::MissedAtBinding, "missedAtBinding"},
    MissedKind{PodState::Foreign, Code::Foreign, "foreign"},
};

auto owner_of(const MissedPod& pod) {
  return std::tie(pod.finding.subject.name_space, pod.owner.kind, pod.owner.name);
}

auto place_of(const MissedPod& pod) {
  return std::tuple_cat(std::tie(pod.state), owner_of(pod),
                        std::tie(pod.created, pod.node, pod.finding.subject.name));
}

std::string time_text(const MissedPod& pod) {
  return pod.created ? format_timestamp(*pod.created) : std::string();
}

std::string summary(const MissedPods& pods) {
  std::vector<std::string> found;
  for (const auto& [state, code, key] : kMissedKinds) {
    if (pods.count(state) > 0)
      found.push_back(std::to_string(pods.count(state)) + " " + std::string(to_string(state)));
  }
  if (found.empty()) found = {pods.is_good() ? "none was missed" : "none was found that was missed"};
  if (pods.unknown() > 0) found.push_back(std::to_string(pods.unknown()) + " not known");
  return count_of(pods.looked_at(), "pod") + ": " + join(found) + "\n";
}

std::string owner_text(const std::vector<const MissedPod*>& of_owner) {
  const auto& [name_space, kind, name] = owner_of(*of_owner.front());
  TextColumns columns(4);
  for (const MissedPod* pod : of_owner) {
    columns.add({time_text(*pod), pod->node.empty() ? "no node" : pod->node,
                 pod->finding.subject.name + (pod->reason.empty() ? "" : ": " + pod->reason)});
  }
  return "  " + printable(name_space + ", " + (name.empty() ? "no owner" : kind + " " + name)) + ": " +
         count_of(of_owner.size(), "pod") + "\n" + columns.render();
}

std::string kind_text(const MissedKind& kind, const std::vector<MissedPod>& named) {
  std::map<decltype(owner_of(named.front())), std::vector<const MissedPod*>> by_owner;
  for (const MissedPod& pod : named) {
    if (pod.state == kind.state) by_owner[owner_of(pod)].push_back(&pod);
  }
  if (by_owner.empty()) return {};
  std::string text =
      "\n" +
      paragraph(std::string(to_string(kind.state)) + ": " + std::string(words_of(kind.code).meaning), 0);
  for (auto owner = by_owner.begin(); owner != by_owner.end();) {
    const std::string& remedy = owner->second.front()->finding.remedy;
    text += owner_text(owner->second);
    // Printed once for several owners with the same remedy; a Job's remedy is a command for this Job alone.
    if (++owner == by_owner.end() || owner->second.front()->finding.remedy != remedy)
      text += paragraph("Do: " + remedy, 2);
  }
  return text;
}

}  // namespace

void MissedPods::add(const Pod& pod, const PodRecord& record, const PodSurroundings& around) {
  if (record.is_finished() || record.ending) return;
  ++looked_at_;
  PodAnswer answer = answer_pod(pod, record, around);
  if (answer.state == PodState::Unknown) ++unknown_;
  if (std::ranges::find(kMissedKinds, answer.state, &MissedKind::state) == kMissedKinds.end()) return;
  ++counts_[answer.state];
  if (named_.size() == kMostNamed) return;
  const std::string reason = answer.reason ? std::string(to_string(*answer.reason)) : std::string();
  named_.push_back({std::move(answer.findings.front()), answer.state,
                    record.owners.empty() ? PodOwner() : record.owners.front(), record.created, record.node,
                    answer.state == PodState::Foreign ? record.foreign : reason});
}

std::vector<MissedPod> MissedPods::named() const {
  std::vector<MissedPod> sorted = named_;
  std::ranges::sort(sorted, {}, place_of);
  return sorted;
}

std::size_t MissedPods::count(PodState state) const {
  const auto found = counts_.find(state);
  return found == counts_.end() ? 0 : found->second;
}

OrderedJson to_json(const MissedPods& pods) {
  OrderedJson json{{"good", pods.is_good()}, {"lookedAt", pods.looked_at()}};
  for (const MissedKind& kind : kMissedKinds) json[kind.key] = pods.count(kind.state);
  json["notKnown"] = pods.unknown();
  json["findings"] = OrderedJson::array();
  json["pods"] = OrderedJson::array();
  for (const MissedPod& pod : pods.named()) {
    OrderedJson owner;
    if (!pod.owner.name.empty()) owner = {{"kind", pod.owner.kind}, {"name", pod.owner.name}};
    json["findings"].push_back(to_json(pod.finding));
    json["pods"].push_back({{"namespace", pod.finding.subject.name_space},
                            {"pod", pod.finding.subject.name},
                            {"node", text_or_null(pod.node)},
                            {"owner", std::move(owner)},
                            {"created", text_or_null(time_text(pod))},
                            {"state", to_string(pod.state)}});
  }
  json["leftOut"] = pods.left_out();
  return json;
}

std::string render_text(const MissedPods& pods) {
  const std::vector<MissedPod> named = pods.named();
  std::string text = summary(pods);
  std::size_t all = 0;
  for (const MissedKind& kind : kMissedKinds) {
    text += kind_text(kind, named);
    all += pods.count(kind.state);
  }
  if (all > named.size()) text += "\nand " + std::to_string(all - named.size()) + " more\n";
  if (pods.left_out().empty()) return text;
  TextColumns columns(2);
  for (const std::string& sentence : pods.left_out()) columns.add({"-", sentence});
  return text + "\nleft out\n" + columns.render();
}

}  // namespace nccl_env
