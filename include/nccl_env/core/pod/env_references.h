// SPDX-License-Identifier: Apache-2.0
// $(NAME) in the values of a container's env. The kubelet replaces it where an earlier entry, envFrom or a
// Service defines NAME, and leaves it as it stands elsewhere (Kubernetes' API reference, EnvVar.value).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/pod/review.h"

namespace nccl_env {

// The first $(NAME) in a value, whole; "" where there is none.
std::string_view first_reference(std::string_view value);

// Says of a variable that its value holds a reference that stays as it stands.
std::string reference_problem(std::string_view variable, std::string_view value);

class EnvReferences {
 public:
  explicit EnvReferences(const Container& container) : container_(container) {}

  // True if the value of the container's entry holds a reference that stays as it stands.
  [[nodiscard]] bool stays_text(const EnvEntry& entry) const;

 private:
  using Places = std::map<std::string_view, std::size_t>;
  [[nodiscard]] const Places& places() const;

  const Container& container_;
  mutable std::optional<Places> places_;  // of the first entry of each name; made once it is needed
};

}  // namespace nccl_env
