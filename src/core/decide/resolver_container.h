// SPDX-License-Identifier: Apache-2.0
// The init container that writes nccl.conf and the file of EnvFile from inside the pod (nccl-env-agent
// resolve).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/conf_delivery.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// Work of the init container: it looks at the pod's own devices and decides by the policy, or writes what the
// Binding brings and touches no device.
struct InitWork {
  bool env_file = false;      // writes the file of EnvFile beside nccl.conf
  std::string given = {};     // the variables that it takes from the Binding's text; "": it looks
  std::string conf_key = {};  // the annotation of that text; "": it reads none
  FileKeys files = {};        // of engines, which it writes, too, and the annotations of their texts
};

class ResolverContainer {
 public:
  // `served`: the container whose sizes are taken where `resolver` has none. Returns nothing where the
  // policy's text is longer than a container's environment takes.
  static std::optional<ResolverContainer> make(const Pod& pod, const NcclPolicy& policy,
                                               const Resolver& resolver, const Container& served,
                                               const InitWork& work);

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
  std::vector<std::string> args_;
  std::string policy_;  // the literal in its env; "" where it does not look
  // Names in its env, and the fieldPaths that they read.
  std::vector<std::pair<std::string, std::string>> texts_;
  bool compute_ = false;      // asks for cpu and memory
  bool always_pull_ = false;  // as all containers of the pod do
  bool set_user_ = false;     // the pod's own user is root
};

}  // namespace nccl_env
