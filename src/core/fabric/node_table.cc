// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/node_table.h"

#include <algorithm>
#include <array>

#include "fabric/node_table_words.h"

namespace nccl_env {
namespace {

template <class Enum>
std::string_view word_of(Enum value) {
  for (const auto& [word, meaning] : words<Enum>) {
    if (meaning == value) return word;
  }
  return "";
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string_view to_string(LinkLayer value) {
  return word_of(value);
}
std::string_view to_string(Transport value) {
  return word_of(value);
}
std::string_view to_string(PortState value) {
  return word_of(value);
}
std::string_view to_string(GidType value) {
  return word_of(value);
}
std::string_view to_string(RdmaNamespaceMode value) {
  return word_of(value);
}

bool is_hca_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && is_alphanumeric(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

bool is_netdev_name(std::string_view name) {
  constexpr std::string_view kRefused = "/,:^=";
  return !name.empty() && name.size() <= 15 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return c > ' ' && c <= '~' && kRefused.find(c) == kRefused.npos; });
}

const Interface* NodeFabric::find_interface(std::string_view interface_name) const {
  if (!interfaces) return nullptr;
  for (const Interface& interface : *interfaces) {
    if (interface.name == interface_name) return &interface;
  }
  return nullptr;
}

}  // namespace nccl_env
