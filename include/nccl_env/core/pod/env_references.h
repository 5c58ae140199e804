// SPDX-License-Identifier: Apache-2.0
// $(NAME) in the values of a container's env. The kubelet replaces it where an earlier entry, envFrom or a
// Service defines NAME, and leaves it as it stands elsewhere (Kubernetes' API reference, EnvVar.value).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// The first $(NAME) in a value, whole; "" where there is none.
std::string_view first_reference(std::string_view value);
// Says of a variable that its value holds a reference that stays as it stands.
std::string reference_problem(std::string_view variable, std::string_view value);

// The values that the kubelet makes of a container's entries, as far as the manifest tells them; "$$" stays.
class EnvReferences {
 public:
  explicit EnvReferences(const Container& container) : container_(container) {}

  // Absent for what comes from elsewhere, and for references that make more than 4 KiB.
  [[nodiscard]] const std::optional<std::string>& value_of(const EnvEntry& entry) const;

 private:
  using Values = std::vector<std::optional<std::string>>;
  [[nodiscard]] Values expanded() const;

  const Container& container_;
  mutable std::optional<Values> values_;  // of the entries in order; made once they are needed
};

}  // namespace nccl_env
