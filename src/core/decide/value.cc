// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/value.h"

#include <array>

#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {

std::string_view to_string(Source source) {
  constexpr std::array<std::string_view, 5> kNames{"Policy", "Node", "File", "Pod", "Command"};
  return name_in(kNames, source);
}

std::string_view status_word(const Value& value) {
  return value.by_file_key ? to_string(Carrier::EnvFile) : to_string(value.source);
}

std::string_view source_word(const Value& value) {
  if (value.source == Source::Command) return to_string(value.source);
  if (value.state == State::Users) return "User";
  if (value.state == State::Foreign) return "Foreign";
  if (value.by_file_key) return to_string(Carrier::EnvFile);
  return value.state == State::Later && value.source != Source::Pod ? "Binding" : to_string(value.source);
}

}  // namespace nccl_env
