// SPDX-License-Identifier: Apache-2.0
// Attempt<T>: a Result<T>, or the word that there is none yet, because the answer takes a look-up that waits.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "nccl_env/result.h"

namespace nccl_env::store {

// Ask again: on a thread that may wait; or, where it names a namespace, once that is no longer unknown.
struct Postponed {
  std::string name_space{};
};

// The other two ways in which an attempt ends. Converts to an attempt of any type, so that each caller on the
// way passes it on unread.
using NoValue = std::variant<Postponed, Error>;

template <class T>
class [[nodiscard]] Attempt {
 public:
  Attempt(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Attempt(NoValue without) : state_(std::in_place_index<1>, std::move(without)) {}
  Attempt(Error error) : Attempt(NoValue(std::move(error))) {}
  Attempt(Postponed postponed) : Attempt(NoValue(std::move(postponed))) {}
  Attempt(Result<T> result) : Attempt(result ? Attempt(*std::move(result)) : Attempt(result.error())) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] bool postponed() const { return !ok() && std::holds_alternative<Postponed>(no_value()); }

  // Preconditions: ok() for the value, !ok() for no_value(), neither ok() nor postponed() for error(). A
  // caller that breaks them gets std::bad_variant_access.
  [[nodiscard]] const NoValue& no_value() const { return std::get<1>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<Error>(no_value()); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }

 private:
  std::variant<T, NoValue> state_;
};

}  // namespace nccl_env::store
