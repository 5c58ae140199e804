// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "decide/our_entries.h"
#include "nccl_env/core/decide/decide.h"

namespace nccl_env {

// What the user's own env of one container rules out. Refers to the container.
class UserEnv {
 public:
  UserEnv(const Container& container, const OwnEntries& own, const OwnEntries::Literals& literals);

  [[nodiscard]] const std::vector<const EnvEntry*>& entries() const { return user_; }

  // Why the user's env keeps us from this variable.
  [[nodiscard]] std::optional<Omission> objection(std::string_view name) const;

 private:
  [[nodiscard]] const EnvEntry* last(std::string_view name) const;
  [[nodiscard]] const EnvEntry* find_group_member() const;
  [[nodiscard]] std::string_view find_disabling() const;
  [[nodiscard]] bool may_come_from_source(std::string_view name) const;

  const Container& container_;
  std::vector<const EnvEntry*> user_;
  std::string_view disabled_by_;            // the variable that keeps NCCL from verbs; "" if none does
  const EnvEntry* group_member_ = nullptr;  // what decides the GID; null if the user leaves it to us
};

}  // namespace nccl_env
