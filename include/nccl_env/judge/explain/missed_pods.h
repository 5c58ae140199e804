// SPDX-License-Identifier: Apache-2.0
// Pods of a cluster that run without values that they should have, or with values that are not theirs
// (docs/use/doctor.md). Each is judged as explain judges a single pod.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "nccl_env/judge/explain/pod_answer.h"

namespace nccl_env {

struct MissedPod {
  Finding finding;  // MissedAtAdmission, MissedAtBinding or Foreign
  PodState state = PodState::MissedAtAdmission;
  PodOwner owner;                    // its controller; without a name: it has none
  std::optional<Timestamp> created;  // absent where the pod does not say
  std::string node;                  // "" where it has none yet
  std::string reason;  // MissedAtBinding: a reason's name or ""; Foreign: whose values they are, a clause
};

class MissedPods {
 public:
  // Further pods are only counted: there are very many if, for example, no webhook answers for an hour in a
  // cluster of 15 000 nodes.
  static constexpr std::size_t kMostNamed = 5'000;

  // Judges a pod; one that has ended or is being deleted is not looked at. `pod` and `record` are of one pod.
  void add(const Pod& pod, const PodRecord& record, const PodSurroundings& around);
  // Adds a sentence on what could not be looked at.
  void leave_out(std::string sentence) { left_out_.insert(std::move(sentence)); }
  // Counts a pod that cannot be judged.
  void add_unknown() { ++unknown_; }

  // Sorted by state, namespace, owner, time, node and name.
  [[nodiscard]] std::vector<MissedPod> named() const;
  [[nodiscard]] std::size_t count(PodState state) const;
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }
  [[nodiscard]] std::size_t unknown() const { return unknown_; }
  [[nodiscard]] const std::set<std::string>& left_out() const { return left_out_; }
  // True if no pod was missed, and nothing is left out.
  [[nodiscard]] bool is_good() const { return counts_.empty() && left_out_.empty(); }

 private:
  std::vector<MissedPod> named_;
  std::map<PodState, std::size_t> counts_;
  std::size_t looked_at_ = 0;
  std::size_t unknown_ = 0;  // the policy may match them or not
  std::set<std::string> left_out_;
};

// docs/use/doctor.md names the keys; they do not change.
nlohmann::ordered_json to_json(const MissedPods& pods);
// For people: by state and owner, a line for each pod.
std::string render_text(const MissedPods& pods);

}  // namespace nccl_env
