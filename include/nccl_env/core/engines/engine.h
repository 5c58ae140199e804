// SPDX-License-Identifier: Apache-2.0
// A reader of the fabric beside NCCL: UCX, NVSHMEM, Gloo, … Each has a folder here with its part of the
// catalogue, its values and its model.
//
//   [ EngineChoice ] --> render of each [ EngineVariable ] --> the engine's values
//   (ports, index, interface: as chosen for NCCL)
//
//   NodeFabric + a process's environment --> select of the [ Engine ] --> [ EngineSelection ]
//
// All of it is constant data and pure functions. To add an engine: a folder, and a row in catalogue.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/engines/nccl/environment.h"
#include "nccl_env/core/engines/variable.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

struct EnginePort {
  std::string hca;
  int number = 1;
};

// The fabric as it was chosen for NCCL. A part that is empty is not known, or left to the engine.
struct EngineChoice {
  std::vector<EnginePort> ports;
  std::string interface;      // one exact name, of the policy or the node
  std::string tcp_interface;  // the same; else the one that every runtime gives to a pod's own network
  std::string traffic_class;
  std::string service_level;
};

// The part of the choice from which a value is made.
enum class Follows { Nothing, Ports, Interface, TrafficClass, ServiceLevel };

// Neither text nor refusal: the engine needs no value.
struct EngineValue {
  std::string text;
  std::string_view refusal = {};  // a sentence: why the variable cannot say what was chosen
};

struct EngineVariable {
  Variable row;
  Follows follows = Follows::Nothing;
  EngineValue (*render)(const EngineChoice&) = nullptr;  // null: this variable is known, and never written
};

// A variable of a group; its name may end in '*'.
struct EngineMember {
  std::string_view name;
  std::string_view text = {};  // it counts only where its value contains this
  bool in_command = false;     // no variable, but part of a word of the container's command
};
// Variables of which a user who sets one has decided about all.
struct EngineGroup {
  std::span<const EngineMember> members;
  std::string_view decides;  // "decides the devices of NVSHMEM"
};

struct EngineSelection {
  std::vector<std::string> devices;     // "mlx5_0:1"
  std::vector<std::string> interfaces;  // for its TCP transport or its start; empty: not known, or none
  std::vector<std::string> notes;       // one sentence each: what is surprising or will fail
};

struct Engine {
  std::string_view name;  // in spec.engines
  std::string_view used_by;
  std::span<const EngineVariable> variables;
  std::span<const EngineGroup> groups;
  // A file that the engine reads by itself, in the folder that the variable names; "" for none. A line that
  // is longer than `longest_line` is cut.
  std::string_view file = {};
  std::string_view folder_variable = {};
  std::size_t longest_line = 0;
  EngineSelection (*select)(const NodeFabric&, const NcclEnv&);
};

// Rows that most engines have; `words` are accepted beside the numbers.
EngineValue traffic_class_of(const EngineChoice& choice);
EngineValue service_level_of(const EngineChoice& choice);
constexpr EngineVariable traffic_class_row(std::string_view name,
                                           std::span<const std::string_view> words = {}) {
  return {.row = {.name = name,
                  .kind = ValueKind::Integer,
                  .max = 255,
                  .choices = words,
                  .ranks = Ranks::Fabric,
                  .note = "one byte: four times the DSCP value that the switches expect"},
          .follows = Follows::TrafficClass,
          .render = traffic_class_of};
}
constexpr EngineVariable service_level_row(std::string_view name,
                                           std::span<const std::string_view> words = {}) {
  return {.row = {.name = name,
                  .kind = ValueKind::Integer,
                  .max = 15,
                  .choices = words,
                  .ranks = Ranks::Fabric,
                  .note = "a service level has four bits; RoCE uses 0..7 as the priority"},
          .follows = Follows::ServiceLevel,
          .render = service_level_of};
}

// False for an engine that is only known.
bool gives_values(const Engine& engine);
// "mlx5_0:1,mlx5_1:1", the form of UCX and NVSHMEM.
std::string join_ports(const EngineChoice& choice);
// The group that has the variable, as it may be set by a user; null for none.
const EngineGroup* group_of(const Engine& engine, std::string_view variable);
// `value`: nullopt where it is not known.
bool is_member(const EngineGroup& group, std::string_view variable, std::optional<std::string_view> value);

// Ports that carry traffic now, or whose state is not known.
std::vector<const Port*> usable_ports(const NodeFabric& table);
// Names of the interfaces that are up, without lo.
std::vector<std::string> usable_interfaces(const NodeFabric& table);
// The parts of a list between its commas.
std::vector<std::string_view> entries_of(std::string_view list);

}  // namespace nccl_env
