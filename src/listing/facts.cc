// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <array>
#include <cstdio>

namespace nccl_env::listing {

std::string describe(LinkLayer value) {
  return std::string(to_string(value));
}
std::string describe(Transport value) {
  return std::string(to_string(value));
}
std::string describe(PortState value) {
  return std::string(to_string(value));
}
std::string describe(GidType value) {
  return std::string(to_string(value));
}
std::string describe(const Gid& value) {
  return format_gid(value);
}
std::string describe(const std::string& value) {
  return quoted(value);
}
std::string describe(int value) {
  return std::to_string(value);
}

std::string describe(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

}  // namespace nccl_env::listing
