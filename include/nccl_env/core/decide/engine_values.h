// SPDX-License-Identifier: Apache-2.0
// Values of the policy's other engines, from those that were found for NCCL.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/engines/engine.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// True for an engine that reads a file by itself: its values go there, and into no env.
bool has_file(const Engine& engine);
// False for a variable that is never written, and beside a constant of the policy's own that takes its place,
// or decides with it.
bool is_ours(const NcclPolicy& policy, const EngineVariable& variable);
// The engine whose file carries the variable; null where none does.
const Engine* file_engine_of(std::string_view variable);

// "eth0" for a list of NCCL's grammar that can only mean that interface; "" for any other.
std::string exact_interface(std::string_view list, bool host_network);

// Fills in `values.engines`, and says what cannot be said, from the rest of `values`.
void find_engine_values(const NcclPolicy& policy, bool host_network, NodeValues& values);

// The lines of the engine's file; "" for none.
std::string engine_file(const Engine& engine, const NcclPolicy& policy, const NodeValues& values,
                        bool host_network);

}  // namespace nccl_env
