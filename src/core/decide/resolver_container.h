// SPDX-License-Identifier: Apache-2.0
// The init container that writes nccl.conf from inside the pod (nccl-env-agent resolve).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

class ResolverContainer {
 public:
  // `served`: the container whose sizes are taken where `resolver` has none. Returns nothing where the
  // policy's text is longer than a container's environment takes.
  static std::optional<ResolverContainer> make(const Pod& pod, const NcclPolicy& policy,
                                               const Resolver& resolver, const Container& served);

  // The container as JSON.
  [[nodiscard]] std::string render() const;
  // Whether an existing container already does what this one would do. Additions by the API server and other
  // hooks do not count.
  [[nodiscard]] bool is_same(const Pod& pod, const OwnContainer& standing) const;

 private:
  ResolverContainer() = default;

  std::string image_;
  Compute requests_;
  Compute limits_;
  std::vector<std::string_view> args_;
  std::string policy_;              // the env's text
  std::vector<std::string> texts_;  // of the node, which its env reads
  bool compute_ = false;            // asks for cpu and memory
  bool always_pull_ = false;        // as all containers of the pod do
  bool set_user_ = false;           // the pod's own user is root
};

}  // namespace nccl_env
