// SPDX-License-Identifier: Apache-2.0
// vLLM's own choice of a NIC for each GPU (vllm/v1/executor/vllm_net_devices.py, 0.33.0). It is known, so
// that nobody else decides beside it, and never written: the pairs of GPUs and NICs are not in a table.
#include "engines/vllm/vllm.h"

namespace nccl_env::engines::vllm {
namespace {

constexpr EngineVariable kVariables[] = {
    {.row = {.name = "VLLM_GPU_NIC_PCIE_MAPPING",
             .kind = ValueKind::Text,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "GPU=NIC,... by PCI address; stands with VLLM_NIC_SELECTION_VARS or not at all"}},
    {.row = {.name = "VLLM_NIC_SELECTION_VARS",
             .kind = ValueKind::Text,
             .empty_is_unset = true,
             .ranks = Ranks::Any,
             .note = "VARIABLE[:PORT],...: lists in front of which vLLM writes the GPU's device"}},
};

EngineSelection select(const NodeFabric& /*table*/, const NcclEnv& /*env*/) {
  return {};
}

constexpr Engine kEngine{.name = "vLLM",
                         .used_by = "vLLM's choice of a NIC for each GPU",
                         .variables = kVariables,
                         .groups = {},
                         .select = select};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::vllm
