// SPDX-License-Identifier: Apache-2.0
// Result<T>: the value, or one sentence that says what failed and on which object.
// Expected failures travel as Result; a broken invariant is an exception that nobody catches.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace nccl_env {

struct Error {
  std::string message;  // one sentence: object, what is wrong, what was expected
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Preconditions: ok() for value, !ok() for error. A caller that breaks them gets std::bad_variant_access.
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;

// Success without a value: `return done();`
inline Status done() {
  return Status{std::monostate{}};
}

}  // namespace nccl_env
