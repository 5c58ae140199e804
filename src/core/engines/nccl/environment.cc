// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/environment.h"

#include <cstdlib>
#include <string>

#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMaxArgStrlen = 131072;

}  // namespace

std::string_view nccl_text(std::string_view text) {
  text = text.substr(0, kMaxArgStrlen);
  return text.substr(0, text.find('\0'));
}

std::optional<std::string_view> nccl_getenv(const NcclEnv& env, std::string_view name) {
  const auto found = env.find(name);
  if (found == env.end()) return std::nullopt;
  return nccl_text(found->second);
}

std::string_view nccl_getenv_or_empty(const NcclEnv& env, std::string_view name) {
  return nccl_getenv(env, name).value_or(std::string_view{});
}

std::int64_t nccl_parameter(const NcclEnv& env, std::string_view name, std::int64_t fallback) {
  const std::string_view text = nccl_getenv_or_empty(env, name);
  return text.empty() ? fallback : nccl_integer(text).value_or(fallback);
}

int nccl_atoi(std::string_view text) {
  return static_cast<int>(std::strtol(std::string(text).c_str(), nullptr, 10));
}

}  // namespace nccl_env
