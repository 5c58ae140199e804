// SPDX-License-Identifier: Apache-2.0
// Builds one JSON value from a reader's events, and holds it to the bounds that JSON and YAML share.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace nccl_env {

class DocumentBuilder {
 public:
  static constexpr std::size_t kMaxDepth = 64;  // Kubernetes objects stay below twenty

  // Each returns false where the event is refused; problem() says why, and building ends there.
  bool add(nlohmann::json value);
  bool key(std::string name);
  bool open(nlohmann::json empty_container);
  // The container that is now complete, until the next event.
  nlohmann::json* close();

  [[nodiscard]] bool expects_key() const { return !open_.empty() && open_.back()->is_object() && !has_key_; }
  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // The finished document; the builder is then empty.
  nlohmann::json take() { return std::exchange(root_, nullptr); }

 private:
  nlohmann::json* place(nlohmann::json value);

  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;  // only the innermost grows, so the pointers hold
  std::string key_;
  bool has_key_ = false;
  std::string problem_;
};

}  // namespace nccl_env
