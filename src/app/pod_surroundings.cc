// SPDX-License-Identifier: Apache-2.0
#include "pod_surroundings.h"

#include <algorithm>

#include "nccl_env/kube/list.h"

namespace nccl_env::app {
namespace {

using Json = nlohmann::json;

// The newest few tell; the API server keeps an hour of them.
constexpr std::size_t kMaxEvents = 64;
constexpr std::size_t kMaxSentence = 1024;

void leave_out(std::vector<std::string>& unread, const std::string& what) {
  unread.push_back(what + " is left out.");
}

}  // namespace

PodSurroundings Surroundings::of(const PodRecord& pod) {
  PodSurroundings around;
  around.context.now = asking_.now;
  around.version = asking_.version;
  if (!client_) {
    take_files(pod, around);
    return around;
  }
  read_policy(pod, around);
  read_table(pod, around);
  read_events(pod, around);
  return around;
}

void Surroundings::read_policy(const PodRecord& pod, PodSurroundings& into) {
  const std::string otherwise = pod.status ? pod.status->policy : "";
  const auto key = std::pair(pod.name_space, otherwise);
  auto known = policies_.find(key);
  if (known == policies_.end()) {
    known = policies_
                .emplace(key, read_namespace_policy(*client_, pod.name_space, otherwise,
                                                    asking_.arguments.policy.allow_code_paths))
                .first;
  }
  const NamespacePolicy& found = known->second;
  into.namespace_policy = found.label;
  into.policy = found.policy;
  if (found.problem != Reason::NamespaceNotOptedIn) {
    into.policy_problem = found.problem;
    into.policy_detail = found.detail;
  }
  for (const std::string& unread : found.unread) leave_out(into.unread, unread);
}

void Surroundings::read_table(const PodRecord& pod, PodSurroundings& into) {
  if (pod.node.empty() || !pod.status) return;
  auto known = nodes_.find(pod.node);
  if (known == nodes_.end()) known = nodes_.emplace(pod.node, read_node_table(*client_, pod.node)).first;
  into.table_known = known->second.known;
  into.table = known->second.table;
  if (!into.table_known)
    leave_out(into.unread, known->second.problem +
                               ": what NCCL alone would choose there, and whether the "
                               "node has changed,");
}

// The scheduler writes its word into the pod, too; its event stands in where that is overwritten.
void Surroundings::read_events(const PodRecord& pod, PodSurroundings& into) {
  if (!pod.status || !pod.node.empty() || !pod.unscheduled.empty() || !pod.gates.empty()) return;
  const auto add = [&](const Json& event) {
    const auto message = event.find("message");
    if (message != event.end() && message->is_string() && into.events.size() < kMaxEvents)
      into.events.push_back(message->get_ref<const std::string&>().substr(0, kMaxSentence));
  };
  const Status read = kube::list_all(
      *client_, "/api/v1/namespaces/" + kube::escaped(pod.name_space) + "/events", add,
      "fieldSelector=" + kube::escaped("involvedObject.name=" + pod.name + ",reason=FailedScheduling"));
  if (!read) leave_out(into.unread, read.error().message + ": what the scheduler says");
}

void Surroundings::take_files(const PodRecord& pod, PodSurroundings& into) const {
  into.policy = policy_;
  if (policy_) {
    into.namespace_policy = policy_->name;
  } else {
    into.unread.emplace_back("No policy is given (--policy): what it says today is left out.");
  }
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const auto& table) { return table->name == pod.node; });
  if (found != tables_.end()) {
    into.table = *found;
    into.table_known = true;
  } else if (!pod.node.empty() && pod.status) {
    into.unread.push_back("No table of node " + pod.node +
                          " is given (--table): what NCCL alone would choose there, and whether the node has "
                          "changed, is left out.");
  }
}

Result<Surroundings> surroundings_of_files(const Asking& asking, std::istream& in, ExitCode& code) {
  code = kRefused;
  auto tables = read_tables(asking.arguments.tables, in);
  if (!tables) return tables.error();
  if (asking.arguments.policy.file.empty()) return Surroundings(asking, nullptr, *std::move(tables));
  const auto policies = read_policies(asking.arguments.policy, in);
  if (!policies) return policies.error();
  const auto policy = choose_policy(*policies, asking.arguments.policy.name);
  if (policy) return Surroundings(asking, *policy, *std::move(tables));
  code = kUsage;
  return policy.error();
}

}  // namespace nccl_env::app
