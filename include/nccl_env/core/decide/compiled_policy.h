// SPDX-License-Identifier: Apache-2.0
// CompiledPolicy: all that follows from a policy alone, worked out once when the policy is accepted, so that
// a pod's plan costs little more than looking for what its user has decided.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// The plan of a container whose user leaves all of it to the policy, and the same as text.
struct Given {
  ContainerPlan plan;                // of a container without mounts of ours
  std::vector<std::string> entries;  // its variables as entries of env
  EscapedText words;                 // what the status says of it
  std::string volume;                // the item of spec.volumes
};

// For pods of one shape, whose devices and rails are known as far as the shape tells.
struct ShapeWishes {
  std::vector<Value> wishes;
  SharedValues file;                   // those of them that nccl.conf holds
  std::shared_ptr<const Given> given;  // null: it depends on more
  EscapedText status;                  // the beginning of the status
};

// Made by compile(); refers to the policy.
struct CompiledPolicy {
  const NcclPolicy& policy;
  std::size_t reserve = 0;                 // bytes of annotations that a Binding may write
  std::array<ShapeWishes, 4> shapes = {};  // of pod_shapes()

  // `shape`: one of pod_shapes() itself, as shape_of() returns it.
  [[nodiscard]] const ShapeWishes& of(const PodShape& shape) const {
    return shapes[static_cast<std::size_t>(&shape - pod_shapes().data())];
  }
};

}  // namespace nccl_env
