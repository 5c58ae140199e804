// SPDX-License-Identifier: Apache-2.0
#include "fabric/untested_nodes.h"

#include <set>

#include "cluster/live_pods.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/judge/explain/given_file.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using Why = std::pair<Untested, std::string>;

constexpr std::size_t kMostSaid = 400;

// True where the scheduler misses devices: "Insufficient rdma/hca" is one, "Insufficient cpu" is not. Source:
// plugins noderesources and dynamicresources of kube-scheduler 1.30 to 1.36.
bool lacks_devices(std::string_view said) {
  constexpr std::string_view kLack = "Insufficient ";
  for (std::size_t at = 0; (at = said.find(kLack, at)) != said.npos; at += kLack.size()) {
    const std::string_view name = said.substr(at + kLack.size());
    if (name.substr(0, name.find_first_of(", ")).find('/') != name.npos) return true;
  }
  return said.find("cannot allocate all claims") != said.npos;
}

// A pod without a node.
Why why_unbound(const PodRecord& pod) {
  if (!pod.gates.empty()) return {Untested::Held, "scheduling gate " + join(pod.gates)};
  if (pod.unscheduled.empty()) return {Untested::Held, "no scheduler has looked at its pod"};
  return {lacks_devices(pod.unscheduled) ? Untested::Busy : Untested::Held, pod.unscheduled};
}

Why why_bound(const Json& object, const PodRecord& pod, bool others) {
  std::string last;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : items_at(member(object, "status"), list)) {
      for (const Json& state : member(container, "state")) {  // the only one that it is in
        const std::string reason = text_at(state, "reason");
        const std::string message = text_at(state, "message").substr(0, kMostSaid);
        if (lacks_image(reason)) return {Untested::NoImage, reason + (message.empty() ? "" : ": ") + message};
        if (state.contains("exitCode")) last = message.substr(0, message.find_last_not_of('\n') + 1);
      }
    }
  }
  if (!pod.trouble.empty()) return {Untested::NotStarted, pod.trouble + (last.empty() ? "" : ": ") + last};
  return {Untested::NotStarted, pod.is_finished()        ? "its pod ended before it was heard"
                                : !pod.starting.empty()  ? pod.starting
                                : pod.phase == "Pending" ? "its pod waits for the kubelet"
                                : others                 ? "its pod runs and did not reach member 0"
                                                         : "its pod runs, and member 0 did not answer"};
}

}  // namespace

std::vector<UntestedNode> untested_nodes(const std::vector<std::string>& nodes, const Proof& proof,
                                         const std::vector<Json>& pods, const std::string& refusal) {
  std::set<std::string> left(nodes.begin(), nodes.end());
  for (const ProofMember& came : proof.members) left.erase(came.node);
  std::vector<UntestedNode> untested;
  Why otherwise{Untested::Held, refusal.empty() ? "the Job made no pod for it" : refusal};
  for (const Json& object : pods) {
    const auto live = LivePod::read(object);
    if (!live) continue;
    const PodRecord& pod = (*live)->record();
    if (pod.node.empty()) {
      otherwise = why_unbound(pod);
    } else if (left.erase(pod.node) > 0) {
      auto [why, said] = why_bound(object, pod, !proof.members.empty());
      untested.push_back({pod.node, why, std::move(said)});
    }
  }
  for (const std::string& node : left) untested.push_back({node, otherwise.first, otherwise.second});
  // The scheduler's sentences have a stop, ours get one where they are printed.
  for (UntestedNode& each : untested) each.detail.erase(each.detail.find_last_not_of(". \n") + 1);
  return untested;
}

}  // namespace nccl_env::cli
