// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "commands/explain.h"
#include "nccl_env/program/resolver_options.h"
#include "nccl_env/program/store_option.h"
#include "nccl_env/store/dir_store.h"
#include "nccl_env/webhook/admission.h"

namespace nccl_env::cli {

int replay_review(const ExplainArguments& arguments, const Console& terminal) {
  const auto& [target, cluster, policy, tables, pod, claims, node, nccl, at, file, manifests, resolver] =
      arguments;
  const auto path = program::store_path(manifests);
  if (!path)
    return stop(terminal, program::kUsage,
                "--review needs --store dir:PATH, the webhook's directory of manifests");
  if (!pod.empty() || !policy.file.empty() || !policy.name.empty() || !tables.empty() || !claims.empty() ||
      !cluster.name_space.empty())
    return stop(terminal, program::kUsage,
                "--review: policies, tables, pods and claims are those of the store");
  const auto now = program::read_moment(at);
  if (!now) return stop(terminal, program::kUsage, now.error().message);
  const auto review = program::read_text(file, terminal.in);
  if (!review) return stop(terminal, program::kNotSeen, review.error().message);
  const auto store =
      store::DirectoryStore::open(*path, {policy.allow_code_paths}, Logger::to_stderr(LogLevel::Off));
  if (!store) return stop(terminal, program::kNotSeen, store.error().message);
  if (const auto refused = (*store)->stats().files_refused; refused > 0)
    terminal.err << "nccl-env: files of the store that are refused: " << refused << '\n';
  webhook::AdmissionOptions options;
  options.clock = [&] { return *now; };
  options.read_pod = [&](std::string_view name_space, std::string_view name) {
    return (*store)->read_pod(name_space, name);
  };
  options.read_claim = [&](const ClaimRef& ref, bool may_wait) {
    return (*store)->read_claim(ref, may_wait);
  };
  options.plan = program::plan_options(resolver);
  // The store is a directory, which knows its tables and postpones nothing.
  const auto answer = webhook::Admission(options).answer(*(*store)->snapshots().get(), *review, false);
  if (const auto* malformed = std::get_if<webhook::Malformed>(&answer))
    return stop(terminal, program::kNotSeen, file + ": " + malformed->problem);
  terminal.out << std::get<webhook::Answered>(answer).response;
  return program::kDone;
}

}  // namespace nccl_env::cli
