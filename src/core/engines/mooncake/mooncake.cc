// SPDX-License-Identifier: Apache-2.0
// Mooncake's transfer engine, as SGLang and vLLM use it between prefill and decode. Two of its variables are
// known, and none is written.
#include "engines/mooncake/mooncake.h"

namespace nccl_env::engines::mooncake {
namespace {

constexpr EngineVariable kVariables[] = {
    {.row = {.name = "MC_TE_FILTERS",
             .kind = ValueKind::NameList,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "exact names of devices, without ports; from 0.3.12 on"}},
    {.row = {.name = "MC_GID_INDEX",
             .kind = ValueKind::Integer,
             .max = 255,
             .ranks = Ranks::Node,
             .note = "one row for all devices; an empty one is row 0. Mooncake takes NCCL_IB_GID_INDEX where "
                     "this is not set"}},
};

constexpr Engine kEngine{.name = "Mooncake",
                         .used_by = "SGLang and vLLM between prefill and decode",
                         .variables = kVariables,
                         .groups = {},
                         .select = nullptr};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::mooncake
