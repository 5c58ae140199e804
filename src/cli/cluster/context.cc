// SPDX-License-Identifier: Apache-2.0
#include "cluster/context.h"

#include <algorithm>

#include "cluster/live_pods.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/judge/explain/pod_answer.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// The newest few are enough; the API server keeps an hour of them.
constexpr std::size_t kMaxEvents = 64;
// Enough for a job that was just created: its other pods have the same reasons. A call takes 0.1 s.
constexpr int kMaxEventReads = 8;
// This many tables are read one by one, then all are listed: a page of 500 takes as long as a few reads.
constexpr std::size_t kSingleTables = 8;
// The most to read one by one, for a caller who may get tables but not list them.
constexpr std::size_t kMaxTables = 100;
constexpr std::size_t kMaxPolicies = 16;
constexpr std::size_t kMaxSentence = 1024;
constexpr const char* kLeftOut = " is left out.";

}  // namespace

PodSurroundings surroundings_of(const NamespacePolicy& found, Timestamp now) {
  PodSurroundings around;
  around.context.now = now;
  around.namespace_policy = found.label;
  around.policy = found.policy;
  if (found.policy)
    around.context.max_table_age = found.policy->max_table_age.value_or(around.context.max_table_age);
  around.policy_detail = found.detail;
  if (found.problem != Reason::NamespaceNotOptedIn) around.policy_problem = found.problem;
  for (const std::string& unread : found.unread) around.unread.push_back(unread + kLeftOut);
  return around;
}

PodSurroundings ContextReader::read(const PodRecord& pod) {
  PodSurroundings around;
  if (client_) {
    around = read_policy(pod);
  } else {
    around.context.now = options_.now;
    take_files(pod, around);
  }
  const auto least = around.policy ? around.policy->min_nccl : std::nullopt;
  around.version = options_.version.value_or(least.value_or(kNewestNccl));
  if (!client_) return around;
  read_table(pod, around);
  read_events(pod, around);
  return around;
}

Result<AnsweredPod> ContextReader::answer(const Json& object, const std::vector<Value>& given) {
  const auto live = LivePod::read(object);
  if (!live) return live.error();
  AnsweredPod told{(*live)->record(), {}, read((*live)->record())};
  give_to_ranks((*live)->pod(), given, told.record);
  told.answer = answer_pod((*live)->pod(), told.record, told.around);
  return told;
}

// Anybody can write a pod's status, so pods may name as many policies as there are pods.
PodSurroundings ContextReader::read_policy(const PodRecord& pod) {
  const std::string otherwise = pod.status ? pod.status->policy : "";
  const auto key = std::pair(pod.name_space, otherwise);
  const auto known = policies_.find(key);
  if (known != policies_.end()) return known->second;
  NamespacePolicy found;
  if (policies_.size() >= kMaxPolicies) {
    found.unread.push_back("The policy of a pod, beyond the first " + std::to_string(kMaxPolicies) + ",");
    return surroundings_of(found, options_.now);
  }
  found = read_namespace_policy(*client_, pod.name_space, otherwise, options_.allow_code_paths);
  return policies_.emplace(key, surroundings_of(found, options_.now)).first->second;
}

// Tables have no namespace: a caller who may not read one may read none.
const NodeTable& ContextReader::table_of(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known != nodes_.end()) return known->second;
  if (others_) return *others_;
  if (nodes_.size() == kSingleTables && list_node_tables(*client_, nodes_)) {
    others_ = {true, nullptr, false, {}};
    return table_of(node);
  }
  if (nodes_.size() >= kMaxTables)
    return others_.emplace(
        NodeTable{false, nullptr, false,
                  "more than " + std::to_string(kMaxTables) + " nodes, of which no further table is read"});
  const NodeTable& read = nodes_.emplace(node, read_node_table(*client_, node)).first->second;
  if (read.forbidden) others_ = read;
  return read;
}

void ContextReader::read_table(const PodRecord& pod, PodSurroundings& into) {
  if (pod.node.empty() || !pod.status) return;
  const NodeTable& found = table_of(pod.node);
  into.table_known = found.known;
  into.table = found.table;
  into.table_problem = found.problem;
  if (!into.table_known)
    into.unread.push_back(found.problem +
                          ": what NCCL alone would choose, and whether the node has changed," + kLeftOut);
}

// The scheduler also writes its reason into the pod; its event is used where that reason was overwritten.
void ContextReader::read_events(const PodRecord& pod, PodSurroundings& into) {
  if (!pod.status || !pod.node.empty() || !pod.unscheduled.empty() || !pod.gates.empty()) return;
  if (++event_reads_ > kMaxEventReads) return;
  const auto add = [&](const Json& event) {
    if (const Json& message = member(event, "message");
        message.is_string() && into.events.size() < kMaxEvents)
      into.events.push_back(text_of(message).substr(0, kMaxSentence));
  };
  const Status read =
      kube::list_all(*client_,
                     kube::by_field(path_in(pod.name_space, kube::kEvents),
                                    "involvedObject.name=" + pod.name + ",reason=FailedScheduling"),
                     add);
  if (!read) into.unread.push_back(read.error().message + ": what the scheduler says" + kLeftOut);
}

void ContextReader::take_files(const PodRecord& pod, PodSurroundings& into) const {
  const bool others =
      policy_ && pod.status && !pod.status->policy.empty() && pod.status->policy != policy_->name;
  if (others) {
    into.unread.push_back("The pod follows policy " + pod.status->policy + ", and the one given is " +
                          policy_->name + ": what it says today is left out.");
  } else if (policy_) {
    into.policy = policy_;
    into.namespace_policy = policy_->name;
  } else {
    into.unread.emplace_back("No policy is given (--policy): what it says today is left out.");
  }
  const auto found =
      std::ranges::find_if(tables_, [&](const auto& table) { return table->name == pod.node; });
  if (found != tables_.end()) {
    into.table = *found;
    into.table_known = true;
  } else if (!pod.node.empty() && pod.status) {
    into.unread.push_back((tables_.empty() ? "No table" : "No table of node " + pod.node) +
                          " is given (--table): what NCCL alone would choose, and whether the node has "
                          "changed, is left out.");
  }
}

}  // namespace nccl_env::cli
