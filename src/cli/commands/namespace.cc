// SPDX-License-Identifier: Apache-2.0
// nccl-env doctor --namespace
#include <ostream>

#include "cluster/connection.h"
#include "cluster/namespace_check.h"
#include "commands/commands.h"
#include "nccl_env/program/inputs.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::app {

int diagnose_namespace(const DoctorArguments& arguments, const Terminal& terminal) {
  const SourceArguments& source = arguments.source;
  const NamespaceArguments& wanted = arguments.of_namespace;
  if (!source.files.empty() || !source.store.empty() || !source.policy.file.empty() ||
      !source.policy.name.empty())
    return stop(terminal, kUsage,
                "--namespace asks the cluster: no FILEs, --store, --policy or --policy-name with it");
  if (!store::is_object_name(wanted.name))
    return stop(terminal, kUsage, "--namespace " + wanted.name + ": is no name of a namespace");
  const auto client = connect_cluster(source.kubeconfig);
  if (!client) return stop(terminal, kRefused, client.error().message);
  const auto check =
      check_namespace(**client, wanted.name, wanted.resource, {wanted.cpu, wanted.memory, wanted.image});
  if (!check) return stop(terminal, kRefused, check.error().message);
  if (arguments.output == "json") {
    terminal.out << to_json(*check).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                 << '\n';
  } else {
    terminal.out << render_text(*check);
  }
  return check->good() ? kDone : kRefused;
}

}  // namespace nccl_env::app
