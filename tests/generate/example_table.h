// SPDX-License-Identifier: Apache-2.0
// A NodeFabric with every field that is described.
#pragma once

#include "generate/described.h"
#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::generate {

inline nlohmann::json example_table(RowsForm form = RowsForm::Texts) {
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NodeFabric"},
          {"metadata", {{"name", "gpu-node-1"}}},
          {"observed", nlohmann::json(example<NodeFabric>(form == RowsForm::Objects))}};
}

}  // namespace nccl_env::generate
