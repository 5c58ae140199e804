// SPDX-License-Identifier: Apache-2.0
// Recognises what an earlier round of ours put into a pod (reinvocation, or a copied manifest): fieldRefs
// to our annotation keys, and literals that the status annotation lists and that still have our value.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/pod/review.h"

namespace nccl_env {

class OwnEntries {
 public:
  explicit OwnEntries(const Pod& pod);

  // `literals` are the values that this plan would set as literals, by name.
  using Literals = std::vector<std::pair<std::string_view, std::string_view>>;
  [[nodiscard]] bool owns(const Container& container, const EnvEntry& entry, const Literals& literals) const;

 private:
  // container -> variables that the status annotation says came from the policy
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> listed_;
};

// A fieldRef of ours: it reads our key for the variable that it fills.
bool is_own_field(const EnvEntry& entry);

}  // namespace nccl_env
