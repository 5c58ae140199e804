// SPDX-License-Identifier: Apache-2.0
// Path: where a value stands in a JSON document. Frames live on the stack and are written out only for an
// error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nccl_env/core/text/strict.h"
#include "nccl_env/result.h"

namespace nccl_env::json {

// Bytes of a key in errors: more than Kubernetes' own keys can have (253/63); a longer, hostile key is cut.
inline constexpr std::size_t kMaxShownKey = 320;

struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  int index = -1;

  [[nodiscard]] Path field(std::string_view name) const { return {this, name, -1}; }
  [[nodiscard]] Path item(int position) const { return {this, {}, position}; }
  [[nodiscard]] std::string text() const {
    std::string prefix = parent ? parent->text() : std::string();
    if (index >= 0) return prefix + "[" + std::to_string(index) + "]";
    if (!prefix.empty() && !key.empty()) prefix += '.';
    return prefix.append(prefix_of(key, kMaxShownKey));
  }
  [[nodiscard]] Error error(std::string_view what) const {
    const std::string where = text();  // "" at the top
    return {where.empty() ? std::string(what) : where + ": " + std::string(what)};
  }
};

}  // namespace nccl_env::json
