// SPDX-License-Identifier: Apache-2.0
#include "commands/explain_request.h"

#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

constexpr const char* kTargets =
    ": must be pod/NAME or job/NAME, or pod or job with -f and the file that kubectl get -o json printed";

Status check_use(const ExplainArguments& arguments, const Target& target, const std::string& form) {
  const bool of_file = !arguments.pod.empty();
  const ClusterArguments& cluster = arguments.cluster;
  if (!arguments.review.empty() || !arguments.store.empty())
    return Error{"--review and --store: not with a TARGET"};
  if (target.kind == Target::Kind::Job && form == "env")
    return Error{"-o env: of one pod; ranks have values of their own"};
  if (!arguments.node.empty()) return Error{"--node: a pod that exists has a node of its own"};
  if (of_file != target.name.empty())
    return Error{
        of_file
            ? "a TARGET with a name is read from the cluster, without -f; of a file it is pod or job alone"
            : "TARGET: has no name, and no -f FILE is given"};
  if (of_file && cluster.given())
    return Error{"-f with a TARGET asks no cluster: no --kubeconfig, --context, --bundle or --namespace"};
  if (!cluster.name_space.empty() && !is_dns_subdomain(cluster.name_space))
    return Error{"--namespace: '" + cluster.name_space + "' is not a namespace's name"};
  if (!of_file &&
      (!arguments.policy.file.empty() || !arguments.policy.name.empty() || !arguments.tables.empty()))
    return Error{
        "--policy, --policy-name and --table: the cluster's own count, unless pods come from a file"};
  return done();
}

// Reads "pod/train-0", or "pod" and "train-0".
Result<Target> read_target(const std::vector<std::string>& words) {
  Target target;
  std::string kind = words.empty() ? "" : words.front();
  const std::size_t slash = kind.find('/');
  if (slash != std::string::npos) {
    target.name = kind.substr(slash + 1);
    kind.resize(slash);
    if (words.size() > 1 || target.name.empty()) return Error{"TARGET " + words.front() + kTargets};
  } else if (words.size() > 1) {
    target.name = words[1];
  }
  if (kind == "job" || kind == "jobs") {
    target.kind = Target::Kind::Job;
  } else if (kind != "pod" && kind != "pods" && kind != "po") {
    const bool is_name = words.size() == 1 && target.name.empty() && is_dns_subdomain(kind);
    return Error{"TARGET " + kind + kTargets + (is_name ? ": do you mean pod/" + kind + "?" : "")};
  }
  if (words.size() > 1 && target.name.empty()) return Error{"TARGET" + std::string(kTargets)};
  if (!target.name.empty() && !is_dns_subdomain(target.name))
    return Error{"TARGET: '" + target.name + "' is not an object's name"};
  return target;
}

}  // namespace

Result<ExplainRequest> read_request(const ExplainArguments& arguments, const std::string& form) {
  const auto target = read_target(arguments.target);
  if (!target) return target.error();
  if (const Status use = check_use(arguments, *target, form); !use) return use.error();
  const auto version = program::read_nccl_version(arguments.nccl_version);
  if (!version) return version.error();
  const auto now = program::read_moment(arguments.at);
  if (!now) return now.error();
  return ExplainRequest{arguments, *target, *now, *version};
}

program::Failure find_context(const ExplainRequest& request, std::istream& in, Connection& cluster,
                              std::optional<ContextReader>& into) {
  const ExplainArguments& arguments = request.arguments;
  const ContextOptions options{request.now, request.version, arguments.policy.allow_code_paths};
  if (!request.target.name.empty()) {
    auto found = connect_namespace(arguments.cluster);
    if (!found) return {program::kNotSeen, found.error().message};
    cluster = *std::move(found);
    into.emplace(options, *cluster.client);
    return {};
  }
  auto tables = program::read_tables(arguments.tables, in);
  if (!tables) return {program::kNotSeen, tables.error().message};
  std::shared_ptr<const NcclPolicy> policy;
  if (!arguments.policy.file.empty()) {
    if (program::Failure failure = program::read_chosen_policy(arguments.policy, in, policy)) return failure;
  }
  into.emplace(options, std::move(policy), *std::move(tables));
  return {};
}

}  // namespace nccl_env::cli
