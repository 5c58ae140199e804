// SPDX-License-Identifier: Apache-2.0
// The choice in nobody's words, for programs that take names as arguments: a file of NAME=VALUE that a shell
// can source. No library reads these names by itself.
#include "engines/neutral/neutral.h"

#include <utility>

namespace nccl_env::engines::neutral {
namespace {

constexpr std::size_t kLongestLine = 512;  // 32 ports with names of 13 characters
constexpr std::string_view kHcas = "FABRIC_HCAS";
constexpr std::string_view kPorts = "FABRIC_PORTS";

// A shell takes the line as it stands: a device or interface may have a name that it would expand.
EngineValue word(std::string text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.,:@";
  if (text.find_first_not_of(kPlain) != text.npos)
    return {{}, "A name holds a character that a shell may not take as it stands."};
  return {std::move(text)};
}

EngineValue list_of(std::string_view name, std::string list) {
  if (name.size() + 1 + list.size() > kLongestLine)
    return {{}, "A line of fabric.env has at most 512 bytes, and this list is longer."};
  return word(std::move(list));
}

EngineValue hcas(const EngineChoice& choice) {
  return list_of(kHcas, join_devices(choice));
}

EngineValue ports(const EngineChoice& choice) {
  return list_of(kPorts, join_ports(choice));
}

EngineValue interface(const EngineChoice& choice) {
  return word(choice.interface);
}

EngineValue index(const EngineChoice& choice) {
  return {choice.index};
}

constexpr EngineVariable kVariables[] = {
    {.row = {.name = kHcas,
             .kind = ValueKind::NameList,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "HCAs by their exact names, each once"},
     .follows = Follows::Ports,
     .render = hcas},
    {.row = {.name = kPorts,
             .kind = ValueKind::DeviceList,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "the same HCAs as DEVICE:PORT"},
     .follows = Follows::Ports,
     .render = ports},
    {.row = {.name = "FABRIC_INTERFACE",
             .kind = ValueKind::InterfaceName,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "the interface for sockets, by its exact name"},
     .follows = Follows::Interface,
     .render = interface},
    {.row = {.name = "FABRIC_GID_INDEX",
             .kind = ValueKind::Integer,
             .max = 255,
             .empty_is_unset = true,
             .ranks = Ranks::Node,
             .note = "the row of the GID table, where the policy names one"},
     .follows = Follows::Index,
     .render = index},
    traffic_class_row("FABRIC_TRAFFIC_CLASS"),
    service_level_row("FABRIC_SERVICE_LEVEL"),
};

constexpr EngineMember kPortGroup[] = {{kHcas}, {kPorts}};
constexpr EngineGroup kGroups[] = {{kPortGroup, "decides the devices of fabric.env"}};

constexpr Engine kEngine{.name = "Neutral",
                         .used_by = "programs that take names as arguments",
                         .variables = kVariables,
                         .groups = kGroups,
                         .file = "fabric.env",
                         .folder_variable = "FABRIC_ENV_DIR",
                         .longest_line = kLongestLine,
                         .select = nullptr};

}  // namespace

const Engine& engine() {
  return kEngine;
}

}  // namespace nccl_env::engines::neutral
