// SPDX-License-Identifier: Apache-2.0
// Gloo and TensorPipe, which PyTorch uses between CPUs.
#include "engines/gloo/gloo.h"

#include <algorithm>

namespace nccl_env::engines::gloo {
namespace {

constexpr std::string_view kGloo = "GLOO_SOCKET_IFNAME";
constexpr std::string_view kTensorPipe = "TP_SOCKET_IFNAME";

// Gloo takes a name of one character for none.
EngineValue interface_of(const EngineChoice& choice) {
  return {choice.interface.size() > 1 ? choice.interface : std::string()};
}

constexpr EngineVariable kVariables[] = {
    {.row = {.name = kGloo,
             .kind = ValueKind::NameList,
             .ranks = Ranks::Node,
             .note = "exact names; the start fails with one that is not there"},
     .follows = Follows::Interface,
     .render = interface_of},
    {.row = {.name = kTensorPipe,
             .kind = ValueKind::InterfaceName,
             .ranks = Ranks::Node,
             .note = "one exact name; with any other text TensorPipe takes 127.0.0.1"},
     .follows = Follows::Interface,
     .render = interface_of},
};

EngineSelection select(const NodeFabric& table, const NcclEnv& env) {
  EngineSelection selection;
  const auto given = nccl_getenv(env, kGloo);
  if (!given || given->empty()) {
    selection.notes.emplace_back("Gloo takes the interface to which the host's own name leads.");
    return selection;
  }
  for (const std::string_view entry : entries_of(*given)) {
    const bool there =
        !table.interfaces || std::any_of(table.interfaces->begin(), table.interfaces->end(),
                                         [&](const Interface& one) { return one.name == entry; });
    if (there) {
      selection.interfaces.emplace_back(entry);
    } else {
      selection.notes.push_back("Gloo finds no interface " + std::string(entry) + ", and fails to start.");
    }
  }
  return selection;
}

constexpr Engine kEngine{.name = "Gloo",
                         .used_by = "PyTorch's CPU backend and TensorPipe",
                         .variables = kVariables,
                         .groups = {},
                         .select = select};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::gloo
