// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <ostream>

#include "cluster/connection.h"
#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "commands/doctor.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/explain/missed_pods.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

void look_at(const std::string& name_space, kube::ApiServer& client, Timestamp now, KnownObjects& known,
             MissedPods& into) {
  const PodSurroundings around =
      surroundings_of(read_namespace_policy(client, name_space, "", false, &known), now);
  for (const std::string& sentence : around.unread) into.leave_out(sentence);
  const auto look = [&](const Json& object) {
    const auto live = LivePod::read(object);
    live ? into.add((*live)->pod(), (*live)->record(), around) : into.add_unknown();
  };
  const std::string path =
      kube::by_field(path_in(name_space, kube::kPods), "status.phase!=Succeeded,status.phase!=Failed");
  if (const Status listed = kube::list_all(client, path, look); !listed)
    into.leave_out(listed.error().message + ": its pods are left out.");
}

}  // namespace

int diagnose_pods(const std::string& name_space, const DiagnosisArguments& arguments,
                  const Console& terminal) {
  const SourceArguments& source = arguments.source;
  if (!source.files.empty() || !source.store.empty() || !source.policy.file.empty() ||
      !source.policy.name.empty())
    return stop(terminal, program::kUsage,
                "--pods asks the cluster: no FILEs, --store, --policy or --policy-name with it");
  if (!name_space.empty() && !is_dns_subdomain(name_space))
    return stop(terminal, program::kUsage, "--namespace " + name_space + ": is not a namespace's name");
  const auto now = program::read_moment(arguments.at);
  if (!now) return stop(terminal, program::kUsage, now.error().message);
  const auto client = connect_cluster(source.cluster);
  if (!client) return stop(terminal, program::kNotSeen, client.error().message);
  KnownObjects known;
  const auto names =
      name_space.empty() ? list_opted_in(**client, &known) : Result(std::vector<std::string>{name_space});
  if (!names)
    return stop(terminal, program::kNotSeen, names.error().message + "; a namespace of yours: --namespace");
  if (names->empty())
    return stop(terminal, program::kNothing, "no namespace has the label " + std::string(key::kPolicyLabel));
  MissedPods pods;
  for (const std::string& name : *names) look_at(name, **client, *now, known, pods);
  print_answer(terminal, pods);
  return pods.is_good() ? program::kDone : program::kFinding;
}

}  // namespace nccl_env::cli
