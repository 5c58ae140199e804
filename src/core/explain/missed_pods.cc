// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/missed_pods.h"

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

auto place_of(const MissedPod& pod) {
  const Subject& subject = pod.finding.subject;
  return std::tie(pod.state, subject.name_space, pod.owner.kind, pod.owner.name, pod.created, pod.node,
                  subject.name);
}

bool is_of_one_owner(const MissedPod& left, const MissedPod& right) {
  return std::tie(left.finding.subject.name_space, left.owner.kind, left.owner.name) ==
         std::tie(right.finding.subject.name_space, right.owner.kind, right.owner.name);
}

std::string time_text(const MissedPod& pod) {
  return pod.created ? format_timestamp(*pod.created) : std::string();
}

std::string summary(const MissedPods& pods) {
  std::string found;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) found += (found.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(what);
  };
  for (const MissedKind& kind : kMissedKinds) add(pods.count(kind.state), to_string(kind.state));
  if (found.empty()) found = pods.is_good() ? "none was missed" : "none was found that was missed";
  add(pods.unknown(), "not known");
  return count_of(pods.looked_at(), "pod") + ": " + found + "\n";
}

// Pods of one owner, which stand together.
std::string owner_text(std::vector<MissedPod>::const_iterator begin,
                       std::vector<MissedPod>::const_iterator end) {
  const std::string owner =
      begin->owner.name.empty() ? "no owner" : begin->owner.kind + " " + begin->owner.name;
  TextColumns columns(4);
  for (auto pod = begin; pod != end; ++pod) {
    std::vector<std::string> row{time_text(*pod), pod->node.empty() ? "no node" : pod->node,
                                 pod->finding.subject.name};
    if (!pod->reason.empty()) row.back() += ": " + pod->reason;
    columns.add(std::move(row));
  }
  return "  " + printable(begin->finding.subject.name_space + ", " + owner) + ": " +
         count_of(static_cast<std::size_t>(std::distance(begin, end)), "pod") + "\n" + columns.render();
}

std::string kind_text(const MissedKind& kind, const std::vector<MissedPod>& named) {
  const auto is_of = [&](const MissedPod& pod) { return pod.state == kind.state; };
  auto begin = std::ranges::find_if(named, is_of);
  if (begin == named.end()) return {};
  std::string text =
      "\n" +
      paragraph(std::string(to_string(kind.state)) + ": " + std::string(words_of(kind.code).meaning), 0);
  while (begin != named.end() && is_of(*begin)) {
    const auto end = std::find_if(begin, named.end(), [&](const MissedPod& pod) {
      return !is_of(pod) || !is_of_one_owner(pod, *begin);
    });
    text += owner_text(begin, end);
    // Printed once for several owners with the same remedy; a Job's remedy is a command for this Job alone.
    if (end == named.end() || !is_of(*end) || end->finding.remedy != begin->finding.remedy)
      text += paragraph("Do: " + begin->finding.remedy, 2);
    begin = end;
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
  OrderedJson json = OrderedJson::object();
  json["good"] = pods.is_good();
  json["lookedAt"] = pods.looked_at();
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
